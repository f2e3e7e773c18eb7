// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rule on tested sets: the share over a span that moves on, its interval by simulation, and the
 * alert on it through a store, over restarts, a new set and a clock that is set. With a real
 * program: tests/scenario/daemon_tested.sh.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/tested/tested_state.h"
#include "base/clock.h"
#include "pathprof/store.h"

#define MINUTE     INT64_C(60000000000)
#define SPAN       (64 * MINUTE)
#define PATH_FIRST 100
#define PATH_CNT   10 /* tested ones */

/* ---------------------------------------------------------------- the span */

/* A window in which so many bursts saw a tested path, and so many an untested one. */
static void put(struct pp_tested_span *span, int64_t end_ns, double tested, double untested,
		double scale)
{
	struct pp_tested_counts counts = {0};

	if (tested > 0)
		pp_tested_counts_add(&counts, tested * scale, tested * scale * scale, tested,
				     tested, false);
	if (untested > 0)
		pp_tested_counts_add(&counts, untested * scale, untested * scale * scale, untested,
				     untested, true);
	pp_tested_span_add(span, SPAN, end_ns, &counts, tested + untested);
}

static struct pathprof_share share_at(const struct pp_tested_span *span, int64_t end_ns)
{
	struct pp_tested_counts sum = {0};
	int64_t begin_ns = end_ns;

	pp_tested_span_sum(span, SPAN, end_ns, &sum, &begin_ns);
	CU_ASSERT(isnan(pp_tested_share(&sum).value) || end_ns - begin_ns <= SPAN);
	return pp_tested_share(&sum);
}

static void test_span(void)
{
	struct pp_tested_span span = {0};

	CU_ASSERT(isnan(share_at(&span, 1000 * MINUTE).value));
	put(&span, 1000 * MINUTE, 0, 100, 1);
	CU_ASSERT_DOUBLE_EQUAL(share_at(&span, 1000 * MINUTE).value, 1, 1e-9);
	for (int i = 1; i <= 60; i++)
		put(&span, (1000 + i) * MINUTE, 100, 0, 1);
	CU_ASSERT_DOUBLE_EQUAL(share_at(&span, 1060 * MINUTE).value, 1.0 / 61, 1e-9);
	/* what it was at 1000 has left it */
	CU_ASSERT_EQUAL(share_at(&span, 1066 * MINUTE).value, 0);
	pp_tested_span_move(&span, SPAN, -500 * MINUTE);
	CU_ASSERT_DOUBLE_EQUAL(share_at(&span, 560 * MINUTE).value, 1.0 / 61, 1e-9);
	CU_ASSERT(isnan(share_at(&span, 1066 * MINUTE).value));
}

/* Windows of the store are read while new ones end: 33 buckets of two minutes lie between. */
static void test_old_window(void)
{
	struct pp_tested_span span = {0};

	put(&span, 1066 * MINUTE, 100, 0, 1);
	put(&span, 1000 * MINUTE, 0, 100, 1);
	CU_ASSERT_EQUAL(share_at(&span, 1066 * MINUTE).value, 0);
	/* one of the same bucket and one between count */
	put(&span, 1067 * MINUTE, 0, 100, 1);
	put(&span, 1040 * MINUTE, 200, 0, 1);
	CU_ASSERT_DOUBLE_EQUAL(share_at(&span, 1067 * MINUTE).value, 0.25, 1e-9);
	/* a newer one takes the slot */
	put(&span, 1132 * MINUTE, 0, 100, 1);
	CU_ASSERT_DOUBLE_EQUAL(share_at(&span, 1132 * MINUTE).value, 1, 1e-9);
}

static double draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / 9007199254740992.0;
}

/* Windows of unequal numbers of bursts that weigh unequally, as where budgets move. */
static void test_interval(void)
{
	const unsigned int rounds = unit_rounds(400, 4000);
	unsigned int held = 0;
	uint64_t state = 7;

	for (unsigned int round = 0; round < rounds; round++) {
		const double truth = 0.02 + 0.3 * draw(&state);
		struct pp_tested_span span = {0};
		struct pathprof_share share;

		for (int i = 0; i < 30; i++) {
			double bursts = 5 + floor(60 * draw(&state)), untested = 0;

			for (double b = 0; b < bursts; b++)
				untested += draw(&state) < truth;
			put(&span, (1000 + 2 * i) * MINUTE, bursts - untested, untested,
			    1 + 20 * draw(&state));
		}
		share = share_at(&span, 1060 * MINUTE);
		held += share.low <= truth && truth <= share.high;
	}
	CU_ASSERT(held >= 0.94 * rounds);
	CU_ASSERT(held < rounds); /* it says something */
}

/* ---------------------------------------------------------------- the alert */

struct bench {
	struct pp_config config;
	struct pathprof_store *store;
	struct pp_tested_sets *sets;
	struct pp_tested_alerts *alerts;
	sd_event *event;
	int64_t now_ns;
	enum pathprof_basis basis; /* of the windows to come */
	char dir[160];
};

static struct pathprof_build_id id_of(uint8_t number)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memset(id.bytes, number, sizeof(id.bytes));
	return id;
}

static void fill(struct pathprof_profile *profile, uint32_t source, uint64_t first, uint32_t cnt,
		 uint64_t samples)
{
	const struct pathprof_build_id id = id_of(1);
	struct pathprof_path_count path = {.length = 3,
					   .outcomes = 5,
					   .samples = samples,
					   .squares = samples,
					   .weight = (double)samples,
					   .weight_squares = (double)samples};

	path.binary = pathprof_profile_binary(profile, &id, "/bin/app");
	path.process = pathprof_profile_process(profile,
						&(struct pathprof_process){.pid = 7,
									   .comm = (char *)"app",
									   .container = (char *)"",
									   .binary = path.binary});
	profile->source = source;
	for (uint32_t i = 0; i < cnt; i++) {
		path.start = first + i;
		pathprof_profile_add_path(profile, &path);
	}
}

static void write_set(const struct bench *b, const char *name, uint64_t first, uint32_t cnt)
{
	char draft[200], path[200];
	struct pathprof_profile profile;
	struct pathprof_store *store;
	int64_t window;

	snprintf(draft, sizeof(draft), "%s/draft", b->dir);
	snprintf(path, sizeof(path), "%s/sets/%s", b->dir, name);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 8 << 20), 0);
	profile.begin_ns = 1;
	profile.end_ns = 2;
	profile.basis = PATHPROF_BASIS_BRANCHES;
	fill(&profile, PATHPROF_SOURCE_TRACE, first, cnt, 1);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_open(&store, draft, PATHPROF_STORE_WRITE, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, &window, NULL), 0);
	pathprof_store_free(store);
	pathprof_profile_release(&profile);
	CU_ASSERT_EQUAL(rename(draft, path), 0);
}

static void open_bench(struct bench *b)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL_FATAL(
		pathprof_store_open(&b->store, b->config.db_path, PATHPROF_STORE_WRITE, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pp_tested_sets_new(&b->sets, b->config.tested), 0);
	CU_ASSERT_EQUAL_FATAL(
		pp_tested_alerts_new(&b->alerts, &b->config, b->sets, b->store, b->event, &error),
		0);
}

static void close_bench(struct bench *b)
{
	pp_tested_alerts_free(b->alerts);
	pp_tested_sets_free(b->sets);
	pathprof_store_free(b->store);
	b->alerts = NULL;
	b->sets = NULL;
	b->store = NULL;
}

/* The windows of the store are read. */
static void settle(struct bench *b)
{
	while (b->alerts->restore)
		CU_ASSERT_FATAL(sd_event_run(b->event, UINT64_MAX) >= 0);
}

static void restart(struct bench *b)
{
	close_bench(b);
	open_bench(b);
	settle(b);
}

static void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	pp_config_defaults(&b->config);
	b->config.tell_journal = 0;
	b->config.tested_alert_ppm = 100000;
	b->config.tested_span_ns = SPAN;
	snprintf(b->dir, sizeof(b->dir), "%s", unit_tmpdir());
	snprintf(b->config.tested, sizeof(b->config.tested), "%s/sets", b->dir);
	CU_ASSERT_EQUAL_FATAL(mkdir(b->config.tested, 0755), 0);
	snprintf(b->config.db_path, sizeof(b->config.db_path), "%s/p.db", b->dir);
	b->basis = PATHPROF_BASIS_TIME;
	b->now_ns = pp_realtime_ns() - 30 * MINUTE;
	CU_ASSERT(sd_event_new(&b->event) >= 0);
	write_set(b, "app.tested", PATH_FIRST, PATH_CNT);
	open_bench(b);
	settle(b);
}

static void bench_release(struct bench *b)
{
	close_bench(b);
	sd_event_unref(b->event);
}

/* Windows in which tested paths were seen so often each, and one behind them so often. */
static void windows(struct bench *b, int cnt, uint64_t tested, uint64_t untested)
{
	for (int i = 0; i < cnt; i++) {
		struct pathprof_profile profile;
		int64_t window = 0;

		CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 8 << 20), 0);
		profile.begin_ns = b->now_ns;
		b->now_ns += MINUTE;
		profile.end_ns = b->now_ns;
		profile.basis = b->basis;
		profile.totals.bursts = profile.totals.paths = PATH_CNT * tested + untested;
		if (tested)
			fill(&profile, PATHPROF_SOURCE_STEP, PATH_FIRST, PATH_CNT, tested);
		if (untested)
			fill(&profile, PATHPROF_SOURCE_STEP, PATH_FIRST + PATH_CNT, 1, untested);
		profile.source = PATHPROF_SOURCE_STEP;
		CU_ASSERT_EQUAL(pathprof_store_add_window(b->store, &profile, &window, NULL), 0);
		pp_tested_sets_window(b->sets, &profile);
		pp_tested_alerts_window(b->alerts, &profile);
		pathprof_profile_release(&profile);
		settle(b);
	}
}

/* Messages of the store: how many, and the last. */
struct told {
	int fired, resolved;
	char summary[600], json[2000], baseline[64];
};

static int take_message(void *context, const struct pathprof_message_row *row)
{
	struct told *told = context;

	told->fired += row->fired;
	told->resolved += !row->fired;
	snprintf(told->summary, sizeof(told->summary), "%s", row->summary);
	snprintf(told->json, sizeof(told->json), "%s", row->json);
	snprintf(told->baseline, sizeof(told->baseline), "%s", row->baseline);
	return 0;
}

static struct told told_of(const struct bench *b)
{
	struct told told = {0};

	CU_ASSERT_EQUAL(pathprof_store_messages(b->store, 0, take_message, &told, NULL), 0);
	return told;
}

static void test_fires(void)
{
	struct bench b;
	struct told told;

	bench_init(&b);
	windows(&b, 3, 30, 20);
	CU_ASSERT_EQUAL(told_of(&b).fired, 0);
	windows(&b, 2, 30, 200);
	told = told_of(&b);
	CU_ASSERT_EQUAL(told.fired, 1);
	CU_ASSERT_STRING_EQUAL(told.baseline, "app.tested");
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "/bin/app on "));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(told.summary, "that no test ran; limit 10% (AlertShare=), tested set \""));
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "app.tested --since -64min --binary 0101"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told.json, "\"metric\":\"untested_share\""));
	windows(&b, 3, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	/* below the threshold and a tenth of it, two windows in a row */
	windows(&b, 1, 3000, 0);
	CU_ASSERT_EQUAL(told_of(&b).resolved, 0);
	windows(&b, 1, 3000, 0);
	told = told_of(&b);
	CU_ASSERT_EQUAL(told.resolved, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "; no longer above it, as it was from "));
	bench_release(&b);
}

/* By the low end: a share that is over the threshold by chance alone is not told. */
static void test_unsure(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 4, 6, 8);
	CU_ASSERT_EQUAL(told_of(&b).fired, 0);
	CU_ASSERT_EQUAL(b.alerts->alerts.cnt, 0);
	bench_release(&b);
}

static void test_restart(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 1, 30, 200);
	restart(&b);
	/* the window before the restart counts, and so does that it was over the threshold */
	CU_ASSERT_EQUAL(told_of(&b).fired, 0);
	windows(&b, 1, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	restart(&b);
	windows(&b, 3, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	/* 600 of 2400 untested in the span: this window alone would be well */
	windows(&b, 2, 30, 0);
	CU_ASSERT_EQUAL(told_of(&b).resolved, 0);
	bench_release(&b);
}

static void test_new_set(void)
{
	struct bench b;
	struct told told;

	bench_init(&b);
	windows(&b, 4, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	/* windows of before are held against it as well */
	write_set(&b, "more.tested", PATH_FIRST + PATH_CNT, 1);
	windows(&b, 3, 30, 200);
	told = told_of(&b);
	CU_ASSERT_EQUAL(told.resolved, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "app.tested\" and 1 more"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "pathprofctl untested ALL --since -64min"));
	bench_release(&b);
}

/* Weights of windows of another kind are in another unit: none is added to them. */
static void test_other_kind(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 5, 10000, 0);
	b.basis = PATHPROF_BASIS_BRANCHES;
	windows(&b, 4, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	CU_ASSERT_EQUAL(told_of(&b).resolved, 0);
	bench_release(&b);
	/* nor when the service was started anew in between */
	bench_init(&b);
	windows(&b, 5, 10000, 0);
	b.basis = PATHPROF_BASIS_BRANCHES;
	restart(&b);
	windows(&b, 4, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	bench_release(&b);
}

/* A name that a shell would take apart stands in no command. */
static void test_odd_name(void)
{
	char path[200];
	struct bench b;
	struct told told;

	bench_init(&b);
	snprintf(path, sizeof(path), "%s/sets/app.tested", b.dir);
	CU_ASSERT_EQUAL(unlink(path), 0);
	write_set(&b, "our app.tested", PATH_FIRST, PATH_CNT);
	restart(&b);
	windows(&b, 4, 30, 200);
	told = told_of(&b);
	CU_ASSERT_EQUAL(told.fired, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "tested set \"our app.tested\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "pathprofctl untested SET --since -64min"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, ", where SET is the set's file, in quotes"));
	bench_release(&b);
}

/* An alert of what ran no more ends after the span, also where the rule was switched off in
 * between. */
static void test_stale(void)
{
	struct bench b;
	struct told told;

	bench_init(&b);
	windows(&b, 4, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	b.config.tested_alert_ppm = 0;
	restart(&b);
	windows(&b, 60, 0, 0);
	CU_ASSERT_EQUAL(told_of(&b).resolved, 0);
	windows(&b, 10, 0, 0);
	told = told_of(&b);
	CU_ASSERT_EQUAL(told.resolved, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(told.summary, "not held against a tested set for 64min"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told.json, "\"reason\":\"not measured\""));
	bench_release(&b);
}

static void test_clock_set(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 1, 30, 200);
	b.now_ns -= 600 * MINUTE;
	pp_tested_alerts_clock_set(b.alerts, -600 * MINUTE);
	windows(&b, 1, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	b.now_ns += 1200 * MINUTE;
	pp_tested_alerts_clock_set(b.alerts, 1200 * MINUTE);
	windows(&b, 2, 30, 200);
	CU_ASSERT_EQUAL(told_of(&b).resolved, 0);
	bench_release(&b);
}

/* The clock is set while windows of the store are still to be read: they count all the same. */
static void test_clock_set_at_the_start(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 1, 30, 200);
	close_bench(&b);
	open_bench(&b);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b.alerts->restore);
	b.now_ns -= 600 * MINUTE;
	pp_tested_alerts_clock_set(b.alerts, -600 * MINUTE);
	settle(&b);
	/* that window is one of the two in a row that fire */
	windows(&b, 1, 3, 0);
	CU_ASSERT_EQUAL(told_of(&b).fired, 1);
	bench_release(&b);
}

static const struct unit_test tests[] = {
	{"a share is of the span that moves on", test_span},
	{"an old window wipes no new bucket", test_old_window},
	{"its interval holds in simulated spans", test_interval},
	{"fires once over the threshold, resolves below", test_fires},
	{"what chance can make does not fire", test_unsure},
	{"goes on after a restart, by the windows of before", test_restart},
	{"a set that comes is held against earlier windows", test_new_set},
	{"windows of another kind are not added", test_other_kind},
	{"a set of an odd name is not written into the command", test_odd_name},
	{"what does not run any more is over after the span", test_stale},
	{"goes on when the clock is set", test_clock_set},
	{"windows that are read come along with the clock", test_clock_set_at_the_start},
};

UNIT_SUITE(tested_alerts, tests)
