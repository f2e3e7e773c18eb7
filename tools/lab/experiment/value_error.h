/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The error of value profiles against the ideal one (RPS 5.3.1). Profile 0 is the ideal: it counts
 * every tuple. The others count a compressor's messages.
 *
 * A load counts when it executed at least 1000 times and at least 40 % of that in sufficiently
 * invariant tuples, those of at least 10 % of the load's executions; all by the ideal profile. The
 * error is the mean over those tuples, weighted by their ideal frequency, of the difference
 * between n(tuple)/n(load) in the ideal and in the other profile.
 *
 * Workload: some ten million counts over a few million tuples, 20 bytes and 4 a profile each; a
 * hundred times an error. Counts must stay below 2^32. One thread.
 */
#ifndef LAB_EXPERIMENT_VALUE_ERROR_H
#define LAB_EXPERIMENT_VALUE_ERROR_H

#include <stddef.h>
#include <stdint.h>

struct lab_values;

/* profile_cnt: with the ideal one. Exits when memory is short. */
struct lab_values *lab_values_new(size_t profile_cnt);
/* NULL-safe. */
void lab_values_free(struct lab_values *values);
/* profile < profile_cnt. A tuple or load only others know is no error by itself: it weighs
 * nothing. */
void lab_values_add(struct lab_values *values, size_t profile, uint64_t pc, uint64_t word,
		    uint32_t count);
/* Per cent, profile_cnt of them; NaN while no tuple is selected. Returns how many are. */
size_t lab_values_errors(struct lab_values *values, double *ret_errors);

#endif
