// SPDX-License-Identifier: GPL-2.0-or-later
/* The rolling baseline: see rolling.h. */
#include "rolling.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "pathprof/drift.h"

#define DEGREES_MIN      100 /* from which on dispersion that is seen is believed */
#define DEGREES_EXPECTED 30  /* so many of what is seen weigh as much as what is expected */

/* ---------------------------------------------------------------- a span of buckets */

static void span_release(struct pp_span *span)
{
	for (uint32_t i = 0; i < span->cnt; i++)
		pp_counts_release(&span->buckets[i].counts);
	pp_counts_release(&span->sum);
	*span = (struct pp_span){0};
}

static void remove_first(struct pp_span *span, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		pp_counts_release(&span->buckets[i].counts);
	memmove(span->buckets, span->buckets + cnt, (span->cnt - cnt) * sizeof(span->buckets[0]));
	span->cnt -= cnt;
	memset(span->buckets + span->cnt, 0, cnt * sizeof(span->buckets[0]));
}

static int make_sum(struct pp_span *span)
{
	int r = 0;

	pp_counts_release(&span->sum);
	for (uint32_t i = 0; r == 0 && i < span->cnt; i++)
		r = pp_counts_join(&span->sum, &span->buckets[i].counts);
	return r;
}

/* The newest bucket stays, however old: there is nothing better. */
static int expire(struct pp_span *span, int64_t before_ns)
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

static int join_neighbours(struct pp_span *span)
{
	struct pp_bucket *b = span->buckets;

	for (uint32_t i = 0; i < PP_ROLLING_BUCKETS / 2; i++) {
		int r = pp_counts_join(&b[2 * i].counts, &b[2 * i + 1].counts);

		if (r < 0)
			return r;
		b[2 * i].end_ns = b[2 * i + 1].end_ns;
		pp_counts_release(&b[2 * i + 1].counts);
	}
	for (uint32_t i = 1; i < PP_ROLLING_BUCKETS / 2; i++) {
		b[i] = b[2 * i];
		b[2 * i] = (struct pp_bucket){0};
	}
	span->cnt = PP_ROLLING_BUCKETS / 2;
	span->each_ns = (b[span->cnt - 1].end_ns - b[0].begin_ns) / span->cnt;
	return 0;
}

static int bucket_for(struct pp_span *span, int64_t end_ns, struct pp_bucket **ret_bucket)
{
	struct pp_bucket *last = span->cnt ? &span->buckets[span->cnt - 1] : NULL;
	int r = 0;

	if (last && end_ns - last->begin_ns < span->each_ns) {
		*ret_bucket = last;
		return 0;
	}
	if (span->cnt == PP_ROLLING_BUCKETS)
		r = join_neighbours(span);
	if (r < 0)
		return r;
	*ret_bucket = &span->buckets[span->cnt++];
	(*ret_bucket)->begin_ns = end_ns;
	span->changed = true;
	return 0;
}

static int span_add(struct pp_span *span, const struct pp_recent *window, int64_t span_ns)
{
	struct pp_bucket *bucket = NULL;
	int r = expire(span, window->end_ns - span_ns);

	if (r == 0)
		r = bucket_for(span, window->end_ns, &bucket);
	if (r == 0 && bucket)
		r = pp_counts_join(&bucket->counts, &window->counts);
	if (r < 0 || !bucket)
		return r;
	bucket->end_ns = window->end_ns;
	return pp_counts_join(&span->sum, &window->counts);
}

static int64_t spanned_ns(const struct pp_span *span)
{
	return span->cnt ? span->buckets[span->cnt - 1].end_ns - span->buckets[0].begin_ns : 0;
}

/* ---------------------------------------------------------------- windows on their way */

static int leave(struct pp_rolling *rolling, const struct pp_recent *window, bool hot,
		 int64_t span_ns)
{
	int r;

	if (!hot && !window->hot) {
		span_release(&rolling->held);
		return span_add(&rolling->base, window, span_ns);
	}
	/* between the old ways and the alarm: it may be of either, so of neither */
	if (!window->hot)
		return 0;
	/* its own bound is twice the time: it is taken over before */
	r = span_add(&rolling->held, window, 2 * span_ns);
	if (r == 0 && spanned_ns(&rolling->held) >= span_ns) {
		span_release(&rolling->base);
		rolling->base = rolling->held;
		rolling->held = (struct pp_span){0};
	}
	return r;
}

static int leave_first(struct pp_rolling *rolling, bool hot, int64_t span_ns)
{
	struct pp_recent *first = &rolling->recent[0];
	int r = leave(rolling, first, hot, span_ns);

	pp_counts_release(&first->counts);
	rolling->recent_cnt--;
	memmove(first, first + 1, rolling->recent_cnt * sizeof(*first));
	rolling->recent[rolling->recent_cnt] = (struct pp_recent){0};
	return r;
}

int pp_rolling_push(struct pp_rolling *rolling, const struct pp_counts *window, int64_t end_ns,
		    bool hot, uint32_t recent_max, int64_t span_ns)
{
	struct pp_recent newest = {.end_ns = end_ns, .hot = hot};
	int r = 0, added;

	if (recent_max > PP_ROLLING_RECENT_MAX)
		recent_max = PP_ROLLING_RECENT_MAX;
	while (rolling->recent_cnt && rolling->recent_cnt >= recent_max && r == 0)
		r = leave_first(rolling, hot, span_ns);
	added = pp_counts_join(&newest.counts, window);
	if (added < 0 || rolling->recent_cnt == PP_ROLLING_RECENT_MAX)
		return added < 0 ? added : r;
	if (!recent_max) {
		added = leave(rolling, &newest, hot, span_ns);
		pp_counts_release(&newest.counts);
		return r < 0 ? r : added;
	}
	rolling->recent[rolling->recent_cnt++] = newest;
	return r;
}

int pp_rolling_pool(const struct pp_rolling *rolling, const struct pp_counts *window, uint32_t cnt,
		    struct pp_counts *ret_pool)
{
	struct pp_counts pool = {0};
	uint32_t more = cnt - 1 < rolling->recent_cnt ? cnt - 1 : rolling->recent_cnt;
	int r = pp_counts_join(&pool, window);

	for (uint32_t i = rolling->recent_cnt - more; r == 0 && i < rolling->recent_cnt; i++)
		r = pp_counts_join(&pool, &rolling->recent[i].counts);
	if (r < 0) {
		pp_counts_release(&pool);
		return r;
	}
	*ret_pool = pool;
	return 0;
}

/*
 * Few degrees of freedom leave the figure to chance. Bursts whose paths are known as such scatter
 * as independent ones do unless much is seen that says otherwise; of others nothing is said before
 * enough is seen.
 */
static double judge_dispersion(double seen, double degrees, bool clustered)
{
	if (!clustered)
		return degrees >= DEGREES_MIN ? seen * (1 + 2 * sqrt(2 / degrees)) : 0;
	return (DEGREES_EXPECTED + degrees * seen) / (DEGREES_EXPECTED + degrees);
}

/* Weights of each bucket as samples of its own. */
static int weigh_buckets(const struct pp_span *span, struct pp_counts *ret_weighed)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < span->cnt; i++) {
		r = pp_counts_join(&ret_weighed[i], &span->buckets[i].counts);
		pp_counts_weigh(&ret_weighed[i]);
	}
	return r;
}

double pp_rolling_dispersion(struct pp_rolling *rolling)
{
	struct pp_counts weighed[PP_ROLLING_BUCKETS] = {0};
	struct pathprof_distribution windows[PP_ROLLING_BUCKETS];
	const struct pathprof_distribution *list[PP_ROLLING_BUCKETS];
	struct pp_span *base = &rolling->base;
	double seen = 1, degrees = 0;
	bool clustered = true;

	if (base->cnt < 2)
		return 0;
	if (!base->changed)
		return base->dispersion;
	/* without memory nothing is known of it for now */
	if (weigh_buckets(base, weighed) < 0)
		clustered = false;
	for (uint32_t i = 0; i < base->cnt; i++) {
		windows[i] = pp_counts_distribution(&weighed[i]);
		list[i] = &windows[i];
		clustered &= windows[i].clustered;
	}
	/* all too rare, or a single path: nothing that could be seen to scatter */
	if (pathprof_drift_dispersion_degrees(list, base->cnt, &seen, &degrees) < 0)
		degrees = 0;
	for (uint32_t i = 0; i < base->cnt; i++)
		pp_counts_release(&weighed[i]);
	base->dispersion = judge_dispersion(seen, degrees, clustered);
	base->changed = false;
	return base->dispersion;
}

static size_t span_bytes(const struct pp_span *span)
{
	size_t bytes = pp_counts_bytes(&span->sum);

	for (uint32_t i = 0; i < span->cnt; i++)
		bytes += pp_counts_bytes(&span->buckets[i].counts);
	return bytes;
}

size_t pp_rolling_bytes(const struct pp_rolling *rolling)
{
	size_t bytes = span_bytes(&rolling->base) + span_bytes(&rolling->held);

	for (uint32_t i = 0; i < rolling->recent_cnt; i++)
		bytes += pp_counts_bytes(&rolling->recent[i].counts);
	return bytes;
}

void pp_rolling_release(struct pp_rolling *rolling)
{
	for (uint32_t i = 0; i < rolling->recent_cnt; i++)
		pp_counts_release(&rolling->recent[i].counts);
	span_release(&rolling->base);
	span_release(&rolling->held);
	*rolling = (struct pp_rolling){0};
}
