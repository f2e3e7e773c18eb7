/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ names as people write them. The C++ runtime knows the encoding; it is loaded when it is
 * there and a name of that form turns up, so that nothing depends on it.
 */
#ifndef CTL_DEMANGLE_H
#define CTL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the readable form of name, or name itself, cut to size. */
void demangle(const char *name, char *out, size_t size);

/* demangle() will be asked about these: together that is faster. */
void demangle_ahead(const char *const *names, size_t cnt);

/* The same as demangle(), in this process whoever runs it; and what it needs of files, beforehand.
 */
void demangle_here(const char *name, char *out, size_t size);
void demangle_prepare(void);
/* Whether it looks like a C++ name, of a length that is worth reading. */
bool demangle_is_cxx(const char *name);

#endif
