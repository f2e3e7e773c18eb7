/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the code reader share. */
#ifndef TEST_CODE_H
#define TEST_CODE_H

#include <stdbool.h>
#include <string.h>

#include "pathprof/code.h"

/* Where the code of files made by hand lies. */
#define HAND_OFFSET 0x200
#define HAND_VADDR  0x400200

/* A handle on any file; the test ends where there is none. */
struct pathprof_code *open_code(const char *path);

static inline bool is(const char *name, const char *want)
{
	return name && !strcmp(name, want);
}

#endif
