/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that choose variants of their functions by the processor: a run under an emulator shows
 * others than production, so these are not compared. Pure.
 */
#ifndef PP_BASE_VARIANTS_H
#define PP_BASE_VARIANTS_H

#include <stdbool.h>
#include <string.h>

/* path: a binary's; its last part decides. */
static inline bool pp_chooses_variants(const char *path)
{
	static const char *const names[] = {"libc.so", "libm.so", "ld-linux", "libc-2", "libm-2"};
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

#endif
