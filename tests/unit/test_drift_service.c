// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift in the service, on a made-up program whose ways are known: the whole of it window by
 * window, with a store and no clock.
 */
#include "unit.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/drift/drift_state.h"
#include "pathprof/events.h"

static uint64_t state;

static uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

/* ---------------------------------------------------------------- a made-up program */

#define WAYS    40
#define SAMPLES 6000
#define WINDOW  INT64_C(60000000000)

struct bench {
	struct pp_config config;
	struct pathprof_store *store;
	struct pathprof_profile profile;
	struct pp_drift *drift;
	sd_event *event;
	int64_t now_ns;
	uint32_t horizon; /* of the windows to come */
	char dir[160];
};

static struct pathprof_build_id build(uint8_t number)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memset(id.bytes, number, sizeof(id.bytes));
	return id;
}

static void open_drift(struct bench *b)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pp_drift_new(&b->drift, &b->config, b->store, b->event, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	if (!b->drift)
		abort();
}

static void open_store(struct bench *b)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL_FATAL(
		pathprof_store_open(&b->store, b->config.db_path, PATHPROF_STORE_WRITE, &error), 0);
}

/* Windows end now: at a start those of the last hour are looked for. */
static void bench_init(struct bench *b)
{
	struct timespec now;

	memset(b, 0, sizeof(*b));
	state = 3;
	pp_config_defaults(&b->config);
	b->config.tell_journal = 0;
	b->config.alerts[1].enabled = 0;
	snprintf(b->dir, sizeof(b->dir), "%s", unit_tmpdir());
	snprintf(b->config.db_path, sizeof(b->config.db_path), "%s/p.db", b->dir);
	clock_gettime(CLOCK_REALTIME, &now);
	b->now_ns = ((int64_t)now.tv_sec - 1800) * 1000000000;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&b->profile, 8 << 20), 0);
	CU_ASSERT(sd_event_new(&b->event) >= 0);
	open_store(b);
	open_drift(b);
}

static void bench_release(struct bench *b)
{
	pp_drift_free(b->drift);
	pathprof_store_free(b->store);
	pathprof_profile_release(&b->profile);
	sd_event_unref(b->event);
}

static void restart(struct bench *b)
{
	pp_drift_free(b->drift);
	pathprof_store_free(b->store);
	b->drift = NULL;
	open_store(b);
	open_drift(b);
}

static void begin_window(struct bench *b)
{
	pathprof_profile_clear(&b->profile);
	b->profile.begin_ns = b->now_ns;
	b->now_ns += WINDOW;
	b->profile.end_ns = b->now_ns;
	b->profile.source = PATHPROF_SOURCE_STEP;
	b->profile.basis = PATHPROF_BASIS_TIME;
	b->profile.horizon = b->horizon;
	b->profile.totals.bursts = b->profile.totals.paths = SAMPLES;
}

/* shift moves the program's taste: 0 is how it always was. */
static void run_program(struct bench *b, uint8_t number, const char *path, const char *where,
			uint32_t shift, uint32_t samples)
{
	const struct pathprof_build_id id = build(number);
	char comm[] = "program", container[32];
	struct pathprof_process process = {
		.pid = number, .start_time = number, .comm = comm, .container = container};
	struct pathprof_path_count path_count = {.length = 1, .samples = 1, .weight = 1};

	snprintf(container, sizeof(container), "%s", where);
	path_count.binary = process.binary = pathprof_profile_binary(&b->profile, &id, path);
	process.pid += (uint32_t)strlen(where) * 1000;
	path_count.process = pathprof_profile_process(&b->profile, &process);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t a = draw(WAYS), c = draw(WAYS);

		path_count.start = 0x1000 + 16 * (((a < c ? a : c) + shift) % WAYS);
		pathprof_profile_add_path(&b->profile, &path_count);
	}
}

static void end_window(struct bench *b)
{
	struct pathprof_error error = {""};
	int64_t id = 0;

	CU_ASSERT_EQUAL(pathprof_store_add_window(b->store, &b->profile, &id, &error), 0);
	pp_drift_window(b->drift, &b->profile, id);
}

static void window(struct bench *b, uint32_t shift)
{
	begin_window(b);
	run_program(b, 1, "/bin/program", "", shift, SAMPLES);
	end_window(b);
}

/* Until nothing is being read and no message waits. */
static void settle(struct bench *b)
{
	while (b->drift->telling.drafts || pp_names_busy(b->drift->naming.names))
		CU_ASSERT_FATAL(sd_event_run(b->event, UINT64_MAX) >= 0);
}

static void windows(struct bench *b, uint32_t shift, int cnt)
{
	for (int i = 0; i < cnt; i++)
		window(b, shift);
}

static uint32_t phase_of(const struct bench *b, const char *rule, const char *binary)
{
	for (uint32_t i = 0; i < b->drift->alerts.cnt; i++)
		if (!strcmp(b->drift->alerts.list[i]->rule, rule) &&
		    !strcmp(b->drift->alerts.list[i]->binary, binary))
			return b->drift->alerts.list[i]->state.phase;
	return UINT32_MAX;
}

static uint32_t fast_phase(const struct bench *b)
{
	return phase_of(b, "fast", "/bin/program");
}

struct row_sum {
	uint32_t cnt, over_cnt;
	char baseline[40];
};

static int add_row(void *context, const struct pathprof_drift_row *row)
{
	struct row_sum *sum = context;

	sum->cnt++;
	sum->over_cnt += row->kl_low_bits > 0.01;
	snprintf(sum->baseline, sizeof(sum->baseline), "%s", row->baseline);
	return 0;
}

static struct row_sum rows_of(const struct bench *b, const char *baseline)
{
	struct row_sum sum = {0};

	CU_ASSERT_EQUAL(pathprof_store_drift(b->store, NULL, baseline, add_row, &sum, NULL), 0);
	return sum;
}

/* ---------------------------------------------------------------- the whole of it */

static void test_fires_and_resolves(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 10);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").over_cnt, 0);
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").cnt, 8);
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
	CU_ASSERT_EQUAL(rows_of(&b, "rolling").cnt, 10);
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

static void windows_without_program(struct bench *b, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		begin_window(b);
		end_window(b);
	}
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

/* ---------------------------------------------------------------- what is told */

static char told[4096];
static char told_summary[512];
static char told_rule[40];
static bool told_fired;
static uint32_t told_cnt;

static int hear(void *context, const struct pathprof_message_row *row)
{
	snprintf(told, sizeof(told), "%s", row->json);
	snprintf(told_summary, sizeof(told_summary), "%s", row->summary);
	snprintf(told_rule, sizeof(told_rule), "%s", row->rule);
	CU_ASSERT_STRING_EQUAL(row->metric,
			       strstr(row->summary, "not measured") ? "" : "kl_corrected");
	told_fired = row->fired;
	told_cnt++;
	return 0;
}

/* All that is in the store to be told, the last of it in told. */
static uint32_t hear_all(struct bench *b)
{
	told_cnt = 0;
	CU_ASSERT_EQUAL(pathprof_store_messages(b->store, 0, hear, NULL, NULL), 0);
	return told_cnt;
}

static bool told_like(const char *pattern)
{
	return fnmatch(pattern, told_summary, 0) == 0;
}

static void count_news(void *context)
{
	++*(uint32_t *)context;
}

static void test_message(void)
{
	struct bench b;
	uint32_t news = 0;
	char *metrics = NULL;
	size_t size = 0;
	FILE *to;

	bench_init(&b);
	pp_drift_on_news(b.drift, count_news, &news);
	windows(&b, 0, 8);
	CU_ASSERT_EQUAL(news, 0);
	windows(&b, 3, 2);
	settle(&b);
	CU_ASSERT_EQUAL(hear_all(&b), 1);
	CU_ASSERT_EQUAL(news, 1);
	CU_ASSERT(told_fired);
	CU_ASSERT_STRING_EQUAL(told_rule, "fast");
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"status\":\"firing\",\"rule\":\"fast\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"paths\":[{\"path_id\":"));
	CU_ASSERT_PTR_NULL(strstr(told, "\"path_id\":null"));
	CU_ASSERT(told_like("/bin/program on * runs differently than in its last 1h before, since"
			    " 20*-*:* UTC: most in program+0x1* (was * %, now * % of its runs)*;"
			    " kl_corrected *.* bits, limit 0.01 (rule \"fast\"), * samples; see"
			    " pathprofctl drift --binary 0101*"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"start\":\"0x1"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"command\":\"pathprofctl drift --binary 0101"));
	CU_ASSERT_PTR_NULL(strstr(told, "\"start\":null"));
	CU_ASSERT_PTR_NULL(strstr(told, "\":-"));
	to = open_memstream(&metrics, &size);
	pp_drift_metrics(b.drift, to);
	fclose(to);
	CU_ASSERT_PTR_NOT_NULL(strstr(metrics, "pathprof_alerts{phase=\"firing\"} 1"));
	CU_ASSERT_PTR_NOT_NULL(strstr(metrics, "pathprof_drift_kl_corrected{binary=\"/bin/"));
	free(metrics);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(hear_all(&b), 2);
	CU_ASSERT_EQUAL(news, 2);
	CU_ASSERT_FALSE(told_fired);
	CU_ASSERT(told_like("/bin/program on * runs again as in its last 1h before: the alert of"
			    " rule \"fast\" that fired at 20*-*:* UTC is over at 20*-*:* UTC;"
			    " kl_corrected * bits, limit 0.01 (rule \"fast\")"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"status\":\"resolved\""));
	CU_ASSERT_PTR_NULL(strstr(told, "\"ends_at\":null"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"reason\":\"as before\""));
	CU_ASSERT_PTR_NULL(strstr(told, "\":-"));
	bench_release(&b);
}

/* A change that lasts as long as the baseline reaches back is no return to how it was. */
static void test_message_of_a_new_normal(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	windows(&b, 3, 70);
	settle(&b);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(hear_all(&b), 2);
	CU_ASSERT_FALSE(told_fired);
	CU_ASSERT(told_like("/bin/program on * still runs differently, which counts as normal from"
			    " now on, since it has lasted for 1h: the alert of rule \"fast\" that"
			    " fired at 20* UTC is closed"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"reason\":\"new normal\""));
	bench_release(&b);
}

/* Two rules that see one change are one message, and one that it is over: of the rule that was
 * told. */
static void test_one_cause_one_message(void)
{
	char first[sizeof(told_rule)];
	struct bench b;

	bench_init(&b);
	b.config.alerts[1].enabled = 1;
	CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, NULL), 0);
	windows(&b, 0, 8);
	windows(&b, 3, 6);
	settle(&b);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(phase_of(&b, "slow", "/bin/program"), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(hear_all(&b), 1);
	snprintf(first, sizeof(first), "%s", told_rule);
	/* what was told is known after a start, too */
	restart(&b);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(phase_of(&b, "slow", "/bin/program"), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(hear_all(&b), 1);
	windows(&b, 0, 6);
	CU_ASSERT_EQUAL(phase_of(&b, "slow", "/bin/program"), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(hear_all(&b), 2);
	CU_ASSERT_FALSE(told_fired);
	CU_ASSERT_STRING_EQUAL(told_rule, first);
	bench_release(&b);
}

static double told_value(void)
{
	const char *at = strstr(told, "\"value\":");

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	return strtod(at + strlen("\"value\":"), NULL);
}

/* The rule that was told of has its own figure, whatever the one that resolves last goes by. */
static void test_one_cause_two_metrics(void)
{
	struct bench b;

	bench_init(&b);
	b.config.alerts[1].enabled = 1;
	b.config.alerts[1].metric = PATHPROF_METRIC_OVERLAP;
	b.config.alerts[1].threshold_ppm = 920000;
	b.config.alerts[1].hysteresis_ppm = 20000;
	CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, NULL), 0);
	windows(&b, 0, 8);
	windows(&b, 3, 6);
	settle(&b);
	CU_ASSERT_EQUAL(phase_of(&b, "slow", "/bin/program"), PATHPROF_ALERT_FIRING);
	CU_ASSERT_EQUAL(hear_all(&b), 1);
	CU_ASSERT_STRING_EQUAL(told_rule, "fast");
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_QUIET);
	CU_ASSERT_EQUAL(phase_of(&b, "slow", "/bin/program"), PATHPROF_ALERT_FIRING);
	windows(&b, 0, 6);
	CU_ASSERT_EQUAL(hear_all(&b), 2);
	CU_ASSERT_FALSE(told_fired);
	CU_ASSERT(told_like("* is over at *; kl_corrected * bits, limit 0.01 (rule \"fast\")"));
	CU_ASSERT(told_value() < 0.01);
	bench_release(&b);
}

/* Nobody knows whether what was not measured runs as before. */
static void test_message_of_what_is_gone(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	windows(&b, 3, 2);
	windows_without_program(&b, 62);
	settle(&b);
	CU_ASSERT_EQUAL(hear_all(&b), 2);
	CU_ASSERT_FALSE(told_fired);
	CU_ASSERT(told_like(
		"/bin/program on * was not measured for 1h: the alert of rule \"fast\" that"
		" fired at 20* UTC is closed, and nobody knows whether it runs as"
		" before"));
	bench_release(&b);
}

/* A binary that runs too little for a figure was seen all the time. */
static void test_message_of_what_runs_little(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	windows(&b, 3, 2);
	for (int i = 0; i < 66; i++) {
		begin_window(&b);
		run_program(&b, 1, "/bin/program", "", 3, 10);
		end_window(&b);
	}
	settle(&b);
	CU_ASSERT_EQUAL(hear_all(&b), 2);
	CU_ASSERT(told_like("/bin/program on * was not measured for 1h: *"));
	bench_release(&b);
}

static const char *baseline_of(const struct bench *b, const char *rule)
{
	for (uint32_t i = 0; i < b->drift->alerts.cnt; i++)
		if (!strcmp(b->drift->alerts.list[i]->rule, rule))
			return b->drift->alerts.list[i]->baseline;
	return "";
}

/* An alert that fires keeps its state, and names the baseline that it is held against. */
static void test_rule_with_another_baseline(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	windows(&b, 3, 2);
	settle(&b);
	CU_ASSERT_STRING_EQUAL(baseline_of(&b, "fast"), PATHPROF_BASELINE_ROLLING);
	strcpy(b.config.alerts[0].baseline, "good");
	CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, NULL), 0);
	CU_ASSERT_STRING_EQUAL(baseline_of(&b, "fast"), "good");
	windows(&b, 3, 1);
	restart(&b);
	CU_ASSERT_STRING_EQUAL(baseline_of(&b, "fast"), "good");
	CU_ASSERT_EQUAL(fast_phase(&b), PATHPROF_ALERT_FIRING);
	bench_release(&b);
}

/* ---------------------------------------------------------------- two builds */

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

/* As the child would have named them, one function changed; from the store, as after a start. */
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
	{"an alert fires in its window and resolves when the ways come back",
	 test_fires_and_resolves},
	{"a restart in mid-pending goes on where it was", test_restart_in_mid_pending},
	{"a clock that is set rings nothing and hides nothing", test_clock_set},
	{"a clock that is set moves when a baseline was renewed", test_clock_set_after_renewal},
	{"states ahead of a clock that was set back come along", test_restart_in_the_past},
	{"windows ahead of a clock that was set back come along", test_restart_behind_all_windows},
	{"windows after a clock was set back are the newest", test_restart_behind_some_windows},
	{"a restart makes the same baseline again", test_restart_restores_baseline},
	{"an alert of what runs no more resolves", test_what_is_gone_resolves},
	{"containers and builds are kept apart", test_containers_and_builds_apart},
	{"a build that cannot be read in one container is tried in another",
	 test_naming_takes_turns},
	{"pinned baselines come, are judged by and go", test_pinned},
	{"baselines that cannot be read now are looked for again",
	 test_pinned_where_nothing_can_be_read},
	{"subjects and memory are bounded", test_bounds},
	{"what is told names paths", test_message},
	{"what is told of a program that is gone", test_message_of_what_is_gone},
	{"what runs too little to be measured is not told as gone",
	 test_message_of_what_runs_little},
	{"an alert names the baseline that its rule has", test_rule_with_another_baseline},
	{"a change that stays is told as a new normal", test_message_of_a_new_normal},
	{"two rules of one cause are one message", test_one_cause_one_message},
	{"a rule that was told of is over by its own figure", test_one_cause_two_metrics},
	{"a new build is no drift, and is held against the one before", test_new_build},
	{"a build of long ago comes out of the store", test_old_build_from_the_store},
	{"a build that a start read back in part comes out of the store",
	 test_old_build_read_back_in_part},
	{"Previous=no compares no builds", test_previous_switched_off},
	{"windows of another kind are no drift, and no baseline", test_another_kind},
	{"a pinned baseline of another build is compared by names", test_pinned_of_another_build},
};
UNIT_SUITE(drift_service, tests)
