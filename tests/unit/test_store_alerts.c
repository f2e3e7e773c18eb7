// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * States of alerts and the messages about them in the store: read as they were written, together or
 * not at all, bounded, and carried over from databases that had no messages.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATHS 80

/* ---------------------------------------------------------------- alerts */

struct alerts_met {
	uint32_t cnt;
	char keys[8][64];
	struct pathprof_alert_state states[8];
};

static int meet_alert(void *context, const struct pathprof_alert_row *row)
{
	struct alerts_met *met = context;

	if (met->cnt < 8) {
		snprintf(met->keys[met->cnt], sizeof(met->keys[0]), "%s %s %s %s %s", row->rule,
			 row->binary, row->container, row->baseline, row->json);
		met->states[met->cnt] = row->state;
	}
	met->cnt++;
	return 0;
}

static struct alerts_met alerts_of(struct pathprof_store *store)
{
	struct alerts_met met = {0};
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_store_alerts(store, meet_alert, &met, &error), 0);
	return met;
}

static const struct pathprof_alert_state pending = {
	.phase = PATHPROF_ALERT_PENDING, .streak_cnt = 1, .since_ns = 5, .seen_ns = 5, .value = 2};
static const struct pathprof_alert_state firing = {
	.phase = PATHPROF_ALERT_FIRING, .since_ns = 3, .fired_ns = 3, .seen_ns = 9, .value = 0.5};
static const struct pathprof_alert_state resolved = {
	.fired_ns = 3, .resolved_ns = 7, .since_ns = 7, .seen_ns = 9, .value = 0.25};

static bool same_state(const struct pathprof_alert_state *a, const struct pathprof_alert_state *b)
{
	return a->phase == b->phase && a->streak_cnt == b->streak_cnt &&
	       a->since_ns == b->since_ns && a->fired_ns == b->fired_ns &&
	       a->resolved_ns == b->resolved_ns && a->seen_ns == b->seen_ns && a->value == b->value;
}

static void test_alerts(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_alert_row rows[] = {
		{"slow", "/bin/a", "", "rolling", resolved, "{\"a\":1}"},
		{"fast", "/bin/a", "", "rolling", pending, ""},
		{"fast", "/bin/b", "box", "rolling", firing, "{}"},
		{"fast", "/bin/c", "", "rolling", {.seen_ns = 4}, ""},
	};
	struct pathprof_alert_state bad = firing;
	struct pathprof_error error = {""};
	struct alerts_met met;

	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, rows, 4, NULL, 0, &error), 0);
	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_WRITE);
	met = alerts_of(store);
	CU_ASSERT_EQUAL_FATAL(met.cnt, 3);
	CU_ASSERT_STRING_EQUAL(met.keys[0], "fast /bin/b box rolling {}");
	CU_ASSERT_STRING_EQUAL(met.keys[1], "fast /bin/a  rolling ");
	CU_ASSERT_STRING_EQUAL(met.keys[2], "slow /bin/a  rolling {\"a\":1}");
	CU_ASSERT(same_state(&met.states[0], &firing));
	CU_ASSERT(same_state(&met.states[1], &pending));
	CU_ASSERT(same_state(&met.states[2], &resolved));
	/* calmed again: as if it had never been */
	rows[1].state = (struct pathprof_alert_state){.seen_ns = 6, .since_ns = 6};
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, rows + 1, 1, NULL, 0, &error), 0);
	CU_ASSERT_EQUAL(alerts_of(store).cnt, 2);
	bad.fired_ns = 0;
	rows[2].state = bad;
	rows[0].json = "changed";
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, rows, 3, NULL, 0, &error), -EINVAL);
	met = alerts_of(store);
	CU_ASSERT_STRING_EQUAL(met.keys[1], "slow /bin/a  rolling {\"a\":1}");
	pathprof_store_free(store);
	/* a state that cannot be is passed over, the others are not */
	world_sqlite(file, "UPDATE alerts SET fired_ns = 0 WHERE phase = 2");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(alerts_of(store).cnt, 1);
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- messages */

#define MESSAGES_KEPT 1024

struct messages_met {
	uint32_t cnt;
	int64_t first, last, sum;
	char text[256]; /* of the last one */
};

static int meet_message(void *context, const struct pathprof_message_row *row)
{
	struct messages_met *met = context;

	if (!met->cnt++)
		met->first = row->id;
	met->last = row->id;
	met->sum += row->id;
	snprintf(met->text, sizeof(met->text), "%d %s %s %s %s %s %g %g %d %d %s %s", row->fired,
		 row->rule, row->binary, row->container, row->baseline, row->metric, row->value,
		 row->threshold, (int)row->begin_ns, (int)row->end_ns, row->summary, row->json);
	return 0;
}

static struct messages_met messages_behind(struct pathprof_store *store, int64_t after)
{
	struct messages_met met = {0};

	CU_ASSERT_EQUAL(pathprof_store_messages(store, after, meet_message, &met, NULL), 0);
	return met;
}

static struct messages_met firing_in(struct pathprof_store *store)
{
	struct messages_met met = {0};

	CU_ASSERT_EQUAL(pathprof_store_firing(store, meet_message, &met, NULL), 0);
	return met;
}

static int64_t newest_in(struct pathprof_store *store, char *ret_identity)
{
	int64_t id = -1;

	CU_ASSERT_EQUAL(pathprof_store_newest_message(store, &id, ret_identity, NULL), 0);
	CU_ASSERT_EQUAL(strspn(ret_identity, "0123456789abcdef"), 32);
	return id;
}

static struct pathprof_message_row message_of(const char *binary, bool fired)
{
	return (struct pathprof_message_row){.time_ns = 4,
					     .fired = fired,
					     .rule = "fast",
					     .binary = binary,
					     .container = "box",
					     .baseline = "rolling",
					     .metric = "kl",
					     .value = 0.5,
					     .threshold = 0.25,
					     .begin_ns = 3,
					     .end_ns = fired ? 0 : 7,
					     .summary = "otherwise",
					     .json = "{}"};
}

static void test_messages(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_alert_row state = {"fast", "/bin/a", "box", "rolling", firing, "{}"};
	struct pathprof_message_row rows[] = {message_of("/bin/a", true),
					      message_of("/bin/b", true)};
	char identity[PATHPROF_STORE_IDENTITY_LEN], again[PATHPROF_STORE_IDENTITY_LEN];
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(newest_in(store, identity), 0);
	CU_ASSERT_EQUAL(messages_behind(store, 0).cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, &state, 1, rows, 2, &error), 0);
	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(newest_in(store, again), 2);
	CU_ASSERT_STRING_EQUAL(identity, again);
	CU_ASSERT_EQUAL(messages_behind(store, 0).sum, 3);
	CU_ASSERT_EQUAL(messages_behind(store, 1).first, 2);
	CU_ASSERT_STRING_EQUAL(messages_behind(store, 0).text,
			       "1 fast /bin/b box rolling kl 0.5 0.25 3 0 otherwise {}");
	/* what fires is what the states say */
	CU_ASSERT_EQUAL(firing_in(store).cnt, 1);
	CU_ASSERT_EQUAL(firing_in(store).last, 1);
	pathprof_store_free(store);

	/* both or neither: the message cannot be, so the state stays; and the other way round */
	store = world_open(file, PATHPROF_STORE_WRITE);
	state.state = resolved;
	rows[0].value = NAN;
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, &state, 1, rows, 1, &error), -EINVAL);
	CU_ASSERT_EQUAL(firing_in(store).cnt, 1);
	state.state = firing;
	state.state.fired_ns = 0;
	rows[0] = message_of("/bin/a", false);
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, &state, 1, rows, 1, &error), -EINVAL);
	CU_ASSERT_EQUAL(newest_in(store, again), 2);
	state.state = resolved;
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, &state, 1, rows, 1, &error), 0);
	CU_ASSERT_EQUAL(newest_in(store, again), 3);
	CU_ASSERT_EQUAL(firing_in(store).cnt, 0);
	CU_ASSERT_STRING_EQUAL(messages_behind(store, 2).text,
			       "0 fast /bin/a box rolling kl 0.5 0.25 3 7 otherwise {}");
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
	/* one that cannot be is passed over */
	world_sqlite(file, "PRAGMA ignore_check_constraints=ON; UPDATE messages SET fired = 7 WHERE"
			   " id = 2");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(messages_behind(store, 0).sum, 4);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	pathprof_store_free(store);
	/* what a reader passes over is told by the check as well */
	world_sqlite(file, "UPDATE messages SET fired = 0, begin_ns = -1 WHERE id = 2");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(messages_behind(store, 0).sum, 4);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	pathprof_store_free(store);
}

/* The newest are kept, and of the older ones what says that an alert fires; ids go on. */
static void test_messages_are_bounded(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_alert_row state = {"fast", "/bin/a", "box", "rolling", firing, "{}"};
	static struct pathprof_message_row rows[2 * MESSAGES_KEPT];
	char identity[PATHPROF_STORE_IDENTITY_LEN];
	struct pathprof_error error = {""};
	uint64_t removed;

	rows[0] = message_of("/bin/a", true);
	for (size_t i = 1; i < 2 * MESSAGES_KEPT; i++)
		rows[i] = message_of("/bin/b", i % 2);
	CU_ASSERT_EQUAL(
		pathprof_store_set_alerts(store, &state, 1, rows, 2 * MESSAGES_KEPT, &error), 0);
	CU_ASSERT_EQUAL(messages_behind(store, 0).cnt, MESSAGES_KEPT + 1);
	CU_ASSERT_EQUAL(messages_behind(store, 0).first, 1);
	CU_ASSERT_EQUAL(messages_behind(store, 1).first, MESSAGES_KEPT + 1);
	CU_ASSERT_EQUAL(firing_in(store).last, 1);
	/* all of it is old: what fires stays */
	world_fill(store, 0, 2, PATHS);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &(struct pathprof_retention){.max_age_ns = 1},
					      &removed, &error),
			0);
	CU_ASSERT_EQUAL(messages_behind(store, 0).sum, 1);
	CU_ASSERT_EQUAL(newest_in(store, identity), 2 * MESSAGES_KEPT);
	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, NULL, 0, rows, 1, &error), 0);
	CU_ASSERT_EQUAL(messages_behind(store, 1).first, 2 * MESSAGES_KEPT + 1);
	pathprof_store_free(store);
}

/* An alert that fired before there were messages is among what fires, in its own words. */
static void test_messages_of_before(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_alert_row rows[] = {
		{"fast", "/bin/a", "box", "rolling", firing,
		 "{\"metric\":\"kl\",\"threshold\":0.25}"},
		{"odd", "/bin/b", "", "rolling", firing, "no JSON"},
		{"slow", "/bin/c", "", "rolling", resolved, "{}"},
	};
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_store_set_alerts(store, rows, 3, NULL, 0, &error), 0);
	pathprof_store_free(store);
	world_sqlite(file, WORLD_WITHOUT_WEIGHED
		     "DROP TABLE messages; DELETE FROM meta WHERE name = 'identity';"
		     " PRAGMA user_version=5");
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(firing_in(store).sum, 3);
	CU_ASSERT_EQUAL(messages_behind(store, 0).cnt, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(firing_in(store).text, "(odd) no JSON"));
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM messages WHERE metric = 'kl' AND"
					   " threshold = 0.25 AND begin_ns = 3"),
			1);
}

static const struct unit_test tests[] = {
	{"alerts' states outlive the store's closing", test_alerts},
	{"messages come and go with the states they are of", test_messages},
	{"messages are bounded, but for what fires", test_messages_are_bounded},
	{"alerts that fired before there were messages have theirs", test_messages_of_before},
};
UNIT_SUITE(store_alerts, tests)
