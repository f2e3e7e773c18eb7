// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Alert rules: sequences by hand, and random ones against an oracle that looks back over all that
 * was.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "oracle_stream.h"
#include "pathprof/alert.h"

#define MINUTE 60000000000

static const struct pathprof_alert_rule rule = {
	.metric = PATHPROF_METRIC_KL,
	.threshold = 10,
	.hysteresis = 4,
	.samples_min = 100,
	.windows_pooled = 1,
	.windows_to_fire = 3,
	.windows_to_resolve = 2,
	.cool_down_ns = 5 * MINUTE,
};

static enum pathprof_alert_change give(struct pathprof_alert_state *state,
				       const struct pathprof_alert_rule *r, int64_t minute,
				       double value, double samples)
{
	struct pathprof_alert_input input = {minute * MINUTE, samples, value, value};
	enum pathprof_alert_change change = pathprof_alert_take(state, r, &input);

	CU_ASSERT_EQUAL(pathprof_alert_state_check(state), 0);
	return change;
}

/* Values for minutes 1, 2, ... and what must come of each: . p F R c */
static void play(const struct pathprof_alert_rule *r, const double *values, const char *expected)
{
	static const char letters[] = ".pFRc";
	struct pathprof_alert_state state = {0};

	for (int64_t i = 0; expected[i]; i++) {
		char got = letters[give(&state, r, i + 1, values[i], 1000)];

		CU_ASSERT_EQUAL(got, expected[i]);
	}
}

static void test_sequences(void)
{
	struct pathprof_alert_rule below = rule, at_once = rule;

	play(&rule, (const double[]){1, 11, 11, 11, 20, 5, 5, 1}, ".p.F..R.");
	play(&rule, (const double[]){11, 11, 1, 11, 11, 11}, "p.cp.F");
	/* Between 6 and 10 neither side counts, and a streak of well ones begins anew. */
	play(&rule, (const double[]){11, 11, 11, 8, 6, 8, 6, 6}, "p.F....R");
	/* Exactly the threshold is not above it; exactly the resolve level is well. */
	play(&rule, (const double[]){10, 10, 10, 10}, "....");
	/* After minute 5 it is cool until minute 10. */
	play(&rule, (const double[]){11, 11, 11, 1, 1, 11, 11, 11, 11, 11, 1}, "p.F.Rp...F.");
	below.metric = PATHPROF_METRIC_OVERLAP;
	play(&below, (const double[]){12, 9, 9, 9, 12, 14, 14}, ".p.F..R");
	at_once.windows_to_fire = at_once.windows_to_resolve = 1;
	at_once.cool_down_ns = 0;
	play(&at_once, (const double[]){11, 1, 11, 7, 6, 1}, "FRF.R.");
}

static bool same(const struct pathprof_alert_state *a, const struct pathprof_alert_state *b)
{
	return a->phase == b->phase && a->streak_cnt == b->streak_cnt &&
	       a->since_ns == b->since_ns && a->fired_ns == b->fired_ns &&
	       a->resolved_ns == b->resolved_ns && a->seen_ns == b->seen_ns && a->value == b->value;
}

static void test_no_evidence(void)
{
	struct pathprof_alert_state state = {0}, before;
	struct pathprof_alert_input bad[] = {
		{3 * MINUTE, 99, 50, 50},  {3 * MINUTE, 500, NAN, 50}, {3 * MINUTE, 500, 50, NAN},
		{3 * MINUTE, NAN, 50, 50}, {2 * MINUTE, 500, 50, 50},  {1 * MINUTE, 500, 50, 50},
		{INT64_MIN, 500, 50, 50},
	};

	give(&state, &rule, 1, 11, 500);
	give(&state, &rule, 2, 11, 500);
	before = state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(pathprof_alert_take(&state, &rule, &bad[i]), PATHPROF_ALERT_SAME);
		CU_ASSERT(same(&state, &before));
	}
	CU_ASSERT_EQUAL(give(&state, &rule, 9, 11, 100), PATHPROF_ALERT_FIRED);
	CU_ASSERT_EQUAL(state.since_ns, 9 * MINUTE);
}

static void test_interval(void)
{
	struct pathprof_alert_rule once = rule;
	struct pathprof_alert_state state = {0};
	struct pathprof_alert_input input = {MINUTE, 500, 20, 9};

	once.windows_to_fire = 1;
	CU_ASSERT_EQUAL(pathprof_alert_take(&state, &once, &input), PATHPROF_ALERT_SAME);
	input.time_ns++;
	input.value_low = 11;
	CU_ASSERT_EQUAL(pathprof_alert_take(&state, &once, &input), PATHPROF_ALERT_FIRED);
	/* To keep firing the value is enough. */
	input.time_ns++;
	input.value_low = 0;
	CU_ASSERT_EQUAL(pathprof_alert_take(&state, &once, &input), PATHPROF_ALERT_SAME);
	CU_ASSERT_EQUAL(state.phase, PATHPROF_ALERT_FIRING);
}

/* ---------------------------------------------------------------- the oracle */

#define HISTORY 400

struct history {
	double value[HISTORY];
	int64_t minute[HISTORY];
	size_t cnt;
	bool firing;
	size_t turned;    /* the first window after the last change to or from firing */
	int64_t resolved; /* minute; -1: never */
};

/* How many of the last windows, back to the last turn, satisfy it one after the other. */
static unsigned int run_of(const struct history *h, bool over)
{
	unsigned int cnt = 0;

	for (size_t i = h->cnt; i > h->turned; i--, cnt++)
		if (over ? !(h->value[i - 1] > rule.threshold)
			 : !(h->value[i - 1] <= rule.threshold - rule.hysteresis))
			break;
	return cnt;
}

static enum pathprof_alert_phase look_back(struct history *h)
{
	int64_t now = h->minute[h->cnt - 1];

	if (h->firing && run_of(h, false) >= rule.windows_to_resolve) {
		h->firing = false;
		h->turned = h->cnt;
		h->resolved = now;
	} else if (!h->firing && run_of(h, true) >= rule.windows_to_fire &&
		   (h->resolved < 0 || (now - h->resolved) * MINUTE >= rule.cool_down_ns)) {
		h->firing = true;
		h->turned = h->cnt;
	}
	if (h->firing)
		return PATHPROF_ALERT_FIRING;
	return run_of(h, true) ? PATHPROF_ALERT_PENDING : PATHPROF_ALERT_QUIET;
}

/* Windows at which the phases differ; fault: the oracle is told another value at one of them. */
static unsigned int differ(uint64_t seed, bool fault)
{
	struct pathprof_alert_state state = {0};
	struct history h = {.resolved = -1};
	uint64_t random = seed;
	unsigned int wrong = 0;
	int64_t minute = 0;
	double level = 0;

	while (h.cnt < HISTORY) {
		if (stream_random(&random) % 6 == 0)
			level = (double)(stream_random(&random) % 16);
		minute += 1 + (int64_t)(stream_random(&random) % 3);
		h.minute[h.cnt] = minute;
		h.value[h.cnt] = level + (double)(stream_random(&random) % 3);
		give(&state, &rule, minute, h.value[h.cnt], 200);
		if (fault && h.cnt % 50 == 25)
			h.value[h.cnt] = 22 - h.value[h.cnt];
		h.cnt++;
		wrong += state.phase != look_back(&h);
	}
	return wrong;
}

static void test_oracle(void)
{
	for (uint64_t seed = 1; seed < 60; seed++)
		CU_ASSERT_EQUAL(differ(seed, false), 0);
}

static void test_planted_value(void)
{
	unsigned int found = 0;

	for (uint64_t seed = 1; seed < 20; seed++)
		found += differ(seed, true) > 0;
	CU_ASSERT(found > 15);
}

/* ---------------------------------------------------------------- rules, states, metrics */

static void test_rules(void)
{
	struct pathprof_alert_rule r = rule;

	CU_ASSERT_EQUAL(pathprof_alert_rule_check(&rule), 0);
	CU_ASSERT_EQUAL(pathprof_alert_rule_check(&pathprof_alert_fast), 0);
	CU_ASSERT_EQUAL(pathprof_alert_rule_check(&pathprof_alert_slow), 0);
#define REFUSED(field, bad)                                                                        \
	r = rule;                                                                                  \
	r.field = bad;                                                                             \
	CU_ASSERT_EQUAL(pathprof_alert_rule_check(&r), -EINVAL)
	REFUSED(metric, PATHPROF_METRIC_CNT);
	REFUSED(threshold, NAN);
	REFUSED(threshold, INFINITY);
	REFUSED(hysteresis, -1);
	REFUSED(hysteresis, NAN);
	REFUSED(samples_min, -1);
	REFUSED(samples_min, NAN);
	REFUSED(windows_pooled, 0);
	REFUSED(windows_pooled, 1025);
	REFUSED(windows_to_fire, 0);
	REFUSED(windows_to_resolve, 0);
	REFUSED(cool_down_ns, -1);
#undef REFUSED
}

static void test_states(void)
{
	struct pathprof_alert_state good = {0}, s;

	for (int64_t i = 1; i < 4; i++)
		give(&good, &rule, i, 11, 500);
	CU_ASSERT_EQUAL(good.phase, PATHPROF_ALERT_FIRING);
#define REFUSED(field, bad)                                                                        \
	s = good;                                                                                  \
	s.field = bad;                                                                             \
	CU_ASSERT_EQUAL(pathprof_alert_state_check(&s), -EBADMSG)
	REFUSED(phase, PATHPROF_ALERT_PHASE_CNT);
	REFUSED(phase, PATHPROF_ALERT_PENDING);
	REFUSED(phase, PATHPROF_ALERT_QUIET);
	REFUSED(fired_ns, 0);
	REFUSED(fired_ns, good.fired_ns - 1);
	REFUSED(since_ns, good.since_ns + 1);
	REFUSED(seen_ns, 0);
	REFUSED(resolved_ns, good.seen_ns + 1);
	REFUSED(resolved_ns, good.fired_ns);
	REFUSED(value, NAN);
	good = (struct pathprof_alert_state){.since_ns = 2, .seen_ns = 2};
	CU_ASSERT_EQUAL(pathprof_alert_state_check(&good), 0);
	REFUSED(resolved_ns, 1);
#undef REFUSED
}

/* Stored in mid-way and read again, it goes on as if nothing had been. */
static void test_restart(void)
{
	struct pathprof_alert_state state = {0}, stored;
	unsigned char bytes[sizeof(state)];

	give(&state, &rule, 1, 11, 500);
	give(&state, &rule, 2, 11, 500);
	memcpy(bytes, &state, sizeof(state));
	memcpy(&stored, bytes, sizeof(stored));
	CU_ASSERT_EQUAL(pathprof_alert_state_check(&stored), 0);
	CU_ASSERT_EQUAL(give(&stored, &rule, 3, 11, 500), PATHPROF_ALERT_FIRED);
}

static void test_metrics(void)
{
	struct pathprof_drift drift = {
		.window_samples = 300,
		.kl_bits = 1,
		.kl_corrected_bits = 2,
		.kl_low_bits = 1.5,
		.overlap = 0.25,
		.angle_degrees = 33,
		.coverage = {0.5, 0.75},
		.branches = {.conflict = {0.125, 0.0625}, .accuracy = 0.5, .accuracy_own = 0.875},
	};
	static const double expected[] = {2, 1, 33, 0.25, 0.75, 0.0625, 0.375};
	static const bool below[] = {false, false, false, true, true, false, false};

	for (unsigned int i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct pathprof_alert_input in =
			pathprof_alert_input_of((enum pathprof_metric)i, &drift, 5);

		CU_ASSERT(in.time_ns == 5 && in.samples == 300 && in.value == expected[i]);
		CU_ASSERT_EQUAL(in.value_low, i ? expected[i] : 1.5);
		CU_ASSERT_EQUAL(pathprof_metric_fires_below((enum pathprof_metric)i), below[i]);
	}
	CU_ASSERT_EQUAL(PATHPROF_METRIC_UNTESTED + 1, PATHPROF_METRIC_CNT);
	CU_ASSERT(isnan(pathprof_alert_input_of(PATHPROF_METRIC_UNTESTED, &drift, 5).value));
	CU_ASSERT_FALSE(pathprof_metric_fires_below(PATHPROF_METRIC_UNTESTED));
	CU_ASSERT_PTR_NULL(pathprof_metric_name(PATHPROF_METRIC_CNT));
	CU_ASSERT(isnan(pathprof_alert_input_of(PATHPROF_METRIC_CNT, &drift, 5).value));
}

static const struct unit_test tests[] = {
	{"sequences by hand: streaks, hysteresis, cool-down", test_sequences},
	{"too few samples, no figure, no new time: nothing changes", test_no_evidence},
	{"fires only if the interval is above, too", test_interval},
	{"random sequences equal a look back over all of them", test_oracle},
	{"another value is found", test_planted_value},
	{"refuses rules that cannot be", test_rules},
	{"refuses states that cannot be", test_states},
	{"goes on after a restart", test_restart},
	{"metrics have names, sides and figures", test_metrics},
};
UNIT_SUITE(alert, tests)
