// SPDX-License-Identifier: GPL-2.0-or-later
/* C++ names: see demangle.h. */
#include "demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "cleanup.h"

/* Names come from files of others, and the runtime's reader recurses. */
#define NAME_MAX_LEN 1024

/* abi::__cxa_demangle of the Itanium C++ ABI, 3.4: allocates its result. */
typedef char *demangle_fn(const char *name, char *buffer, size_t *len, int *status);

static demangle_fn *runtime(void)
{
	static demangle_fn *found;
	static bool looked;
	void *library;

	if (looked)
		return found;
	looked = true;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&found = dlsym(library, "__cxa_demangle");
	return found;
}

bool demangle_is_cxx(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 && strnlen(name, NAME_MAX_LEN) < NAME_MAX_LEN;
}

void demangle_prepare(void)
{
	(void)runtime();
}

void demangle_here(const char *name, char *out, size_t size)
{
	_cleanup_free_ char *readable = NULL;
	int status = 0;

	if (demangle_is_cxx(name) && runtime())
		readable = runtime()(name, NULL, NULL, &status);
	snprintf(out, size, "%s", readable ? readable : name);
}

void demangle_ahead(const char *const *names, size_t cnt)
{
	if (apart_is_needed())
		texts_demangle_ahead(names, cnt);
}

void demangle(const char *name, char *out, size_t size)
{
	if (demangle_is_cxx(name) && apart_is_needed())
		texts_demangle(name, out, size);
	else
		demangle_here(name, out, size);
}
