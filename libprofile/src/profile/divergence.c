// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Relative entropy of two profiles, and which events it comes from. */
#include "pathprof/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pathprof/drift.h"
#include "pp_merge.h"
#include "pp_smooth.h"

static int smooth(struct pp_smooth *ret_smooth, const struct pathprof_distribution *actual,
		  const struct pathprof_distribution *assumed, double epsilon)
{
	if (!(actual->total > 0) || !(assumed->total > 0))
		return -ENODATA;
	return pp_smooth_init(ret_smooth, assumed->total, pp_smooth_unseen_cnt(actual, assumed),
			      epsilon);
}

int pathprof_relative_entropy(const struct pathprof_distribution *actual,
			      const struct pathprof_distribution *assumed, double epsilon,
			      struct pathprof_relative_entropy *ret_entropy)
{
	struct pp_smooth q;
	struct pp_merge merge;
	struct pp_pair pair;
	long double nats = 0, one;
	int r = smooth(&q, actual, assumed, epsilon);

	if (r < 0)
		return r;
	one = 1 / actual->total;
	pp_merge_init(&merge, actual, assumed);
	while (pp_merge_next(&merge, &pair))
		nats += pp_divergence_term(pair.a * one, pp_smooth_probability(&q, pair.b));
	*ret_entropy = (struct pathprof_relative_entropy){.bits = (double)(nats / M_LN2l),
							  .epsilon = (double)q.epsilon,
							  .unseen_cnt = q.unseen_cnt};
	return 0;
}

/* ---------------------------------------------------------------- terms */

/* true: a comes after b in the answer. */
static bool behind(const struct pathprof_drift_term *a, const struct pathprof_drift_term *b)
{
	if (a->moved_bits != b->moved_bits)
		return a->moved_bits < b->moved_bits;
	return a->key_hi != b->key_hi ? a->key_hi > b->key_hi : a->key_lo > b->key_lo;
}

/* A heap with the last of the answer on top, so that a better term takes its place. */
static void sink(struct pathprof_drift_term *heap, size_t cnt, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct pathprof_drift_term swap = heap[at];

		if (child >= cnt)
			return;
		child += child + 1 < cnt && behind(&heap[child + 1], &heap[child]);
		if (!behind(&heap[child], &swap))
			return;
		heap[at] = heap[child];
		heap[child] = swap;
		at = child;
	}
}

static void rise(struct pathprof_drift_term *heap, size_t at)
{
	while (at && behind(&heap[at], &heap[(at - 1) / 2])) {
		struct pathprof_drift_term swap = heap[at];

		heap[at] = heap[(at - 1) / 2];
		heap[(at - 1) / 2] = swap;
		at = (at - 1) / 2;
	}
}

static void offer(struct pathprof_drift_term *heap, size_t max, size_t *cnt,
		  const struct pathprof_drift_term *term)
{
	if (*cnt < max) {
		heap[*cnt] = *term;
		rise(heap, (*cnt)++);
	} else if (max && behind(&heap[0], term)) {
		heap[0] = *term;
		sink(heap, *cnt, 0);
	}
}

static int by_answer(const void *a, const void *b)
{
	return behind(a, b) - behind(b, a);
}

static struct pathprof_drift_term term_of(const struct pp_pair *pair, long double p, long double q)
{
	return (struct pathprof_drift_term){
		.key_hi = pair->event->key_hi,
		.key_lo = pair->event->key_lo,
		.p = (double)p,
		.q = (double)q,
		.bits = p > 0 ? (double)(p * log2l(p / q)) : 0,
		.moved_bits = (double)(pp_divergence_term(p, q) / M_LN2l),
	};
}

int pathprof_drift_terms(struct pathprof_drift_term *ret_terms, size_t cnt, size_t *ret_cnt,
			 const struct pathprof_distribution *window,
			 const struct pathprof_distribution *baseline, double epsilon)
{
	struct pp_smooth q;
	struct pp_merge merge;
	struct pp_pair pair;
	struct pathprof_drift_term term;
	size_t kept = 0;
	int r = smooth(&q, window, baseline, epsilon);

	if (r < 0)
		return r;
	pp_merge_init(&merge, window, baseline);
	while (pp_merge_next(&merge, &pair)) {
		term = term_of(&pair, pair.a / window->total, pp_smooth_probability(&q, pair.b));
		offer(ret_terms, cnt, &kept, &term);
	}
	if (kept)
		qsort(ret_terms, kept, sizeof(*ret_terms), by_answer);
	*ret_cnt = kept;
	return 0;
}
