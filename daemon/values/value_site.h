/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a --value to a place: the file's identity, the function's offset, and where in it the probe
 * goes. What cannot be found is said with what comes nearest.
 *
 * Workload: once a parameter; up to 10^6 symbols are looked through. One thread.
 */
#ifndef PP_VALUE_SITE_H
#define PP_VALUE_SITE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/error.h"
#include "value_file.h"
#include "value_spec.h"

struct pp_value_site {
	struct pathprof_build_id id;
	char path[PATH_MAX]; /* by which the kernel finds the file */
	char name[PATH_MAX]; /* the same for people and the store */
	char function[PP_VALUE_FUNCTION_MAX];
	uint32_t argument;
	uint64_t start; /* of the function, in the file */
	uint64_t probe; /* the instruction that is probed, in the file */
	bool emulated;  /* cheap: see probe_place.h */
};

/*
 * text is the whole --value, for messages. -ENOENT: no such file or function; -ENOTUNIQ: several
 * functions of that name; -EINVAL.
 */
int pp_value_site_find(struct pp_value_site *ret_site, const char *text,
		       const struct pp_value_target *target, struct pathprof_error *error);

#endif
