// SPDX-License-Identifier: GPL-2.0-or-later
/* Alerts of drift in the service about a made-up program: paths, baselines, one cause once. */
#include "drift_bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void run_new_code(struct bench *b, uint32_t samples)
{
	const struct pathprof_build_id id = build(1);
	char comm[] = "program", container[] = "";
	struct pathprof_process process = {
		.pid = 1, .start_time = 1, .comm = comm, .container = container};
	struct pathprof_path_count count = {
		.start = 0x9000, .length = 1, .samples = 1, .weight = 1};

	count.binary = process.binary = pathprof_profile_binary(&b->profile, &id, "/bin/program");
	count.process = pathprof_profile_process(&b->profile, &process);
	for (uint32_t i = 0; i < samples; i++)
		pathprof_profile_add_path(&b->profile, &count);
}

/* The share that smoothing lends to a path is none that it had. */
static void test_message_of_new_code(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 8);
	for (int i = 0; i < 2; i++) {
		begin_window(&b);
		run_program(&b, 1, "/bin/program", "", 0, SAMPLES);
		run_new_code(&b, SAMPLES);
		end_window(&b);
	}
	settle(&b);
	CU_ASSERT_EQUAL(hear_all(&b), 1);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(told, "\"start\":\"0x9000\",\"share\":0.5,\"baseline_share\":0.0,"));
	CU_ASSERT(told_like("*: most in program+0x9000 (was 0 %, now 50 % of its runs)*"));
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

/* A program that was not measured may or may not run as before. */
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

/* The log is the only place that tells that the rule judges nothing. */
static void test_rule_whose_baseline_is_not_there(void)
{
	struct bench b;

	bench_init(&b);
	windows(&b, 0, 1);
	CU_ASSERT_FALSE(b.drift->alerts.rules[0].blind);
	strcpy(b.config.alerts[0].baseline, "good");
	CU_ASSERT_EQUAL(pp_drift_configure(b.drift, &b.config, NULL), 0);
	windows(&b, 0, 1);
	CU_ASSERT(b.drift->alerts.rules[0].blind);
	bench_release(&b);
}

/* ---------------------------------------------------------------- alerts that are over */

#define OVER_CNT (PP_DRIFT_OVER_MAX + 10u)
#define DAY_NS   INT64_C(86400000000000)

struct over {
	uint32_t cnt;
	int64_t oldest_ns;
};

static int take_over(void *context, const struct pathprof_alert_row *row)
{
	struct over *over = context;

	if (!over->cnt++ || row->state.resolved_ns < over->oldest_ns)
		over->oldest_ns = row->state.resolved_ns;
	return 0;
}

/* Each container fired once, some days ago, and never came back. */
static void test_over_and_gone(void)
{
	struct pathprof_alert_row rows[OVER_CNT];
	char containers[OVER_CNT][16];
	struct pathprof_error error = {""};
	struct over over = {0};
	struct bench b;
	int64_t over_ns;

	bench_init(&b);
	over_ns = b.now_ns - DAY_NS;
	for (uint32_t i = 0; i < OVER_CNT; i++) {
		snprintf(containers[i], sizeof(containers[i]), "job%u", i);
		rows[i] = (struct pathprof_alert_row){"fast",
						      "/bin/x",
						      containers[i],
						      "rolling",
						      .state = {.fired_ns = over_ns + i,
								.resolved_ns = over_ns + i + 1,
								.since_ns = over_ns + i + 1,
								.seen_ns = over_ns + i + 1},
						      .json = "{}"};
	}
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(b.store, rows, OVER_CNT, NULL, 0, &error), 0);
	restart(&b);
	windows(&b, 0, 2);
	CU_ASSERT_EQUAL(pathprof_store_alerts(b.store, take_over, &over, &error), 0);
	CU_ASSERT_EQUAL(over.cnt, PP_DRIFT_OVER_MAX);
	CU_ASSERT_EQUAL(over.oldest_ns, rows[10].state.resolved_ns);
	bench_release(&b);
}

static const struct unit_test tests[] = {
	{"what is told names paths", test_message},
	{"code that never ran before is told with a share of 0", test_message_of_new_code},
	{"what is told of a program that is gone", test_message_of_what_is_gone},
	{"what runs too little to be measured is not told as gone",
	 test_message_of_what_runs_little},
	{"an alert names the baseline that its rule has", test_rule_with_another_baseline},
	{"a rule whose baseline is not there is told of", test_rule_whose_baseline_is_not_there},
	{"a change that stays is told as a new normal", test_message_of_a_new_normal},
	{"two rules of one cause are one message", test_one_cause_one_message},
	{"a rule that was told of is over by its own figure", test_one_cause_two_metrics},
	{"of alerts that are over the newest are kept", test_over_and_gone},
};
UNIT_SUITE(drift_told, tests)
