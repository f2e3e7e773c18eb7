/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ names as people write them. The C++ runtime knows the encoding; it is loaded when it is
 * there and a name of that form turns up, so that nothing depends on it.
 */
#ifndef CTL_DEMANGLE_H
#define CTL_DEMANGLE_H

#include <stddef.h>

/* Writes the readable form of name, or name itself, cut to size. */
void demangle(const char *name, char *out, size_t size);

#endif
