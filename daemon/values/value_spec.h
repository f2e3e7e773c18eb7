/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --value says: [FILE:]FUNCTION:ARG. FUNCTION is a linker's name or 0xOFFSET, a place in the
 * file; ARG the number of an integer parameter, 1 to 6, as the x86-64 ABI passes them.
 *
 * Pure. The last two colons part it, so a FILE may have some of its own.
 */
#ifndef PP_VALUE_SPEC_H
#define PP_VALUE_SPEC_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"

#define PP_VALUE_FUNCTION_MAX 512
#define PP_VALUE_SPEC_MAX     64 /* of one recording */

struct pp_value_spec {
	char file[PATH_MAX]; /* "": the program's own */
	char function[PP_VALUE_FUNCTION_MAX];
	uint64_t offset; /* when is_offset */
	bool is_offset;
	uint32_t argument;
};

/* -EINVAL with what is wrong. */
int pp_value_spec_parse(struct pp_value_spec *ret_spec, const char *text,
			struct pathprof_error *error);

#endif
