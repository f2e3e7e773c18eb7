/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Small tables for the paths of a function that matter, in code that counts its own paths. One
 * register holds a path's number and, in its low bits, a preferential number that is compact for
 * the interesting paths (pathprof/numbering.h). One addition an edge does for both:
 *
 *     register = number << number_bits + preferential number
 *
 *     slot = register & (1 << slot_bits) - 1
 *     if (keys[slot] == register)
 *             count[slot]++;
 *     else
 *             count path (register + (1 << number_bits - 1)) >> number_bits elsewhere
 *
 * Since a key holds the path's number, no other path is taken for an interesting one, whatever slot
 * it comes to. The preferential number of any path fits in its bits, so that no number is lost.
 *
 * Source: EOPP 3.3 and figure 3.10, which takes two registers and a check of the range instead.
 * Workload: functions with too many paths for an array of counters, some hundred interesting paths.
 */
#ifndef PATHPROF_PREFERENTIAL_H
#define PATHPROF_PREFERENTIAL_H

#include "pathprof/increments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* More interesting paths of a function than these get no slot. */
#define PATHPROF_PREFERENTIAL_MAX 256
/* The span of their numbers is at most this many times the number of interesting paths. */
#define PATHPROF_PREFERENTIAL_DELTA 4
/* The key of a slot without a path: no register holds this value. */
#define PATHPROF_PREFERENTIAL_FREE (1ull << 63)

struct pathprof_preferential {
	struct pathprof_increments increments; /* of the register */
	uint64_t *keys;                        /* by slot */
	uint32_t slot_bits, number_bits;
	size_t path_cnt; /* interesting paths that have a slot, the first ones of ids[] */
	uint64_t span;   /* from the least of their preferential numbers to the greatest */
};

/*
 * ids[]: the interesting paths, different ones, the one that matters most first. While their
 * numbers span too much, or leave no room for the paths' own, the second half is dropped.
 * frequency and is_fixed as in pathprof_increments_init(). -ENOENT: not even the first one gets a
 * slot, or there is none; -ERANGE: one is no path's number; -ELOOP, -ENOMEM. *ret is the caller's.
 */
int pathprof_preferential_init(struct pathprof_preferential *ret,
			       const struct pathprof_function_paths *paths, const uint64_t *ids,
			       size_t id_cnt, const uint64_t *frequency, const bool *is_fixed);
void pathprof_preferential_release(struct pathprof_preferential *preferential);

#ifdef __cplusplus
}
#endif

#endif
