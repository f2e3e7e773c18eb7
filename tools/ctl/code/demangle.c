// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of C++ and Rust: see demangle.h. */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "../text/brief_name.h"
#include "../text/cleanup.h"
#include "apart.h"

/* Names come from files of others, and their reader recurses. */
#define NAME_MAX_LEN 2048

#define BRIEF (DMGL_AUTO | DMGL_ANSI)
#define FULL  (BRIEF | DMGL_PARAMS | DMGL_VERBOSE)

bool demangle_is_encoded(const char *name)
{
	return (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0) &&
	       strnlen(name, NAME_MAX_LEN) < NAME_MAX_LEN;
}

void readable_release(struct readable *readable)
{
	free(readable->brief);
	free(readable->full);
}

void demangle_here(const char *name, struct readable *ret_readable)
{
	bool encoded = demangle_is_encoded(name);
	_cleanup_free_ char *bare = encoded ? cplus_demangle(name, BRIEF) : NULL;
	_cleanup_free_ char *full = encoded ? cplus_demangle(name, FULL) : NULL;

	ret_readable->brief = bare ? brief_name(bare) : ctl_strdup(name);
	if (!ret_readable->brief)
		ctl_no_memory();
	ret_readable->full = ctl_strdup(full ? full : name);
}

void demangle_ahead(const char *const *names, size_t cnt)
{
	if (apart_is_needed())
		texts_demangle_ahead(names, cnt);
}

void demangle(const char *name, struct readable *ret_readable)
{
	if (demangle_is_encoded(name) && apart_is_needed())
		texts_demangle(name, ret_readable);
	else
		demangle_here(name, ret_readable);
}
