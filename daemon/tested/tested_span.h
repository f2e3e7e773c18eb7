/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The untested share of one build over a span of time that moves on: counts of windows in buckets
 * of a 32nd of the span, of which those that have left it are overwritten.
 *
 * Bursts are the observations, as in pathprof/unseen.h. Windows are strata: each has its own number
 * of bursts n and its own weight W, so the share over all of them is worth (sum W)^2 / sum (W^2 /
 * n) bursts. The interval is Wilson's over so many.
 *
 * Pure arithmetic; one owner.
 */
#ifndef PP_TESTED_SPAN_H
#define PP_TESTED_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/shares.h"

#define PP_TESTED_BUCKETS 32

/* One build in one window, or in several: then without spread. */
struct pp_tested_counts {
	double weight, untested; /* the latter is part of the former */
	double samples;
	double spread; /* sum of weight * how much worse its looks are for their unequal weights */
	double variance; /* sum of weight^2 / bursts */
};

struct pp_tested_bucket {
	int64_t number; /* of time in buckets */
	struct pp_tested_counts counts;
};
/* A zeroed one is empty. */
struct pp_tested_span {
	struct pp_tested_bucket buckets[PP_TESTED_BUCKETS + 1];
};

/* A path that the window saw so often; figures as in profile.h, 0 where one is not known. */
void pp_tested_counts_add(struct pp_tested_counts *counts, double weight, double weight_squares,
			  double samples, double squares, bool is_untested);
/* bursts: of the window, that saw this build. One that has left the span may be passed over. */
void pp_tested_span_add(struct pp_tested_span *span, uint64_t span_ns, int64_t end_ns,
			const struct pp_tested_counts *counts, double bursts);
/* Adds what lies within the span before this time; *begin_ns becomes where that begins if that is
 * earlier. */
void pp_tested_span_sum(const struct pp_tested_span *span, uint64_t span_ns, int64_t end_ns,
			struct pp_tested_counts *sum, int64_t *begin_ns);
/* The clock was set by so much. */
void pp_tested_span_move(struct pp_tested_span *span, uint64_t span_ns, int64_t by_ns);
/* The untested share with its interval of 95 %; NAN: nothing was seen. */
struct pathprof_share pp_tested_share(const struct pp_tested_counts *sum);

#endif
