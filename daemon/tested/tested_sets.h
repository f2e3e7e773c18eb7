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
 * Workload: a few files of some ten thousand paths, read when the directory changes; a look-up a
 * path and window. Files come from people: one that cannot be used is told once and passed over;
 * where reading failed in the middle none is used, since half a set calls tested paths untested.
 * Bounded: 500,000 paths of 4,096 builds in all. One owner, the event loop.
 */
#ifndef PP_TESTED_SETS_H
#define PP_TESTED_SETS_H

#include <stdio.h>

#include "pathprof/profile.h"

struct pp_tested_sets;

/* The directory may be missing, and come later. -ENOMEM. */
int pp_tested_sets_new(struct pp_tested_sets **ret_sets, const char *directory);
/* NULL-safe, as are the two below. */
void pp_tested_sets_free(struct pp_tested_sets *sets);
/* A window that was just stored, before its profile is cleared. Reads first what changed. */
void pp_tested_sets_window(struct pp_tested_sets *sets, const struct pathprof_profile *profile);
/* For the endpoint: pathprof_tested_*. */
void pp_tested_sets_metrics(const struct pp_tested_sets *sets, FILE *to);

#endif
