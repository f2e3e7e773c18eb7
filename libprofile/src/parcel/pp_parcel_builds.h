/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The builds of a parcel over all of its parts, and where in them its rows lie: what names are
 * asked for. Workload: once a parcel, some thousand rows. Ownership: pp_builds_release() frees
 * everything; the parcel outlives it.
 */
#ifndef PP_PARCEL_BUILDS_H
#define PP_PARCEL_BUILDS_H

#include <stdbool.h>

#include "pathprof/parcel.h"

struct pp_build {
	struct pathprof_build_id id;
	const char *name;
	uint64_t *offsets; /* of paths' starts, edges' ends and clock samples; ascending */
	size_t offset_cnt, offset_room;
	uint64_t *paths; /* pp_build_path() of each; ascending */
	size_t path_cnt, path_room;
};

struct pp_builds {
	struct pp_build *list; /* by id */
	size_t cnt;
};

/* -ENOMEM. */
int pp_builds_of(struct pp_builds *ret_builds, const struct pathprof_parcel *parcel);
/* Safe on zeros. */
void pp_builds_release(struct pp_builds *builds);

/* A path of a build as a number. */
uint64_t pp_build_path(uint64_t start, uint32_t length, uint32_t outcomes);
/* Among ascending numbers. */
bool pp_build_has(const uint64_t *numbers, size_t cnt, uint64_t number);

#endif
