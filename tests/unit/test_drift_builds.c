// SPDX-License-Identifier: GPL-2.0-or-later
/* Drift in the service over two builds of a made-up program, and over windows of two kinds. */
#include "drift_bench.h"

#include <stdio.h>
#include <sys/stat.h>

#include "pathprof/events.h"

#define FUNCTIONS 10

struct naming {
	struct pathprof_portable_row rows[WAYS];
	size_t cnt;
	uint64_t changed;
};

#define CHANGED 500 /* a function of another shape, so of another key */

static int take_known(void *context, const struct pathprof_path_row *row)
{
	struct naming *naming = context;
	uint64_t way = (row->start - 0x1000) / 16;

	naming->rows[naming->cnt++] = (struct pathprof_portable_row){
		.start = row->start,
		.length = row->length,
		.outcomes = row->outcomes,
		.function = way % FUNCTIONS == naming->changed ? CHANGED : 100 + way % FUNCTIONS,
		.place = way,
		.function_name = "way",
	};
	return 0;
}

/* Stores names of the build's paths as the child does, one function changed, and loads them. */
static void name_build(struct bench *b, uint8_t number, uint64_t changed)
{
	const struct pathprof_build_id id = build(number);
	struct naming naming = {.changed = changed};
	uint64_t keys[FUNCTIONS + 1];
	size_t cnt = 0;

	for (uint64_t f = 0; f < FUNCTIONS; f++)
		if (f != changed)
			keys[cnt++] = 100 + f;
	if (changed < FUNCTIONS)
		keys[cnt++] = CHANGED;
	CU_ASSERT_EQUAL(pathprof_store_known_paths(b->store, &id, take_known, &naming, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_portable(b->store, &id, naming.rows, naming.cnt, NULL),
			0);
	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(b->store, &id, keys, cnt, NULL), 0);
	for (uint32_t i = 0; i < b->drift->subjects.cnt; i++)
		if (pathprof_build_id_equal(&b->drift->subjects.list[i]->id, &id))
			CU_ASSERT_EQUAL(pathprof_portable_load(b->drift->subjects.list[i]->portable,
							       b->store, NULL),
					0);
}

static void window_of(struct bench *b, uint8_t number, uint32_t shift)
{
	begin_window(b);
	run_program(b, number, "/bin/program", "", shift, SAMPLES);
	end_window(b);
}

static int meet_matched(void *context, const struct pathprof_drift_row *row)
{
	double *sum = context;

	CU_ASSERT(row->matched > 0.8 && row->matched < 1);
	CU_ASSERT(row->window_samples < SAMPLES);
	*sum += row->matched;
	return 0;
}

/* Seven windows of one build, the second one's first; both named, but for one function of one. */
static void two_builds(struct bench *b)
{
	struct pathprof_error error = {""};

	bench_init(b);
	snprintf(b->config.alerts[0].baseline, PP_CONFIG_NAME_MAX, "previous");
	CU_ASSERT_EQUAL(pp_drift_configure(b->drift, &b->config, &error), 0);
	windows(b, 0, 7);
	name_build(b, 1, 99);
	window_of(b, 2, 0);
	CU_ASSERT_EQUAL(rows_of(b, "previous").cnt, 0);
	name_build(b, 2, 3);
}

static void test_new_build(void)
{
	struct bench b;
	double matched = 0;

	two_builds(&b);
	for (int i = 0; i < 4; i++)
		window_of(&b, 2, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "previous").cnt, 4);
	CU_ASSERT_EQUAL(rows_of(&b, "previous").over_cnt, 0);
	CU_ASSERT_EQUAL(
		pathprof_store_drift(b.store, NULL, "previous", meet_matched, &matched, NULL), 0);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	/* the same by what the store has, one window after the start */
	restart(&b);
	window_of(&b, 2, 0);
	window_of(&b, 2, 0);
	CU_ASSERT(rows_of(&b, "previous").cnt >= 5);
	CU_ASSERT_EQUAL(rows_of(&b, "previous").over_cnt, 0);
	/* and the new build comes to do otherwise */
	window_of(&b, 2, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_PENDING);
	window_of(&b, 2, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	bench_release(&b);
}

static char told[4096], told_summary[512];
static bool told_fired;

static int hear(void *context, const struct pathprof_message_row *row)
{
	snprintf(told, sizeof(told), "%s", row->json);
	snprintf(told_summary, sizeof(told_summary), "%s", row->summary);
	told_fired = row->fired;
	++*(uint32_t *)context;
	return 0;
}

/* All that is in the store to be told, the last of it in told. */
static uint32_t hear_all(struct bench *b)
{
	uint32_t cnt = 0;

	settle(b);
	CU_ASSERT_EQUAL(pathprof_store_messages(b->store, 0, hear, &cnt, NULL), 0);
	return cnt;
}

/* A second build that runs otherwise: its alert fires, by both rules. */
static void release_fires(struct bench *b)
{
	two_builds(b);
	b->config.alerts[1] = b->config.alerts[0];
	snprintf(b->config.alerts[1].name, PP_CONFIG_NAME_MAX, "second");
	b->config.alerts[1].resolve_windows = 3;
	CU_ASSERT_EQUAL(pp_drift_configure(b->drift, &b->config, NULL), 0);
	window_of(b, 2, 3);
	window_of(b, 2, 3);
	CU_ASSERT_EQUAL(fast_phase(b), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(phase_of(b, "second", "/bin/program"), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(hear_all(b), 1);
	CU_ASSERT(told_fired);
}

/* The last of both rules' alerts is over: in the old build's third window. */
static void rollback_resolves(struct bench *b)
{
	window_of(b, 1, 0);
	CU_ASSERT_EQUAL(fast_phase(b), PATHPROF_ALERT_FIRING);
	window_of(b, 1, 0);
	CU_ASSERT_EQUAL(fast_phase(b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(hear_all(b), 1);
	window_of(b, 1, 0);
	CU_ASSERT_EQUAL(phase_of(b, "second", "/bin/program"), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(hear_all(b), 2);
	CU_ASSERT_FALSE(told_fired);
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"reason\":\"build gone\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"build_id\":\"0202"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told_summary,
				      " no longer runs as build 020202020202, but as another one: "
				      "the alert of rule \"fast\" that fired at "));
}

/* The old build has none before it, so nothing measures it: its alert ends all the same. */
static void test_rollback(void)
{
	struct bench b;

	release_fires(&b);
	/* while both run, as in the middle of a release, or none does, nothing is over */
	for (int i = 0; i < 6; i++) {
		begin_window(&b);
		run_program(&b, 1, "/bin/program", "", 0, SAMPLES);
		run_program(&b, 2, "/bin/program", "", 3, SAMPLES);
		end_window(&b);
	}
	windows_without_program(&b, 4);
	/* neither does another container's build take its place */
	for (int i = 0; i < 4; i++) {
		begin_window(&b);
		run_program(&b, 1, "/bin/program", "other", 0, SAMPLES);
		end_window(&b);
	}
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	rollback_resolves(&b);
	/* and it can fire again */
	b.now_ns += 300000000000;
	window_of(&b, 2, 3);
	window_of(&b, 2, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	bench_release(&b);
}

/* Which build is meant is known after a start, from what was told. */
static void test_rollback_after_a_start(void)
{
	struct bench b;

	release_fires(&b);
	restart(&b);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	rollback_resolves(&b);
	bench_release(&b);
}

/* The build before is older than what a start reads back: its windows are looked for. */
static void test_old_build_from_the_store(void)
{
	struct bench b;

	two_builds(&b);
	b.config.rolling_ns = 2 * (uint64_t)WINDOW;
	b.now_ns += 20 * WINDOW;
	for (int i = 0; i < 3; i++)
		window_of(&b, 2, 0);
	restart(&b);
	window_of(&b, 2, 0);
	window_of(&b, 2, 0);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b.drift->subjects.list[0]->previous.portable);
	CU_ASSERT_EQUAL(b.drift->subjects.list[0]->previous.portable->id.bytes[0], 1);
	CU_ASSERT(rows_of(&b, "previous").cnt >= 4);
	CU_ASSERT_EQUAL(rows_of(&b, "previous").over_cnt, 0);
	bench_release(&b);
}

static double previous_samples(const struct bench *b, uint8_t number)
{
	for (uint32_t i = 0; i < b->drift->subjects.cnt; i++)
		if (b->drift->subjects.list[i]->id.bytes[0] == number)
			return b->drift->subjects.list[i]->previous.tally.samples;
	return 0;
}

/* A start reads back the build before's last two windows of seven: the store has them all. */
static void test_old_build_read_back_in_part(void)
{
	struct bench b;

	two_builds(&b);
	for (int i = 0; i < 3; i++)
		window_of(&b, 2, 0);
	/* the clock stands at 1800 s after the first of the seven began */
	b.config.rolling_ns = UINT64_C(1495000000000);
	restart(&b);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 2);
	CU_ASSERT(previous_samples(&b, 2) <= 2 * SAMPLES);
	window_of(&b, 2, 0);
	CU_ASSERT(previous_samples(&b, 2) >= 6 * SAMPLES);
	CU_ASSERT_EQUAL(rows_of(&b, "previous").over_cnt, 0);
	bench_release(&b);
}

static void test_previous_switched_off(void)
{
	struct bench b;

	bench_init(&b);
	b.drift->common.config.drift_previous = 0;
	windows(&b, 0, 7);
	name_build(&b, 1, 99);
	window_of(&b, 2, 0);
	name_build(&b, 2, 99);
	window_of(&b, 2, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "previous").cnt, 0);
	bench_release(&b);
}

/* A pinned baseline of one build says something of another when it carries the names. */
static void test_pinned_of_another_build(void)
{
	const struct pathprof_build_id id = build(1);
	char hex[PATHPROF_BUILD_ID_TEXT_LEN], file[256];
	const struct pathprof_filter filter = {.binary = pathprof_build_id_text(&id, hex)};
	struct pathprof_error error = {""};
	struct bench b;

	two_builds(&b);
	snprintf(file, sizeof(file), "%s/baselines", b.dir);
	CU_ASSERT_EQUAL(mkdir(file, 0700), 0);
	snprintf(file, sizeof(file), "%s/baselines/good.baseline", b.dir);
	CU_ASSERT_EQUAL(pathprof_store_extract(b.store, &filter, file, "n", true, &error), 0);
	window_of(&b, 2, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "good").cnt, 1);
	CU_ASSERT_EQUAL(rows_of(&b, "good").over_cnt, 0);
	window_of(&b, 2, 3);
	CU_ASSERT_EQUAL(rows_of(&b, "good").over_cnt, 1);
	bench_release(&b);
}

/*
 * Windows of another kind see other shares of the same ways: the change of kind is no drift, and
 * neither what was in memory nor in the store nor in a file is held against the new ones.
 */
static void test_another_kind(void)
{
	struct pathprof_error error = {""};
	char file[256];
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 7);
	snprintf(file, sizeof(file), "%s/baselines", b.dir);
	CU_ASSERT_EQUAL(mkdir(file, 0700), 0);
	snprintf(file, sizeof(file), "%s/baselines/good.baseline", b.dir);
	CU_ASSERT_EQUAL(pathprof_store_extract(b.store, NULL, file, "n", true, &error), 0);
	window(&b, 0);
	CU_ASSERT_EQUAL(b.drift->judge.pinned.file_cnt, 1);
	b.horizon = 1024;
	uint32_t before = rows_of(&b, "rolling").cnt;
	window(&b, 3);
	CU_ASSERT_EQUAL(b.drift->common.kind, PATHPROF_KIND_HORIZON);
	CU_ASSERT_EQUAL(b.drift->judge.pinned.file_cnt, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").cnt, before);
	CU_ASSERT_EQUAL(rows_of(&b, "good").cnt, 1);
	windows(&b, 3, 6);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 0);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	/* and so after a restart, with windows of both kinds in the store */
	restart(&b);
	CU_ASSERT_EQUAL(b.drift->common.kind, PATHPROF_KIND_HORIZON);
	windows(&b, 3, 2);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 0);
	b.horizon = 0;
	window(&b, 0);
	CU_ASSERT_EQUAL(b.drift->judge.pinned.file_cnt, 1);
	CU_ASSERT_EQUAL(rows_of(&b, "good").cnt, 2);
	bench_release(&b);
}

static const struct unit_test tests[] = {
	{"a new build is no drift, and is held against the one before", test_new_build},
	{"after a rollback the alert of the new build is over", test_rollback},
	{"and so it is after a start in between", test_rollback_after_a_start},
	{"a build of long ago comes out of the store", test_old_build_from_the_store},
	{"a build that a start read back in part comes out of the store",
	 test_old_build_read_back_in_part},
	{"Previous=no compares no builds", test_previous_switched_off},
	{"windows of another kind are no drift, and no baseline", test_another_kind},
	{"a pinned baseline of another build is compared by names", test_pinned_of_another_build},
};
UNIT_SUITE(drift_builds, tests)
