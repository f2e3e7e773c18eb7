/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources and C++ names read by a process apart (apart.h), the same one for all of a run: it has
 * nothing that one file could steal from another.
 */
#ifndef CTL_TEXTS_H
#define CTL_TEXTS_H

#include <stddef.h>

/* As demangle(); name itself when there is nobody to ask. */
void texts_demangle(const char *name, char *out, size_t size);
/* As demangle_ahead(). */
void texts_demangle_ahead(const char *const *names, size_t cnt);
/* As source_text_line_of(); a line is cut where it gets too long for a person. Caller frees. */
char *texts_line(int fd, const char *file, int line);

#endif
