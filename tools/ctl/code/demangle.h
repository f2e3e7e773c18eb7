/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of C++ and Rust (both encodings) as people write them. libiberty knows the encodings.
 */
#ifndef CTL_DEMANGLE_H
#define CTL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

struct readable {
	char *brief; /* without parameters, template and generic arguments: brief_name.h */
	char *full;  /* as c++filt prints it */
};

/* Fills both forms; they are name itself when it is not encoded. */
void demangle(const char *name, struct readable *ret_readable);
void readable_release(struct readable *readable);

/* demangle() will be asked about these: together that is faster. */
void demangle_ahead(const char *const *names, size_t cnt);

/* The same as demangle(), in this process whoever runs it. */
void demangle_here(const char *name, struct readable *ret_readable);
/* Whether it looks encoded, and has a length that is worth reading. */
bool demangle_is_encoded(const char *name);

#endif
