/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the code reader share. */
#ifndef TEST_CODE_H
#define TEST_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pathprof/code.h"

/* Where the code of files made by hand lies. */
#define HAND_OFFSET 0x200
#define HAND_VADDR  0x400200
#define SELF        "/proc/self/exe"

/* A handle on any file; the test ends where there is none. */
struct pathprof_code *open_code(const char *path);

/* Where something of this executable lies in its file. */
uint64_t offset_of(struct pathprof_code *code, const void *address);
/* Writes a file of one executable segment at HAND_OFFSET and nothing else; its path. */
const char *make_elf(const void *bytes, size_t len);

static inline bool is(const char *name, const char *want)
{
	return name && !strcmp(name, want);
}

#endif
