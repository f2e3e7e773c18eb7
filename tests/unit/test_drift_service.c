// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift in the service, on a made-up program whose ways are known: alerts over windows, restarts
 * and clocks that are set, pinned baselines, bounds.
 */
#include "drift_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int strdup_fails_in; /* calls until it finds no memory once; 0: never */

/* libc's own, but for the call that is to fail. */
char *strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = strdup_fails_in && !--strdup_fails_in ? NULL : malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

static uint64_t cpu_runs_ahead_s; /* seconds that each look at this thread's CPU time adds */

/* libc's own, but for that. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	static uint64_t ahead_s;
	int r = (int)syscall(SYS_clock_gettime, clock, ret_time);

	ahead_s += cpu_runs_ahead_s;
	if (r == 0 && cpu_runs_ahead_s && clock == CLOCK_THREAD_CPUTIME_ID)
		ret_time->tv_sec += (time_t)ahead_s;
	return r;
}

/* ---------------------------------------------------------------- the whole of it */

static void test_fires_and_resolves(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 10);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").cnt, 6);
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_PENDING);
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	windows(&b, 3, 5);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 7);
	windows(&b, 0, 1);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	windows(&b, 0, 1);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(pathprof_store_check(b.store, NULL), 0);
	bench_release(&b);
}

static void test_restart_in_mid_pending(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_PENDING);
	restart(&b);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_PENDING);
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	restart(&b);
	/* what was over stayed out of the baseline */
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	restart(&b);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	bench_release(&b);
}

/* A state that there is no memory for is lost, and this is counted; what follows is read. */
static void test_state_without_memory(void)
{
	struct pp_drift_common common = {.store = NULL};
	struct pp_drift_alerts alerts = {.common = &common};
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	windows(&b, 3, 2);
	CU_ASSERT_EQUAL_FATAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	common.store = b.store;
	strdup_fails_in = 1;
	CU_ASSERT_EQUAL(pp_drift_read_alerts(&alerts, NULL), 0);
	strdup_fails_in = 0;
	CU_ASSERT_EQUAL(common.lost, 1);
	pp_drift_free_alerts(&alerts);
	CU_ASSERT_EQUAL(pp_drift_read_alerts(&alerts, NULL), 0);
	CU_ASSERT(alerts.cnt > 0);
	CU_ASSERT_EQUAL(common.lost, 1);
	pp_drift_free_alerts(&alerts);
	bench_release(&b);
}

/* The clock is set; told: the daemon has noticed. */
static void set_clock(struct bench *b, int64_t hours, bool told)
{
	b->now_ns += hours * 60 * WINDOW;
	if (told)
		pp_drift_clock_set(b->drift, hours * 60 * WINDOW);
}

static void ring_across(int64_t hours)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 10);
	set_clock(&b, hours, true);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").cnt, 8);
	window(&b, 3);
	set_clock(&b, -hours, true);
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	set_clock(&b, hours, true);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	bench_release(&b);
}

static void test_clock_set(void)
{
	struct bench b;

	ring_across(5);
	ring_across(-5);
	/* set back unnoticed, no window is new */
	bench_init(&b);
	windows(&b, 0, 10);
	set_clock(&b, -5, false);
	windows(&b, 3, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	bench_release(&b);
}

/* When a baseline was renewed is compared with when an alert fired: both move. */
static void test_clock_set_after_renewal(void)
{
	const struct pathprof_rolling *rolling;
	struct bench b;
	int64_t renewed_ns;

	bench_init(&b);
	windows(&b, 0, 8);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	rolling = &b.drift->subjects.list[0]->rolling;
	set_clock(&b, 5, true);
	/* 0 is never, and stays so */
	CU_ASSERT_EQUAL(rolling->renewed_ns, 0);
	windows(&b, 3, 70);
	renewed_ns = rolling->renewed_ns;
	CU_ASSERT(renewed_ns > 0);
	set_clock(&b, -5, true);
	CU_ASSERT_EQUAL(rolling->renewed_ns, renewed_ns - 5 * 60 * WINDOW);
	bench_release(&b);
}

/* States of a daemon whose clock was set back before it started again. */
static void test_restart_in_the_past(void)
{
	struct bench b;

	bench_init(&b);
	set_clock(&b, 5, true);
	windows(&b, 0, 10);
	window(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_PENDING);
	set_clock(&b, -5, false);
	restart(&b);
	for (uint32_t i = 0; i < b.drift->alerts.cnt; i++)
		CU_ASSERT(b.drift->alerts.list[i]->state.seen_ns <= b.drift->common.end_ns);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_PENDING);
	bench_release(&b);
}

/*
 * A subject remembers cnt windows, too few for any to be joined, one after another in time, and the
 * last ends at last_ns.
 */
static void check_order(const struct pp_drift_subject *subject, uint32_t cnt, int64_t last_ns)
{
	const struct pathprof_rolling *rolling = &subject->rolling;
	int64_t end_ns = 0;

	CU_ASSERT_EQUAL(rolling->base.cnt + rolling->recent_cnt, cnt);
	for (uint32_t i = 0; i < rolling->base.cnt; i++) {
		CU_ASSERT(rolling->base.buckets[i].begin_ns > end_ns);
		end_ns = rolling->base.buckets[i].end_ns;
	}
	for (uint32_t i = 0; i < rolling->recent_cnt; i++) {
		CU_ASSERT(rolling->recent[i].end_ns > end_ns);
		end_ns = rolling->recent[i].end_ns;
	}
	CU_ASSERT_EQUAL(end_ns, last_ns);
}

/* All windows lie ahead: they come along as they lie, and a window from now on is newer. */
static void test_restart_behind_all_windows(void)
{
	struct bench b;

	bench_init(&b);
	set_clock(&b, 5, true);
	windows(&b, 0, 8);
	set_clock(&b, -5, false);
	restart(&b);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	check_order(b.drift->subjects.list[0], 8, b.drift->common.end_ns);
	b.now_ns = b.drift->common.end_ns;
	windows(&b, 3, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	bench_release(&b);
}

/* The first windows lie ahead: those after the clock was set back are newer all the same. */
static void test_restart_behind_some_windows(void)
{
	struct bench b;

	bench_init(&b);
	set_clock(&b, 5, true);
	windows(&b, 0, 3);
	set_clock(&b, -5, true);
	windows(&b, 0, 4);
	restart(&b);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	check_order(b.drift->subjects.list[0], 7, b.now_ns);
	bench_release(&b);
}

/* The clock is set back while the event loop still reads earlier windows: they come along. */
static void test_clock_set_at_the_start(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 7);
	cpu_runs_ahead_s = 1;
	begin_restart(&b);
	cpu_runs_ahead_s = 0;
	CU_ASSERT_PTR_NOT_NULL_FATAL(b.drift->restore);
	set_clock(&b, -5, true);
	while (b.drift->restore)
		CU_ASSERT_FATAL(sd_event_run(b.event, UINT64_MAX) >= 0);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	check_order(b.drift->subjects.list[0], 7, b.now_ns);
	windows(&b, 3, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	bench_release(&b);
}

/* A restart makes the same baseline of the store as the windows made when they came. */
static void test_restart_restores_baseline(void)
{
	struct bench b;
	struct pathprof_tally before = {0};
	const struct pathprof_tally *after;

	bench_init(&b);
	windows(&b, 0, 9);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	after = &b.drift->subjects.list[0]->rolling.base.sum;
	CU_ASSERT_EQUAL(pathprof_tally_add(&before, after->events, after->cnt), 0);
	restart(&b);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	after = &b.drift->subjects.list[0]->rolling.base.sum;
	CU_ASSERT_EQUAL_FATAL(after->cnt, before.cnt);
	CU_ASSERT_EQUAL(memcmp(after->events, before.events, before.cnt * sizeof(*before.events)),
			0);
	pathprof_tally_release(&before);
	bench_release(&b);
}

/* Ten paths, each other one of which runs so often: what is measured is no matter of chance. */
static void window_of(struct bench *b, uint32_t often, uint32_t seldom)
{
	const struct pathprof_build_id id = build(1);
	char comm[] = "program", container[] = "";
	struct pathprof_process process = {
		.pid = 1, .start_time = 1, .comm = comm, .container = container};
	struct pathprof_path_count count = {.length = 1, .weight = 1};

	begin_window(b);
	count.binary = process.binary = pathprof_profile_binary(&b->profile, &id, "/bin/program");
	count.process = pathprof_profile_process(&b->profile, &process);
	for (uint32_t i = 0; i < 10; i++) {
		count.start = 0x1000 + 16 * i;
		count.samples = i % 2 ? often : seldom;
		pathprof_profile_add_path(&b->profile, &count);
	}
	end_window(b);
}

/* Windows that a start finds waiting go on waiting, so the change is found when one is sure. */
static void test_restart_while_unsure(void)
{
	for (int restarts = 0; restarts < 2; restarts++) {
		const struct pathprof_rolling *rolling;
		struct bench b;

		bench_init(&b);
		for (int i = 0; i < 10; i++)
			window_of(&b, 600, 600);
		for (int i = 0; i < 5; i++)
			window_of(&b, 26, 14);
		CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
		if (restarts)
			restart(&b);
		CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
		rolling = &b.drift->subjects.list[0]->rolling;
		CU_ASSERT_EQUAL(rolling->recent_cnt, 7);
		window_of(&b, 26, 14);
		CU_ASSERT_EQUAL(rolling->recent_cnt, 8);
		CU_ASSERT_EQUAL(rolling->base.sum.samples, 8 * 6000);
		/* a calm window lets the others in: the two newest wait */
		window_of(&b, 600, 600);
		CU_ASSERT_EQUAL(rolling->recent_cnt, 2);
		CU_ASSERT_EQUAL(rolling->base.sum.samples, 10 * 6000 + 5 * 200);
		bench_release(&b);
	}
}

/* A window of so few paths is no evidence, and windows that wait go on waiting. */
static void test_no_evidence_while_unsure(void)
{
	struct bench b;

	bench_init(&b);
	for (int i = 0; i < 10; i++)
		window_of(&b, 600, 600);
	for (int i = 0; i < 3; i++)
		window_of(&b, 26, 14);
	window_of(&b, 1, 1);
	CU_ASSERT_EQUAL(b.drift->subjects.list[0]->rolling.recent_cnt, 6);
	restart(&b);
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 1);
	CU_ASSERT_EQUAL(b.drift->subjects.list[0]->rolling.recent_cnt, 6);
	CU_ASSERT_EQUAL(b.drift->subjects.list[0]->rolling.base.sum.samples, 8 * 6000);
	bench_release(&b);
}

/* Samples of the baseline, as the windows left it or as a start makes it. */
static double base_samples(struct bench *b, bool restarts)
{
	if (restarts)
		restart(b);
	CU_ASSERT_EQUAL_FATAL(b->drift->subjects.cnt, 1);
	return b->drift->subjects.list[0]->rolling.base.sum.samples;
}

/* Windows below a rule's high threshold belong to the baseline, after a start, too. */
static void test_restart_with_a_high_threshold(void)
{
	for (int restarts = 0; restarts < 2; restarts++) {
		struct bench b;

		bench_init(&b);
		b.config.alerts[0].threshold_ppm = 900000;
		CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, NULL), 0);
		for (int i = 0; i < 6; i++)
			window_of(&b, 600, 600);
		for (int i = 0; i < 6; i++)
			window_of(&b, 800, 400);
		CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 6);
		CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
		CU_ASSERT_EQUAL(base_samples(&b, restarts), 10 * 6000);
		bench_release(&b);
	}
}

/* Windows of which one alone shows nothing stay out while the alert of several together fires. */
static void test_restart_while_slow_fires(void)
{
	for (int restarts = 0; restarts < 2; restarts++) {
		struct bench b;

		bench_init(&b);
		b.config.alerts[0].enabled = 0;
		b.config.alerts[1].enabled = 1;
		b.config.alerts[1].pooled = 9;
		CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, NULL), 0);
		for (int i = 0; i < 14; i++)
			window_of(&b, 600, 600);
		for (int i = 0; i < 20; i++)
			window_of(&b, 663, 537);
		CU_ASSERT_EQUAL(phase_of(&b, "slow", "/bin/program"), PATHPROF_ALERT_FIRING);
		CU_ASSERT_EQUAL(base_samples(&b, restarts), 14 * 6000);
		bench_release(&b);
	}
}

/* A figure of the metrics text; NAN if it is not there. */
static double figure(const struct bench *b, const char *name)
{
	char *metrics = NULL, line[80], *at;
	size_t size = 0;
	FILE *to = open_memstream(&metrics, &size);
	double value;

	pp_drift_metrics(b->drift, to);
	fclose(to);
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(metrics, line);
	value = at ? strtod(at + strlen(line), NULL) : NAN;
	free(metrics);
	return value;
}

/* Windows that are read again cost something before one closes. */
static void test_cpu_of_a_restart(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 9);
	restart(&b);
	CU_ASSERT(figure(&b, "pathprof_drift_cpu_seconds_total") > 0);
	bench_release(&b);
}

static void test_what_is_gone_resolves(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	windows(&b, 3, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	windows_without_program(&b, 59);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	windows_without_program(&b, 3);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	bench_release(&b);
}

static void test_containers_and_builds_apart(void)
{
	struct bench b;

	bench_init(&b);
	for (int i = 0; i < 10; i++) {
		begin_window(&b);
		run_program(&b, 1, "/bin/program", "", 0, SAMPLES);
		run_program(&b, 1, "/bin/program", "box", i < 8 ? 0 : 3, SAMPLES);
		/* another build of it begins anew */
		run_program(&b, i < 5 ? 2 : 3, "/bin/other", "", i < 5 ? 0 : 7, SAMPLES);
		end_window(&b);
	}
	CU_ASSERT_EQUAL(b.drift->subjects.cnt, 4);
	CU_ASSERT_EQUAL(phase_of(&b, "fast", "/bin/other"), PATHPROF_ALERT_QUIET);
	for (uint32_t i = 0; i < b.drift->alerts.cnt; i++)
		CU_ASSERT_EQUAL(b.drift->alerts.list[i]->state.phase == PATHPROF_ALERT_FIRING,
				!strcmp(b.drift->alerts.list[i]->container, "box"));
	bench_release(&b);
}

/* A build whose file one container does not have is asked for by another container's. */
static void test_naming_takes_turns(void)
{
	struct bench b;

	bench_init(&b);
	for (int i = 0; i < 2; i++) {
		begin_window(&b);
		run_program(&b, 1, "/bin/program", "box", 0, SAMPLES);
		run_program(&b, 1, "/bin/program", "crate", 0, SAMPLES / 2);
		end_window(&b);
		settle(&b);
	}
	CU_ASSERT_EQUAL_FATAL(b.drift->subjects.cnt, 2);
	CU_ASSERT_EQUAL(b.drift->subjects.list[0]->portable->pause_ns, 2 * WINDOW);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT(b.drift->subjects.list[i]->asked_ns > 0);
	bench_release(&b);
}

static bool shows(const struct bench *b, const char *baseline)
{
	char *metrics = NULL, label[80];
	size_t size = 0;
	FILE *to = open_memstream(&metrics, &size);
	bool found;

	pp_drift_metrics(b->drift, to);
	fclose(to);
	snprintf(label, sizeof(label), "baseline=\"%s\"", baseline);
	found = strstr(metrics, label) != NULL;
	free(metrics);
	return found;
}

static void test_pinned(void)
{
	struct bench b;
	struct pathprof_error error = {""};
	char file[256];

	bench_init(&b);
	snprintf(b.config.alerts[0].baseline, PP_CONFIG_NAME_MAX, "good");
	CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, &error), 0);
	windows(&b, 0, 6);
	snprintf(file, sizeof(file), "%s/baselines", b.dir);
	CU_ASSERT_EQUAL(mkdir(file, 0700), 0);
	snprintf(file, sizeof(file), "%s/baselines/good.baseline", b.dir);
	CU_ASSERT_EQUAL(pathprof_store_extract(b.store, NULL, file, "n", false, &error), 0);
	snprintf(file, sizeof(file), "%s/baselines/junk.baseline", b.dir);
	fclose(fopen(file, "w"));
	window(&b, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "good").cnt, 1);
	CU_ASSERT(shows(&b, "good") && shows(&b, "rolling"));
	CU_ASSERT_EQUAL(b.drift->judge.pinned.file_cnt, 1);
	CU_ASSERT_EQUAL(b.drift->judge.pinned.files[0].pinned.part_cnt, 1);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	windows(&b, 3, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	snprintf(file, sizeof(file), "%s/baselines/good.baseline", b.dir);
	CU_ASSERT_EQUAL(unlink(file), 0);
	window(&b, 0);
	CU_ASSERT_EQUAL(b.drift->judge.pinned.file_cnt, 0);
	CU_ASSERT(!shows(&b, "good") && shows(&b, "rolling"));
	bench_release(&b);
}

/* A directory that is none, or cannot be read for a while, is tried again. */
static void test_pinned_where_nothing_can_be_read(void)
{
	struct pp_pinned pinned = {.directory = "/proc/self/status"};

	pp_pinned_refresh(&pinned);
	CU_ASSERT_EQUAL(pinned.file_cnt, 0);
	CU_ASSERT_EQUAL(pinned.read.tv_sec, 0);
	CU_ASSERT_EQUAL(pinned.read.tv_nsec, 0);
	CU_ASSERT(pp_log_any(&pinned.trouble));
}

static void test_bounds(void)
{
	struct bench b;

	bench_init(&b);
	b.drift->common.config.drift_subjects_max = 3;
	for (int i = 0; i < 6; i++) {
		begin_window(&b);
		for (uint8_t k = 0; k < 5; k++) {
			char name[32];

			snprintf(name, sizeof(name), "/bin/program-%d", k);
			run_program(&b, k, name, "", 0, k == 4 ? 50 : 300);
		}
		end_window(&b);
		CU_ASSERT_EQUAL(b.drift->subjects.cnt, 3);
	}
	CU_ASSERT_EQUAL(b.drift->subjects.evicted, 6);
	b.drift->common.config.drift_memory_max_bytes = 1;
	windows(&b, 0, 1);
	CU_ASSERT_EQUAL(b.drift->subjects.cnt, 0);
	CU_ASSERT_EQUAL(b.drift->alerts.cnt, 0);
	bench_release(&b);
}

static const struct unit_test tests[] = {
	{"an alert fires in its window and resolves when the ways come back",
	 test_fires_and_resolves},
	{"a restart in mid-pending goes on where it was", test_restart_in_mid_pending},
	{"a state that there is no memory for is counted as lost", test_state_without_memory},
	{"a clock that is set rings nothing and hides nothing", test_clock_set},
	{"a clock that is set moves when a baseline was renewed", test_clock_set_after_renewal},
	{"states ahead of a clock that was set back come along", test_restart_in_the_past},
	{"windows ahead of a clock that was set back come along", test_restart_behind_all_windows},
	{"windows after a clock was set back are the newest", test_restart_behind_some_windows},
	{"windows that are read come along with the clock", test_clock_set_at_the_start},
	{"a restart makes the same baseline again", test_restart_restores_baseline},
	{"windows that wait go on waiting after a restart", test_restart_while_unsure},
	{"a window that is no evidence lets none become the baseline",
	 test_no_evidence_while_unsure},
	{"a restart lets pass what a high threshold lets pass", test_restart_with_a_high_threshold},
	{"a restart keeps out what an alert keeps out", test_restart_while_slow_fires},
	{"what a restart takes is in the figure of CPU time", test_cpu_of_a_restart},
	{"an alert of what runs no more resolves", test_what_is_gone_resolves},
	{"containers and builds are kept apart", test_containers_and_builds_apart},
	{"a build that cannot be read in one container is tried in another",
	 test_naming_takes_turns},
	{"pinned baselines come, are judged by and go", test_pinned},
	{"baselines that cannot be read now are looked for again",
	 test_pinned_where_nothing_can_be_read},
	{"subjects and memory are bounded", test_bounds},
};
UNIT_SUITE(drift_service, tests)
