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

/* Fills in both forms, which are name itself if it is not encoded. */
void demangle(const char *name, struct readable *ret_readable);
void readable_release(struct readable *readable);

/* Prepares for demangle() of these names: together they are faster. */
void demangle_ahead(const char *const *names, size_t cnt);

/* The same as demangle(), but always in this process. */
void demangle_here(const char *name, struct readable *ret_readable);
/* Whether it looks encoded, and is short enough to be read. */
bool demangle_is_encoded(const char *name);

#endif
