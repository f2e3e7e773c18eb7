// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The rolling baseline: see rolling.h. */
#include "pathprof/rolling.h"

#include <errno.h>
#include <string.h>

#include "pathprof/drift.h"

/* ---------------------------------------------------------------- a span of buckets */

static void span_release(struct pathprof_rolling_span *span)
{
	for (uint32_t i = 0; i < span->cnt; i++)
		pathprof_tally_release(&span->buckets[i].tally);
	pathprof_tally_release(&span->sum);
	*span = (struct pathprof_rolling_span){0};
}

static void remove_first(struct pathprof_rolling_span *span, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		pathprof_tally_release(&span->buckets[i].tally);
	memmove(span->buckets, span->buckets + cnt, (span->cnt - cnt) * sizeof(span->buckets[0]));
	span->cnt -= cnt;
	memset(span->buckets + span->cnt, 0, cnt * sizeof(span->buckets[0]));
}

static int make_sum(struct pathprof_rolling_span *span)
{
	int r = 0;

	pathprof_tally_release(&span->sum);
	for (uint32_t i = 0; r == 0 && i < span->cnt; i++)
		r = pathprof_tally_join(&span->sum, &span->buckets[i].tally);
	return r;
}

/* Keeps the newest bucket, however old: there is nothing better. */
static int expire(struct pathprof_rolling_span *span, int64_t before_ns)
{
	uint32_t cnt = 0;

	while (cnt + 1 < span->cnt && span->buckets[cnt].end_ns < before_ns)
		cnt++;
	if (!cnt)
		return 0;
	remove_first(span, cnt);
	span->changed = true;
	return make_sum(span);
}

static int join_neighbours(struct pathprof_rolling_span *span)
{
	struct pathprof_rolling_bucket *b = span->buckets;

	for (uint32_t i = 0; i < PATHPROF_ROLLING_BUCKETS / 2; i++) {
		int r = pathprof_tally_join(&b[2 * i].tally, &b[2 * i + 1].tally);

		if (r < 0)
			return r;
		b[2 * i].end_ns = b[2 * i + 1].end_ns;
		pathprof_tally_release(&b[2 * i + 1].tally);
	}
	for (uint32_t i = 1; i < PATHPROF_ROLLING_BUCKETS / 2; i++) {
		b[i] = b[2 * i];
		b[2 * i] = (struct pathprof_rolling_bucket){0};
	}
	span->cnt = PATHPROF_ROLLING_BUCKETS / 2;
	span->each_ns = (b[span->cnt - 1].end_ns - b[0].begin_ns) / span->cnt;
	return 0;
}

static int bucket_for(struct pathprof_rolling_span *span, int64_t end_ns,
		      struct pathprof_rolling_bucket **ret_bucket)
{
	struct pathprof_rolling_bucket *last = span->cnt ? &span->buckets[span->cnt - 1] : NULL;
	int r = 0;

	if (last && end_ns - last->begin_ns < span->each_ns) {
		*ret_bucket = last;
		return 0;
	}
	if (span->cnt == PATHPROF_ROLLING_BUCKETS)
		r = join_neighbours(span);
	if (r < 0)
		return r;
	*ret_bucket = &span->buckets[span->cnt++];
	(*ret_bucket)->begin_ns = end_ns;
	span->changed = true;
	return 0;
}

static int span_add(struct pathprof_rolling_span *span,
		    const struct pathprof_rolling_recent *window, int64_t span_ns)
{
	struct pathprof_rolling_bucket *bucket = NULL;
	int r = expire(span, window->end_ns - span_ns);

	if (r == 0)
		r = bucket_for(span, window->end_ns, &bucket);
	if (r == 0 && bucket)
		r = pathprof_tally_join(&bucket->tally, &window->tally);
	if (r < 0 || !bucket)
		return r;
	bucket->end_ns = window->end_ns;
	return pathprof_tally_join(&span->sum, &window->tally);
}

static int64_t spanned_ns(const struct pathprof_rolling_span *span)
{
	return span->cnt ? span->buckets[span->cnt - 1].end_ns - span->buckets[0].begin_ns : 0;
}

/* ---------------------------------------------------------------- windows on their way */

static int leave(struct pathprof_rolling *rolling, const struct pathprof_rolling_recent *window,
		 bool hot, int64_t span_ns)
{
	int r;

	if (!hot)
		return window->hot ? 0 : span_add(&rolling->base, window, span_ns);
	/* before the alert, but perhaps already changed: it belongs neither to base nor to held */
	if (!window->hot)
		return 0;
	/* held becomes the base at span_ns: with a bound of twice that no bucket expires before */
	r = span_add(&rolling->held, window, 2 * span_ns);
	if (r == 0 && spanned_ns(&rolling->held) >= span_ns) {
		span_release(&rolling->base);
		rolling->base = rolling->held;
		rolling->held = (struct pathprof_rolling_span){0};
		rolling->renewed_ns = window->end_ns;
	}
	return r;
}

static int leave_first(struct pathprof_rolling *rolling, bool hot, int64_t span_ns)
{
	struct pathprof_rolling_recent *first = &rolling->recent[0];
	int r = leave(rolling, first, hot, span_ns);

	pathprof_tally_release(&first->tally);
	rolling->recent_cnt--;
	memmove(first, first + 1, rolling->recent_cnt * sizeof(*first));
	rolling->recent[rolling->recent_cnt] = (struct pathprof_rolling_recent){0};
	return r;
}

/* The number of windows that may wait. */
static uint32_t wait_of(enum pathprof_rolling_verdict verdict, uint32_t recent_max)
{
	uint32_t least = verdict == PATHPROF_ROLLING_UNSURE ? PATHPROF_ROLLING_WAIT_MAX
							    : PATHPROF_ROLLING_RECENT_MIN;

	if (recent_max > PATHPROF_ROLLING_RECENT_MAX)
		return PATHPROF_ROLLING_RECENT_MAX;
	return recent_max < least ? least : recent_max;
}

int pathprof_rolling_push(struct pathprof_rolling *rolling, const struct pathprof_tally *window,
			  int64_t end_ns, enum pathprof_rolling_verdict verdict,
			  uint32_t recent_max, int64_t span_ns)
{
	bool hot = verdict == PATHPROF_ROLLING_HOT;
	struct pathprof_rolling_recent newest = {.end_ns = end_ns, .hot = hot};
	int r = 0, added;

	/* the alert is over, so what it held was no new normal */
	if (!hot)
		span_release(&rolling->held);
	recent_max = wait_of(verdict, recent_max);
	while (rolling->recent_cnt >= recent_max && r == 0)
		r = leave_first(rolling, hot, span_ns);
	added = pathprof_tally_join(&newest.tally, window);
	if (added < 0 || rolling->recent_cnt == PATHPROF_ROLLING_RECENT_MAX)
		return added < 0 ? added : r;
	rolling->recent[rolling->recent_cnt++] = newest;
	return r;
}

int pathprof_rolling_pool(const struct pathprof_rolling *rolling,
			  const struct pathprof_tally *window, uint32_t cnt,
			  struct pathprof_tally *ret_pool)
{
	struct pathprof_tally pool = {0};
	uint32_t more = cnt - 1 < rolling->recent_cnt ? cnt - 1 : rolling->recent_cnt;
	int r = pathprof_tally_join(&pool, window);

	for (uint32_t i = rolling->recent_cnt - more; r == 0 && i < rolling->recent_cnt; i++)
		r = pathprof_tally_join(&pool, &rolling->recent[i].tally);
	if (r < 0) {
		pathprof_tally_release(&pool);
		return r;
	}
	*ret_pool = pool;
	return 0;
}

/* Copies the buckets, with weights in place of samples. */
static int weigh_buckets(const struct pathprof_rolling_span *span,
			 struct pathprof_tally *ret_weighed)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < span->cnt; i++) {
		r = pathprof_tally_join(&ret_weighed[i], &span->buckets[i].tally);
		pathprof_tally_weigh(&ret_weighed[i]);
	}
	return r;
}

double pathprof_rolling_dispersion(struct pathprof_rolling *rolling)
{
	struct pathprof_tally weighed[PATHPROF_ROLLING_BUCKETS] = {0};
	struct pathprof_distribution windows[PATHPROF_ROLLING_BUCKETS];
	const struct pathprof_distribution *list[PATHPROF_ROLLING_BUCKETS];
	struct pathprof_rolling_span *base = &rolling->base;
	double seen = 1, degrees = 0;
	bool clustered = true;

	if (base->cnt < 2)
		return 0;
	if (!base->changed)
		return base->dispersion;
	/* without memory it cannot be known which samples came in one burst */
	if (weigh_buckets(base, weighed) < 0)
		clustered = false;
	for (uint32_t i = 0; i < base->cnt; i++) {
		windows[i] = pathprof_tally_distribution(&weighed[i]);
		list[i] = &windows[i];
		clustered &= windows[i].clustered;
	}
	/* no scatter can be measured: all paths are too rare, or there is only one */
	if (pathprof_drift_dispersion_degrees(list, base->cnt, &seen, &degrees) < 0)
		degrees = 0;
	for (uint32_t i = 0; i < base->cnt; i++)
		pathprof_tally_release(&weighed[i]);
	base->dispersion = pathprof_drift_believed_dispersion(seen, degrees, clustered);
	base->changed = false;
	return base->dispersion;
}

static size_t span_bytes(const struct pathprof_rolling_span *span)
{
	size_t bytes = pathprof_tally_bytes(&span->sum);

	for (uint32_t i = 0; i < span->cnt; i++)
		bytes += pathprof_tally_bytes(&span->buckets[i].tally);
	return bytes;
}

size_t pathprof_rolling_bytes(const struct pathprof_rolling *rolling)
{
	size_t bytes = span_bytes(&rolling->base) + span_bytes(&rolling->held);

	for (uint32_t i = 0; i < rolling->recent_cnt; i++)
		bytes += pathprof_tally_bytes(&rolling->recent[i].tally);
	return bytes;
}

void pathprof_rolling_release(struct pathprof_rolling *rolling)
{
	for (uint32_t i = 0; i < rolling->recent_cnt; i++)
		pathprof_tally_release(&rolling->recent[i].tally);
	span_release(&rolling->base);
	span_release(&rolling->held);
	*rolling = (struct pathprof_rolling){0};
}
