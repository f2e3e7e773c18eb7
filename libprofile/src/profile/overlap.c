// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Overlap, and LLVM's similarity of sample profiles. The latter's definition is that of
 * llvm-profdata (llvm/tools/llvm-profdata, "overlap --sample"): function-internal similarity 1 -
 * sum |p - q| / 2, which for shares is their overlap.
 */
#include "pathprof/compare.h"

#include <errno.h>
#include <math.h>

#include "pp_merge.h"

double pathprof_distribution_overlap(const struct pathprof_distribution *a,
				     const struct pathprof_distribution *b)
{
	struct pp_merge merge;
	struct pp_pair pair;
	long double sum = 0;

	if (!(a->total > 0) || !(b->total > 0))
		return a->total == b->total;
	pp_merge_init(&merge, a, b);
	while (pp_merge_next(&merge, &pair)) {
		long double of_a = pair.a * b->total, of_b = pair.b * a->total;

		sum += of_a < of_b ? of_a : of_b;
	}
	return (double)fminl(sum / (a->total * b->total), 1);
}

/* Where the events of a function end, if it is the one at `event`; and their weight. */
static const struct pathprof_event *group(const struct pathprof_event *event,
					  const struct pathprof_event *end, uint64_t function,
					  long double *ret_weight)
{
	*ret_weight = 0;
	for (; event != end && event->key_hi == function; event++)
		*ret_weight += event->weight;
	return event;
}

/* The events of both sides are those of one function. */
static long double inside(struct pp_merge merge, long double weight_a, long double weight_b)
{
	struct pp_pair pair;
	long double sum = 0;

	while (pp_merge_next(&merge, &pair))
		sum += fminl(pair.a / weight_a, pair.b / weight_b);
	return sum;
}

int pathprof_similarity(const struct pathprof_distribution *a,
			const struct pathprof_distribution *b, double *ret_similarity)
{
	struct pp_merge rest, function;
	long double weight_a, weight_b, sum = 0;

	if (!(a->total > 0) || !(b->total > 0))
		return -ENODATA;
	pp_merge_init(&rest, a, b);
	while (rest.a != rest.a_end && rest.b != rest.b_end) {
		uint64_t hi = rest.a->key_hi < rest.b->key_hi ? rest.a->key_hi : rest.b->key_hi;
		long double share_a, share_b;

		function = rest;
		function.a_end = rest.a = group(rest.a, rest.a_end, hi, &weight_a);
		function.b_end = rest.b = group(rest.b, rest.b_end, hi, &weight_b);
		if (!(weight_a > 0) || !(weight_b > 0))
			continue;
		share_a = weight_a / a->total;
		share_b = weight_b / b->total;
		sum += inside(function, weight_a, weight_b) * (1 - fabsl(share_a - share_b)) *
		       (share_a + share_b) / 2;
	}
	*ret_similarity = (double)fminl(sum, 1);
	return 0;
}
