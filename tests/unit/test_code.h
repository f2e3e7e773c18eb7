/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers shared by the tests of the code reader. */
#ifndef TEST_CODE_H
#define TEST_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pathprof/code.h"

/* The file offset and address of the code in files made by hand. */
#define HAND_OFFSET 0x200
#define HAND_VADDR  0x400200
#define SELF        "/proc/self/exe"

/* Opens any file; ends the test if that fails. */
struct pathprof_code *open_code(const char *path);

/* The file offset of an address in this executable. */
uint64_t offset_of(struct pathprof_code *code, const void *address);
/* Writes a file of one executable segment at HAND_OFFSET and nothing else; its path. */
const char *make_elf(const void *bytes, size_t len);

static inline bool is(const char *name, const char *want)
{
	return name && !strcmp(name, want);
}

#endif
