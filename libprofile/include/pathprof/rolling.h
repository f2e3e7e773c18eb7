/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The rolling baseline of one subject: what its windows of the last hour came to.
 *
 *     newest window -> recent: the last two or more, which rules may measure together; up to
 *                        |  eight while it is not sure whether the newest has changed
 *                        | the oldest of them leaves
 *                        v
 *                      base: buckets of windows, the oldest goes when it is too old
 *                        |  ... or, while an alert is pending or firing:
 *                      held: collected apart. It becomes the base when it spans as much as the base
 *                            may (the change is the new normal), and is dropped when the alert is
 *                            over before.
 *
 * Thus a change never becomes part of its own baseline before an alert can fire, and a program that
 * returns to its old behaviour finds that behaviour in the base. The window in which a change
 * begins shows too little of it for an alert: it is still recent when the next one shows the
 * change.
 *
 * Buckets hold one window each at first; when all are full, neighbours are put together, until
 * eight of them span the time wanted. How windows scatter (dispersion) is estimated from them.
 *
 * Workload: 200 of these, a window of a thousand events each a minute. One owner.
 */
#ifndef PATHPROF_ROLLING_H
#define PATHPROF_ROLLING_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/tally.h"

#define PATHPROF_ROLLING_BUCKETS    8
#define PATHPROF_ROLLING_RECENT_MIN 2
#define PATHPROF_ROLLING_WAIT_MAX   8
#define PATHPROF_ROLLING_RECENT_MAX 15

/* The verdict on a window by the rules that measure it against the rolling baseline. */
enum pathprof_rolling_verdict {
	PATHPROF_ROLLING_CALM,
	PATHPROF_ROLLING_UNSURE, /* over a threshold, but the figure's interval is not */
	PATHPROF_ROLLING_HOT,    /* an alert is pending or firing */
};

struct pathprof_rolling_bucket {
	struct pathprof_tally tally;
	int64_t begin_ns, end_ns; /* ends of its first and its last window */
};

struct pathprof_rolling_span {
	struct pathprof_rolling_bucket buckets[PATHPROF_ROLLING_BUCKETS]; /* oldest first */
	uint32_t cnt;
	int64_t each_ns;           /* what a bucket spans; 0: one window */
	struct pathprof_tally sum; /* of all buckets */
	bool changed;              /* a bucket came or went since the dispersion was estimated */
	double dispersion;         /* 0: not known yet */
};

struct pathprof_rolling_recent {
	struct pathprof_tally tally;
	int64_t end_ns;
	bool hot; /* an alert was pending or firing when it came */
};

/* All zero: empty. */
struct pathprof_rolling {
	struct pathprof_rolling_recent recent[PATHPROF_ROLLING_RECENT_MAX]; /* oldest first */
	uint32_t recent_cnt;
	struct pathprof_rolling_span base, held;
	int64_t renewed_ns; /* end of the window with which held became the base last; 0: never */
};

void pathprof_rolling_release(struct pathprof_rolling *rolling);
/*
 * Takes a window that was judged already. recent_max of them wait, within
 * PATHPROF_ROLLING_RECENT_MIN and _MAX. -ENOMEM: it is lost.
 */
int pathprof_rolling_push(struct pathprof_rolling *rolling, const struct pathprof_tally *window,
			  int64_t end_ns, enum pathprof_rolling_verdict verdict,
			  uint32_t recent_max, int64_t span_ns);
/* The newest window and cnt - 1 before it, together, into *ret_pool (released by the caller). */
int pathprof_rolling_pool(const struct pathprof_rolling *rolling,
			  const struct pathprof_tally *window, uint32_t cnt,
			  struct pathprof_tally *ret_pool);
/* The dispersion of windows during which nothing changed; 0: too little was seen to say. */
double pathprof_rolling_dispersion(struct pathprof_rolling *rolling);
size_t pathprof_rolling_bytes(const struct pathprof_rolling *rolling);

#endif
