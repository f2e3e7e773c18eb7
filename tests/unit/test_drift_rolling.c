// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of events and rolling baselines against plain arrays.
 */
#include "unit.h"

#include <string.h>

#include "../../daemon/drift/drift_state.h"
#include "pathprof/events.h"

static uint64_t state;

static uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

/* ---------------------------------------------------------------- counts against an array */

#define KEYS 64

static size_t draw_events(struct pathprof_event *events, double *sums)
{
	size_t cnt = draw(20);

	for (size_t i = 0; i < cnt; i++) {
		uint64_t key = draw(KEYS);

		events[i] = (struct pathprof_event){.key_lo = key, .weight = 1 + draw(9)};
		sums[key] += events[i].weight;
	}
	CU_ASSERT_EQUAL(pathprof_events_sort(events, &cnt), 0);
	return cnt;
}

static bool same_as(const struct pathprof_tally *counts, const double *sums)
{
	size_t used = 0;

	for (size_t i = 0; i < KEYS; i++)
		used += sums[i] > 0;
	if (counts->cnt != used)
		return false;
	for (size_t i = 0; i < counts->cnt; i++)
		if (counts->events[i].weight != sums[counts->events[i].key_lo] ||
		    (i && counts->events[i].key_lo <= counts->events[i - 1].key_lo))
			return false;
	return true;
}

static void test_counts(void)
{
	struct pathprof_event events[32];

	state = 1;
	for (int round = 0; round < 50; round++) {
		struct pathprof_tally counts = {0}, moved = {0};
		double sums[KEYS] = {0};

		for (int i = 0; i < 12; i++) {
			size_t cnt = draw_events(events, sums);

			CU_ASSERT_EQUAL(pathprof_tally_add(&counts, events, cnt), 0);
			CU_ASSERT(same_as(&counts, sums));
		}
		pathprof_tally_move(&moved, &counts);
		CU_ASSERT_EQUAL(counts.cnt, 0);
		CU_ASSERT(same_as(&moved, sums));
		/* a planted fault: one sample too many */
		moved.events[0].weight++;
		CU_ASSERT_FALSE(same_as(&moved, sums));
		pathprof_tally_release(&moved);
	}
}

/* ---------------------------------------------------------------- rolling against windows */

#define WINDOWS 60

struct past {
	double sums[KEYS];
	int64_t end_ns;
	bool hot;
};

/* The base is what is in its buckets, and each bucket's windows are the oracle's. */
static bool base_is_sound(const struct pathprof_rolling *rolling, const struct past *past,
			  uint32_t cnt)
{
	const struct pathprof_rolling_span *base = &rolling->base;
	double sums[KEYS] = {0};

	for (uint32_t i = 0; i < cnt; i++) {
		bool in = false;

		for (uint32_t b = 0; b < base->cnt; b++)
			in |= past[i].end_ns >= base->buckets[b].begin_ns &&
			      past[i].end_ns <= base->buckets[b].end_ns;
		for (size_t k = 0; k < KEYS && in && !past[i].hot; k++)
			sums[k] += past[i].sums[k];
	}
	return same_as(&base->sum, sums);
}

static void test_rolling(void)
{
	static struct past past[WINDOWS];
	struct pathprof_event events[32];
	struct pathprof_rolling rolling = {0};

	state = 2;
	for (uint32_t i = 0; i < WINDOWS; i++) {
		size_t cnt;

		memset(&past[i], 0, sizeof(past[i]));
		past[i].end_ns = 10 * (i + 1);
		cnt = draw_events(events, past[i].sums);
		CU_ASSERT_EQUAL(pathprof_rolling_push(
					&rolling,
					&(struct pathprof_tally){.events = events, .cnt = cnt},
					past[i].end_ns, PATHPROF_ROLLING_CALM, 2, 200),
				0);
		CU_ASSERT_EQUAL(rolling.recent_cnt, i < 2 ? i + 1 : 2);
		CU_ASSERT(base_is_sound(&rolling, past, i < 1 ? 0 : i - 1));
		CU_ASSERT(rolling.base.cnt <= PATHPROF_ROLLING_BUCKETS);
		/* no less than the time wanted, no more than half as much again */
		if (i > 40 && rolling.base.cnt)
			CU_ASSERT(past[i].end_ns - rolling.base.buckets[0].begin_ns <= 340 &&
				  past[i].end_ns - rolling.base.buckets[0].begin_ns >= 180);
	}
	/* so few samples, of which nobody says which came together, show nothing */
	CU_ASSERT_EQUAL(pathprof_rolling_dispersion(&rolling), 0);
	rolling.base.sum.events[0].weight++;
	CU_ASSERT_FALSE(base_is_sound(&rolling, past, WINDOWS - 2));
	pathprof_rolling_release(&rolling);
}

static uint32_t recent_max = 2;

static void push(struct pathprof_rolling *rolling, uint64_t key, int64_t end_ns,
		 enum pathprof_rolling_verdict verdict)
{
	struct pathprof_event event = {.key_lo = key, .weight = 1};
	const struct pathprof_tally window = {.events = &event, .cnt = 1};

	CU_ASSERT_EQUAL(pathprof_rolling_push(rolling, &window, end_ns, verdict, recent_max, 100),
			0);
}

static void push_one(struct pathprof_rolling *rolling, uint64_t key, int64_t end_ns, bool hot)
{
	push(rolling, key, end_ns, hot ? PATHPROF_ROLLING_HOT : PATHPROF_ROLLING_CALM);
}

static bool base_has(const struct pathprof_rolling *rolling, uint64_t key)
{
	for (size_t i = 0; i < rolling->base.sum.cnt; i++)
		if (rolling->base.sum.events[i].key_lo == key)
			return true;
	return false;
}

static void test_change_stays_out(void)
{
	struct pathprof_rolling rolling = {0};
	int64_t now = 0;

	for (int i = 0; i < 10; i++)
		push_one(&rolling, 1, now += 10, false);
	/* two windows of the change came before anybody knew */
	for (int i = 0; i < 5; i++)
		push_one(&rolling, 2, now += 10, i > 0);
	CU_ASSERT_FALSE(base_has(&rolling, 2));
	/* it was nothing: the base goes on as before */
	for (int i = 0; i < 4; i++)
		push_one(&rolling, 1, now += 10, false);
	CU_ASSERT(base_has(&rolling, 1));
	CU_ASSERT_FALSE(base_has(&rolling, 3));
	CU_ASSERT_EQUAL(rolling.held.cnt, 0);
	/* a change that was over just before it had lasted long enough */
	for (int i = 0; i < 12; i++)
		push_one(&rolling, 4, now += 10, true);
	for (int i = 0; i < 4; i++)
		push_one(&rolling, 1, now += 10, false);
	CU_ASSERT(base_has(&rolling, 1));
	CU_ASSERT_FALSE(base_has(&rolling, 4));
	/* a change that lasts is the new normal */
	for (int i = 0; i < 14; i++)
		push_one(&rolling, 3, now += 10, true);
	CU_ASSERT(base_has(&rolling, 3));
	CU_ASSERT_FALSE(base_has(&rolling, 1));
	pathprof_rolling_release(&rolling);
}

/* Also where each rule measures one window alone: the one in which a change begins says too little.
 */
static void test_change_begins(void)
{
	struct pathprof_rolling rolling = {0};
	int64_t now = 0;

	recent_max = 0;
	for (int i = 0; i < 10; i++)
		push_one(&rolling, 1, now += 10, false);
	push_one(&rolling, 2, now += 10, false);
	for (int i = 0; i < 4; i++)
		push_one(&rolling, 3, now += 10, true);
	CU_ASSERT(base_has(&rolling, 1));
	CU_ASSERT_FALSE(base_has(&rolling, 2));
	CU_ASSERT_FALSE(base_has(&rolling, 3));
	pathprof_rolling_release(&rolling);
	recent_max = 2;
}

/* Windows wait while it is not sure whether they have changed; what comes then decides. */
static void test_unsure(void)
{
	for (int changed = 0; changed < 2; changed++) {
		struct pathprof_rolling rolling = {0};
		int64_t now = 0;

		for (int i = 0; i < 10; i++)
			push_one(&rolling, 1, now += 10, false);
		for (int i = 0; i < 6; i++)
			push(&rolling, 2, now += 10, PATHPROF_ROLLING_UNSURE);
		CU_ASSERT_FALSE(base_has(&rolling, 2));
		for (int i = 0; i < 7; i++)
			push_one(&rolling, 3, now += 10, changed);
		CU_ASSERT_EQUAL(base_has(&rolling, 2), !changed);
		CU_ASSERT_EQUAL(base_has(&rolling, 3), !changed);
		pathprof_rolling_release(&rolling);
	}
}

/* ... but not for ever: a figure that is never sure is how the program is. */
static void test_never_sure(void)
{
	struct pathprof_rolling rolling = {0};

	for (int64_t i = 1; i < 30; i++) {
		push(&rolling, 1, 10 * i, PATHPROF_ROLLING_UNSURE);
		CU_ASSERT(rolling.recent_cnt <= PATHPROF_ROLLING_WAIT_MAX);
	}
	CU_ASSERT(base_has(&rolling, 1));
	pathprof_rolling_release(&rolling);
}

/* An alert that is over gives up what it held, also if no window becomes the baseline then. */
static void test_two_alerts(void)
{
	struct pathprof_rolling rolling = {0};
	int64_t now = 0;

	for (int i = 0; i < 10; i++)
		push_one(&rolling, 1, now += 10, false);
	for (int i = 0; i < 11; i++)
		push_one(&rolling, 2, now += 10, true);
	CU_ASSERT(rolling.held.cnt > 0);
	push(&rolling, 2, now += 10, PATHPROF_ROLLING_UNSURE);
	CU_ASSERT_EQUAL(rolling.held.cnt, 0);
	for (int i = 0; i < 6; i++)
		push_one(&rolling, 2, now += 10, true);
	CU_ASSERT(base_has(&rolling, 1));
	CU_ASSERT_FALSE(base_has(&rolling, 2));
	pathprof_rolling_release(&rolling);
}

static const struct unit_test tests[] = {
	{"counts add up as an array does", test_counts},
	{"the rolling baseline is the windows of its time", test_rolling},
	{"a change stays out of the baseline until it is the new normal", test_change_stays_out},
	{"so does the window in which it begins", test_change_begins},
	{"windows wait while it is not sure whether they changed", test_unsure},
	{"windows that are never sure become the baseline", test_never_sure},
	{"two alerts in a row are not one that lasts", test_two_alerts},
};
UNIT_SUITE(drift_rolling, tests)
