// SPDX-License-Identifier: GPL-2.0-or-later
/* Judging by a child, span by span: see watch.h. */
#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/plural.h"
#include "child.h"
#include "judge.h"
#include "judged.h"
#include "pause.h"

/* A span is judged this long after its end, since hosts send a slot within the next one. */
#define GRACE_S    (PATHPROF_PARCEL_SLOT_S + 60)
#define SPANS_BACK 4 /* the most spans judged after an outage */
#define CHILD_NS   (180 * PP_NSEC_PER_SEC)
#define ANSWER_MAX (16u << 20)
#define LOOK_NS    (5 * PP_NSEC_PER_SEC) /* between looks for spans that are due */

struct hub_watch {
	const struct hub_rules *rules;
	struct hub_tenants *tenants;
	struct hub_watch_counts counts;
	uint64_t looked_ns;
	size_t next;      /* tenant whose turn it is */
	size_t begun_cnt; /* tenants whose alerts were held against the rules */
	struct hub_pause pauses[HUB_TENANTS_MAX];

	struct hub_child child;
	struct hub_ingest *ingest; /* the tenant that is judged */
	struct hub_pause *pause;   /* the same */
	int64_t since_s, until_s;
	uint64_t skip_cnt; /* spans before it that are skipped */
	int64_t ahead_s;   /* the latest end of a judgement in the future that was said */
};

/* ---------------------------------------------------------------- what was judged
 *
 * In the database's status: see judge.h.
 */

static void key_of(int64_t span_s, char key[24])
{
	snprintf(key, 24, "%" PRId64, span_s);
}

/* *ret_until_s 0: nothing was judged. */
static int judged_until(struct pathprof_store *store, int64_t span_s, int64_t *ret_until_s,
			struct pathprof_error *error)
{
	json_t *status;
	char key[24];
	int r = hub_judged_read(store, &status, error);

	if (r < 0)
		return r;
	key_of(span_s, key);
	*ret_until_s = json_integer_value(json_object_get(
		json_object_get(json_object_get(status, HUB_JUDGE_SPANS), key), "until"));
	json_decref(status);
	return 0;
}

/* Writes what the next judgement needs of this one; its findings are in the alerts. */
static int write_judged(struct pathprof_store *store, json_t *judgement, int64_t span_s,
			struct pathprof_error *error)
{
	json_t *status;
	char key[24], *text;
	int r = hub_judged_read(store, &status, error);

	if (r < 0)
		return r;
	key_of(span_s, key);
	json_object_del(judgement, "found");
	json_object_del(judgement, "judged");
	json_object_set(json_object_get(status, HUB_JUDGE_SPANS), key, judgement);
	text = json_dumps(status, JSON_COMPACT);
	json_decref(status);
	r = text ? pathprof_store_set_status(store, text, error)
		 : pathprof_fail(error, -ENOMEM, "out of memory");
	free(text);
	return r;
}

/* The span stays due, since the next try may succeed. Logged once. */
static void try_later(struct hub_watch *watch, const char *why)
{
	watch->counts.put_off++;
	if (!hub_pause_begin(watch->pause, pp_monotonic_ns()))
		return;
	hub_note("alerts: %s: what ran from @%" PRId64 " to @%" PRId64
		 " is judged again, after pauses of up to a quarter of an hour; this is said once: "
		 "%s",
		 hub_ingest_db(watch->ingest), watch->since_s, watch->until_s, why);
}

/* The span is written, so the next one is due. */
static void end_span(struct hub_watch *watch)
{
	watch->counts.skipped += watch->skip_cnt;
	hub_pause_end(watch->pause);
}

/* Writes the last judgement again, with the end of this span. */
static int write_passed(const struct hub_watch *watch, struct pathprof_error *error)
{
	struct pathprof_store *store = hub_ingest_store(watch->ingest);
	json_t *status, *span;
	char key[24];
	int r = hub_judged_read(store, &status, error);

	if (r < 0)
		return r;
	key_of(watch->until_s - watch->since_s, key);
	span = json_deep_copy(json_object_get(json_object_get(status, HUB_JUDGE_SPANS), key));
	json_decref(status);
	if (!span)
		span = json_object();
	json_object_set_new(span, "until", json_integer(watch->until_s));
	r = write_judged(store, span, watch->until_s - watch->since_s, error);
	json_decref(span);
	return r;
}

/* A span in which nothing could be judged is not tried again. */
static void pass_over(struct hub_watch *watch, const char *why)
{
	struct pathprof_error error = {""};

	if (write_passed(watch, &error) < 0) {
		try_later(watch, error.text);
		return;
	}
	watch->counts.failed++;
	hub_note("alerts: what ran from @%" PRId64 " to @%" PRId64 " is not judged: %s",
		 watch->since_s, watch->until_s, why);
	end_span(watch);
}

/* ---------------------------------------------------------------- the child */

static void choose(struct hub_watch *watch, struct hub_ingest *ingest, int64_t until_s,
		   int64_t span_s)
{
	watch->ingest = ingest;
	watch->since_s = until_s - span_s;
	watch->until_s = until_s;
}

static void begin(struct hub_watch *watch)
{
	char since[24], until[24];
	const char *const argv[] = {
		"pathprof-hub", "judge", "--db", hub_ingest_db(watch->ingest), "--since", since,
		"--until",      until,   NULL};
	int r;

	snprintf(since, sizeof(since), "%" PRId64, watch->since_s);
	snprintf(until, sizeof(until), "%" PRId64, watch->until_s);
	r = hub_child_start(&watch->child, argv);
	if (r < 0)
		try_later(watch, strerror(-r));
}

/* ---------------------------------------------------------------- what it said */

static uint64_t count_of(const json_t *object, const char *key)
{
	int64_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static void add_left_out(struct hub_watch *watch, const json_t *judgement)
{
	const uint64_t hosts = count_of(judgement, "hosts_left_out");

	watch->counts.hosts_left_out += hosts;
	watch->counts.builds_left_out += count_of(judgement, "builds_left_out");
	if (hosts)
		hub_note("alerts: %" PRIu64 " %s left out of what ran up to @%" PRId64
			 ": all are too many for one judgement",
			 hosts, pp_plural(hosts, "host is", "hosts are"), watch->until_s);
}

/* A judgement that is not written is made again, and no alert is told twice. */
static void take_answer(struct hub_watch *watch)
{
	struct pathprof_store *store = hub_ingest_store(watch->ingest);
	json_t *judgement = json_loadb(watch->child.answer, watch->child.len, 0, NULL);
	const uint64_t left_out = watch->counts.alerts.left_out;
	struct pathprof_error error = {""};
	int r;

	if (json_integer_value(json_object_get(judgement, "until")) != watch->until_s) {
		json_decref(judgement);
		pass_over(watch, "the answer is none");
		return;
	}
	r = hub_alerts_take(store, watch->rules, judgement, &watch->counts.alerts, &error);
	if (r == 0)
		r = write_judged(store, judgement, watch->until_s - watch->since_s, &error);
	if (r == 0) {
		watch->counts.judged++;
		add_left_out(watch, judgement);
		end_span(watch);
	} else {
		watch->counts.alerts.left_out = left_out;
		try_later(watch, error.text);
	}
	json_decref(judgement);
}

static void follow_child(struct hub_watch *watch)
{
	switch (hub_child_follow(&watch->child, CHILD_NS, ANSWER_MAX)) {
	case HUB_CHILD_RUNS:
		return;
	case HUB_CHILD_LATE:
		pass_over(watch, "it took too long");
		return;
	case HUB_CHILD_LONG:
		pass_over(watch, "it found more than the hub can take in");
		return;
	case HUB_CHILD_LOST:
		try_later(watch, strerror(-watch->child.error));
		return;
	case HUB_CHILD_ENDED:
		break;
	}
	if (watch->child.status == HUB_OK)
		take_answer(watch);
	else
		pass_over(watch, "judging failed");
}

/* ---------------------------------------------------------------- what is due */

/* A clock that was far ahead once would keep alerts silent for as long, and nobody would know. */
static void say_ahead(struct hub_watch *watch, int64_t until_s, int64_t now_s)
{
	if (until_s <= now_s || until_s <= watch->ahead_s)
		return;
	watch->ahead_s = until_s;
	hub_note("alerts: %s: the last judgement was made by a clock that was ahead, and nothing "
		 "is judged until @%" PRId64 "; to judge from now on, stop the hub, and delete "
		 "the rows of daemon_status and alerts",
		 hub_ingest_db(watch->ingest), until_s);
}

/* Returns true if a child was started, or its start is put off. */
static bool begin_span(struct hub_watch *watch, struct hub_ingest *ingest, int64_t span_s)
{
	int64_t now_s = pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
	int64_t end_s = (now_s - GRACE_S) / span_s * span_s;
	int64_t first_s = end_s - (SPANS_BACK - 1) * span_s, until_s;
	struct pathprof_error error = {""};

	choose(watch, ingest, end_s, span_s);
	watch->skip_cnt = 0;
	if (judged_until(hub_ingest_store(ingest), span_s, &until_s, &error) < 0) {
		try_later(watch, error.text);
		return true;
	}
	/* After a clock was set back, nothing is due until time reaches the old point again. */
	if (until_s >= end_s) {
		say_ahead(watch, until_s, now_s);
		return false;
	}
	if (until_s && until_s + span_s < first_s)
		watch->skip_cnt = (uint64_t)((first_s - until_s) / span_s - 1);
	choose(watch, ingest, until_s + span_s > first_s ? until_s + span_s : first_s, span_s);
	begin(watch);
	return true;
}

static bool is_first_of_span(const struct hub_rules *rules, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (hub_rule_span_s(&rules->list[i]) == hub_rule_span_s(&rules->list[at]))
			return false;
	return true;
}

/* Rules stay as they are while the hub runs. Each judgement does the same, where there is one. */
static void begin_tenant(struct hub_watch *watch, struct hub_ingest *ingest)
{
	struct pathprof_error error = {""};

	if (hub_alerts_begin(hub_ingest_store(ingest), watch->rules, &watch->counts.alerts,
			     &error) < 0)
		hub_note("alerts: of rules that are gone go on until the hub starts again or "
			 "judges: %s",
			 error.text);
}

/* Tenants are judged in turn, so that none waits for another's many spans. */
static void look(struct hub_watch *watch)
{
	struct hub_ingest *ingest = hub_tenants_at(watch->tenants, watch->next);

	if (!ingest) {
		watch->next = 0;
		ingest = hub_tenants_at(watch->tenants, 0);
	}
	if (watch->next == watch->begun_cnt) {
		watch->begun_cnt++;
		begin_tenant(watch, ingest);
	}
	watch->pause = &watch->pauses[watch->next++];
	if (hub_pause_is_on(watch->pause, pp_monotonic_ns()))
		return;
	for (size_t i = 0; i < watch->rules->cnt; i++)
		if (is_first_of_span(watch->rules, i) &&
		    begin_span(watch, ingest, hub_rule_span_s(&watch->rules->list[i])))
			return;
	hub_pause_end(watch->pause);
}

void hub_watch_turn(struct hub_watch *watch)
{
	uint64_t now_ns = pp_monotonic_ns();

	if (watch->child.pid) {
		follow_child(watch);
		/* the next one soon */
		watch->looked_ns = watch->child.pid ? watch->looked_ns : 0;
		return;
	}
	if (watch->looked_ns && now_ns - watch->looked_ns < LOOK_NS)
		return;
	watch->looked_ns = now_ns;
	look(watch);
}

/* ---------------------------------------------------------------- life */

int hub_watch_new(struct hub_watch **ret_watch, const struct hub_rules *rules,
		  struct hub_tenants *tenants)
{
	struct hub_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->rules = rules;
	watch->tenants = tenants;
	*ret_watch = watch;
	return 0;
}

void hub_watch_free(struct hub_watch *watch)
{
	if (!watch)
		return;
	hub_child_release(&watch->child);
	free(watch);
}

int hub_watch_fd(const struct hub_watch *watch)
{
	return hub_child_fd(&watch->child);
}

const struct hub_watch_counts *hub_watch_counts(const struct hub_watch *watch)
{
	return &watch->counts;
}
