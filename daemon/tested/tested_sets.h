/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tested sets in the service: files NAME.tested in one directory, as `pathprofctl tested merge`
 * makes them, and how much of what each window saw of their builds no test ran. The share over any
 * span is a quotient of two counters (docs/untested.md), which whoever scrapes them works out and
 * watches.
 *
 * A path is compared by build-id, start, length and outcomes. Libraries that choose variants of
 * their functions by the processor are left out (base/variants.h), as are windows whose paths are
 * of another kind than those of a tested set (Mapping=wpp).
 *
 * Workload: a few files of some ten thousand paths, read when one comes, goes or changes; a look-up
 * a path and window. Files come from people: one that cannot be used is told once and passed over;
 * where reading failed in the middle none is used, since half a set calls tested paths untested.
 * Bounded: 500,000 paths of 4,096 builds in all. One owner, the event loop.
 */
#ifndef PP_TESTED_SETS_H
#define PP_TESTED_SETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/profile.h"

struct pp_tested_sets;

/* The directory may be missing, and come later. -ENOMEM. */
int pp_tested_sets_new(struct pp_tested_sets **ret_sets, const char *directory);
/* NULL-safe, as are the two below. */
void pp_tested_sets_free(struct pp_tested_sets *sets);
/* A window that was just stored, before its profile is cleared. Reads first what changed. */
void pp_tested_sets_window(struct pp_tested_sets *sets, const struct pathprof_profile *profile);
/* Grows when sets were read, in a window or at the start; numbers of builds hold until then. */
uint32_t pp_tested_sets_readings(const struct pp_tested_sets *sets);

/* A build that sets have; strings and id are borrowed. */
struct pp_tested_build {
	const struct pathprof_build_id *id;
	const char *set;  /* the file's name, of the first of them */
	uint32_t set_cnt; /* how many have it */
};
uint32_t pp_tested_sets_build_cnt(const struct pp_tested_sets *sets);
struct pp_tested_build pp_tested_sets_build(const struct pp_tested_sets *sets, uint32_t number);
bool pp_tested_sets_find(const struct pp_tested_sets *sets, const struct pathprof_build_id *id,
			 uint32_t *ret_number);
/* Whether a test ran this path of the build. */
bool pp_tested_sets_has(const struct pp_tested_sets *sets, uint32_t number, uint64_t start,
			uint32_t length, uint32_t outcomes);

/* For the endpoint: pathprof_tested_*. */
void pp_tested_sets_metrics(const struct pp_tested_sets *sets, FILE *to);

#endif
