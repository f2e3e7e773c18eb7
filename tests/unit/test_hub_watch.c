// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts and builds that a judgement leaves out count when it is written, not when it is put off;
 * and a judgement that no other can follow is told of. The child is this program again, which
 * prints a judgement; the alerts take whatever it says.
 */
#include "../../tools/hub/watch.h"
#include "test_store.h"
#include "unit.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROLE  "PATHPROF_UNIT_HUB_WATCH"
#define UNTIL 7 /* argument of `judge`: the end of the span */

static struct pathprof_store *store;

/* ---------------------------------------------------------------- the hub around it */

__attribute__((constructor)) static void be_judge(int argc, char **argv)
{
	if (!getenv(ROLE) || argc <= UNTIL)
		return;
	printf("{\"until\": %s, \"hosts_left_out\": 7, \"builds_left_out\": 3}\n", argv[UNTIL]);
	fflush(stdout);
	_exit(HUB_OK);
}

static char said[512]; /* the last note */

void hub_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
}

struct hub_ingest *hub_tenants_at(const struct hub_tenants *tenants, size_t at)
{
	return at ? NULL : (struct hub_ingest *)(uintptr_t)tenants;
}

struct pathprof_store *hub_ingest_store(const struct hub_ingest *ingest)
{
	(void)ingest;
	return store;
}

const char *hub_ingest_db(const struct hub_ingest *ingest)
{
	(void)ingest;
	return "hub.db";
}

int64_t hub_rule_span_s(const struct pp_config_alert *rule)
{
	(void)rule;
	return 300;
}

int hub_alerts_begin(struct pathprof_store *of, const struct hub_rules *rules,
		     struct hub_alert_counts *counts, struct pathprof_error *error)
{
	(void)of, (void)rules, (void)counts, (void)error;
	return 0;
}

int hub_alerts_take(struct pathprof_store *of, const struct hub_rules *rules,
		    const json_t *judgement, struct hub_alert_counts *counts,
		    struct pathprof_error *error)
{
	(void)of, (void)rules, (void)judgement, (void)error;
	counts->fired++;
	counts->left_out++;
	return 0;
}

/* ---------------------------------------------------------------- one judgement */

static struct hub_watch_counts judge_once(const char *sql)
{
	static const struct hub_rules rules = {.cnt = 1};
	const char *file = world_file(unit_tmpdir(), "hub");
	struct hub_watch_counts counts = {0};
	struct hub_watch *watch = NULL;

	store = world_open(file, PATHPROF_STORE_WRITE);
	world_sqlite(file, sql);
	/* All that asks the tenants is in this file. */
	CU_ASSERT_EQUAL_FATAL(hub_watch_new(&watch, &rules, (struct hub_tenants *)&store), 0);
	setenv(ROLE, "", 1);
	while (!counts.judged && !counts.put_off && !counts.failed) {
		struct pollfd fd = {.fd = hub_watch_fd(watch), .events = POLLIN};

		poll(&fd, 1, 1000);
		hub_watch_turn(watch);
		counts = *hub_watch_counts(watch);
	}
	unsetenv(ROLE);
	hub_watch_free(watch);
	pathprof_store_free(store);
	return counts;
}

static void test_written(void)
{
	const struct hub_watch_counts counts = judge_once("SELECT 1");

	CU_ASSERT_EQUAL(counts.judged, 1);
	CU_ASSERT_EQUAL(counts.hosts_left_out, 7);
	CU_ASSERT_EQUAL(counts.builds_left_out, 3);
	CU_ASSERT_EQUAL(counts.alerts.left_out, 1);
}

/* The alerts are told by then, and are not told again. */
static void test_put_off(void)
{
	const struct hub_watch_counts counts =
		judge_once("DROP TABLE daemon_status; CREATE TABLE daemon_status("
			   "id INTEGER PRIMARY KEY, time_ns INTEGER, json TEXT CHECK (json = ''))");

	CU_ASSERT_EQUAL(counts.put_off, 1);
	CU_ASSERT_EQUAL(counts.judged, 0);
	CU_ASSERT_EQUAL(counts.hosts_left_out, 0);
	CU_ASSERT_EQUAL(counts.builds_left_out, 0);
	CU_ASSERT_EQUAL(counts.alerts.left_out, 0);
	CU_ASSERT_EQUAL(counts.alerts.fired, 1);
}

/* A clock that was ahead, and was set right. */
static void test_ahead(void)
{
	static const struct hub_rules rules = {.cnt = 1};
	const char *file = world_file(unit_tmpdir(), "ahead");
	struct hub_watch *watch = NULL;

	store = world_open(file, PATHPROF_STORE_WRITE);
	world_sqlite(file, "INSERT INTO daemon_status VALUES (1, 0, "
			   "'{\"spans\": {\"300\": {\"until\": 9999999900}}}')");
	CU_ASSERT_EQUAL_FATAL(hub_watch_new(&watch, &rules, (struct hub_tenants *)&store), 0);
	said[0] = '\0';
	hub_watch_turn(watch);
	CU_ASSERT_EQUAL(hub_watch_fd(watch), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "nothing is judged until @9999999900;"));
	hub_watch_free(watch);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"what a judgement left out counts once it is written", test_written},
	{"a judgement that is put off leaves nothing out", test_put_off},
	{"a judgement of the future, after which nothing is judged, is told of", test_ahead},
};
UNIT_SUITE(hub_watch, tests)
