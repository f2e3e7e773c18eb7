// SPDX-License-Identifier: GPL-2.0-or-later
/* The line that people read of an alert: where a program runs otherwise. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/drift/drift_alerts.h"
#include "../../daemon/drift/drift_telling.h"
#include "unit.h"

#define COMMAND "pathprofctl drift --binary abcd00000000 --baseline good"

struct path {
	const char *function;
	double before, now;
};

static struct pp_drift_draft *draft_of(struct pp_drift_alert *alert, const struct path *paths,
				       size_t cnt)
{
	struct pp_drift_draft *draft = calloc(1, sizeof(*draft));

	CU_ASSERT_PTR_NOT_NULL_FATAL(draft);
	draft->alert = alert;
	draft->change = PATHPROF_ALERT_FIRED;
	draft->state = (struct pathprof_alert_state){.phase = PATHPROF_ALERT_FIRING, .value = 1};
	draft->rule = (struct pathprof_alert_rule){.metric = PATHPROF_METRIC_KL_CORRECTED,
						   .threshold = 0.2};
	draft->has_rule = draft->has_drift = true;
	draft->matched = 1;
	draft->id = (struct pathprof_build_id){
		.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 8, .bytes = {0xab, 0xcd}};
	for (size_t i = 0; i < cnt; i++)
		draft->moved[draft->moved_cnt++] = (struct pp_drift_moved){
			.term = {.p = paths[i].now, .q = paths[i].before},
			.path_id = (int64_t)(70 + i),
			.function = strdup(paths[i].function),
		};
	return draft;
}

/*
 * The line of an alert about paths that moved, where the database has this path; "": it is where
 * pathprofctl looks. The JSON has the command, which the line ends with. Freed by the caller.
 */
static char *summary_of(const struct path *paths, size_t cnt, const char *db, const char *command)
{
	struct pp_drift_common common = {.config = {.rolling_ns = 3600000000000}};
	struct pp_drift_alerts alerts = {.common = &common};
	struct pp_drift_telling telling = {.common = &common, .alerts = &alerts};
	struct pp_drift_alert alert = {.rule = (char *)"fast",
				       .binary = (char *)"/bin/program",
				       .container = (char *)"",
				       .baseline = (char *)"good"};
	struct pathprof_error error = {""};
	json_t *json;
	char *summary;

	CU_ASSERT_EQUAL(pp_config_set(&common.config, "Store", "Path", db, &error), 0);
	pp_drift_send(&telling, draft_of(&alert, paths, cnt));
	CU_ASSERT_EQUAL_FATAL(alerts.unstored_cnt, 1);
	summary = strdup(alerts.unstored[0].summary);
	json = json_loads(alert.json, 0, NULL);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "command")), command);
	json_decref(json);
	free(alert.json);
	pp_drift_free_alerts(&alerts);
	return summary;
}

static void expect(const struct path *paths, size_t cnt, const char *words)
{
	char *summary = summary_of(paths, cnt, "", COMMAND);

	if (!strstr(summary, words))
		printf("%s\n", summary);
	CU_ASSERT_PTR_NOT_NULL(strstr(summary, words));
	CU_ASSERT_PTR_NOT_NULL(strstr(summary, "; see " COMMAND));
	free(summary);
}

/* The command is of the database that has the alert, whatever its path means to a shell. */
static void expect_db(const char *db, const char *option)
{
	const struct path path = {"sort", 0.1, 0.3};
	char command[200], end[210];
	char *summary;

	snprintf(command, sizeof(command), COMMAND "%s", option);
	snprintf(end, sizeof(end), "; see %s", command);
	summary = summary_of(&path, 1, db, command);
	if (!strstr(summary, end))
		printf("%s\n", summary);
	CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(summary, end));
	CU_ASSERT_STRING_EQUAL(strstr(summary, end), end);
	free(summary);
}

static void test_database(void)
{
	setenv("STATE_DIRECTORY", "/var/lib/pathprof", 1);
	expect_db("", "");
	setenv("STATE_DIRECTORY", "/var/lib/pathprof-web", 1);
	expect_db("", " --db /var/lib/pathprof-web/profile.db");
	unsetenv("STATE_DIRECTORY");
	expect_db("/var/lib/pathprof/profile.db", "");
	expect_db("/srv/paths/web-1.db", " --db /srv/paths/web-1.db");
	expect_db("/srv/our paths/p.db", " --db '/srv/our paths/p.db'");
	expect_db("/srv/it's $HOME/p.db", " --db '/srv/it'\\''s $HOME/p.db'");
}

static void test_function_that_runs_more(void)
{
	const struct path paths[] = {{"sort", 0.1, 0.3}, {"sort", 0.05, 0.15}, {"read", 0.4, 0.1}};

	expect(paths, 3,
	       " runs differently than in baseline \"good\", since 1970-01-01 00:00:00 UTC: most "
	       "in "
	       "sort (was 15 %, now 45 % of its runs), read (was 40 %, now 10 %); kl_corrected 1 "
	       "bits, ");
}

/* The function's share is the same, so only its paths tell the change. */
static void test_function_that_runs_another_way(void)
{
	const struct path paths[] = {
		{"step", 0.001, 0.186}, {"step", 0.488, 0.301}, {"main", 0.511, 0.513}};

	expect(paths, 3, ": most in step on path 70 (was 0.1 %, now 18.6 % of its runs); kl_");
}

/* Names are cut, yet neither's share is put on the other. */
static void test_functions_that_begin_alike(void)
{
	static const char alike[] = "0123456789012345678901234567890123456789"
				    "0123456789012345678901234567890123456789";
	char first[100], second[100];
	const struct path paths[] = {{first, 0.1, 0.3}, {second, 0.4, 0.1}, {first, 0.05, 0.15}};

	snprintf(first, sizeof(first), "%s_first", alike);
	snprintf(second, sizeof(second), "%s_second", alike);
	expect(paths, 3, "9 (was 15 %, now 45 % of its runs), 0");
	expect(paths, 3, "9 (was 40 %, now 10 %); kl_");
}

/* Names are any bytes, which JSON cannot hold: the message says what it can of them. */
static void test_names_that_are_not_utf8(void)
{
	struct pp_drift_common common = {.config = {.rolling_ns = 3600000000000}};
	struct pp_drift_alerts alerts = {.common = &common};
	struct pp_drift_telling telling = {.common = &common, .alerts = &alerts};
	struct pp_drift_alert alert = {.rule = (char *)"fast",
				       .binary = (char *)"/opt/caf\xe9/bin",
				       .container = (char *)"\xff",
				       .baseline = (char *)"good"};
	const struct path path = {"na\xefve", 0.1, 0.3};
	const char *binary, *container, *function;
	json_t *json;

	pp_drift_send(&telling, draft_of(&alert, &path, 1));
	json = json_loads(alert.json, 0, NULL);
	CU_ASSERT_EQUAL_FATAL(json_unpack(json, "{s:s, s:s, s:[{s:s}]}", "binary", &binary,
					  "container", &container, "paths", "function", &function),
			      0);
	CU_ASSERT_STRING_EQUAL(binary, "/opt/caf\xef\xbf\xbd/bin");
	CU_ASSERT_STRING_EQUAL(container, "\xef\xbf\xbd");
	CU_ASSERT_STRING_EQUAL(function, "na\xef\xbf\xbdve");
	json_decref(json);
	free(alert.json);
	pp_drift_free_alerts(&alerts);
}

static const struct unit_test tests[] = {
	{"a function that runs more is told with its share", test_function_that_runs_more},
	{"of one that runs another way a path is told", test_function_that_runs_another_way},
	{"functions whose names begin alike are told apart", test_functions_that_begin_alike},
	{"the command is of the alert's database, quoted where a shell wants it", test_database},
	{"names that are not UTF-8 are told all the same", test_names_that_are_not_utf8},
};
UNIT_SUITE(drift_message, tests)
