/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Comparing profiles that are plain lists of (key, count).
 */
#ifndef PATHPROF_COMPARE_H
#define PATHPROF_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"

struct pathprof_count {
	char *key;
	uint64_t count;
};

/* Keys ascending (bytewise), each once. */
struct pathprof_counts {
	struct pathprof_count *entries;
	size_t cnt;
};

/*
 * Reads lines KEY<TAB>COUNT; a key that comes again adds up. "-": standard input. -EINVAL names
 * file and line; -EOVERFLOW when a sum leaves 64 bits.
 */
int pathprof_counts_read(struct pathprof_counts *ret_counts, const char *file,
			 struct pathprof_error *error);
void pathprof_counts_release(struct pathprof_counts *counts);

/*
 * Overlap: sum over keys of min(p_i, q_i) of the normalised counts, 0..1 (EOPP 5.5). Two empty
 * profiles overlap by 1, an empty and another by 0.
 */
double pathprof_overlap(const struct pathprof_counts *a, const struct pathprof_counts *b);

#endif
