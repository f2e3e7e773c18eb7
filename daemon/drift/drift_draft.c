// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A message is drafted when an alert changes and told at once, unless its paths have no names yet.
 * Then it waits: one after another, drafts ask for the names of their paths and are told with those
 * that came; none waits longer than some seconds. Other naming under way is cancelled.
 *
 * An alert whose message waits keeps its state of before in the store: if the daemon dies
 * meanwhile, the next window fires it again.
 */
#include "drift_telling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define WAIT_US UINT64_C(5000000)

/* Asks for the names of the next draft that waits. */
static void next_draft(struct pp_drift_telling *telling);

static void unlink_draft(struct pp_drift_telling *telling, const struct pp_drift_draft *draft)
{
	struct pp_drift_draft **at = &telling->drafts;

	while (*at != draft)
		at = &(*at)->next;
	*at = draft->next;
}

/* The alert's state, which was held back, is written with the message. */
static void tell_draft(struct pp_drift_telling *telling, struct pp_drift_draft *draft)
{
	unlink_draft(telling, draft);
	pp_drift_send(telling, draft);
	pp_drift_store_alerts(telling->alerts);
}

/* ---------------------------------------------------------------- asking for names */

static void set_text(char **text, const char *to)
{
	char *copy = to[0] ? strdup(to) : NULL;

	if (!copy)
		return;
	free(*text);
	*text = copy;
}

/* The answer has the paths that are in the store, in order. */
static void take_names(struct pp_drift_draft *draft, const struct pp_names_answer *answer)
{
	size_t at = 0;

	for (size_t i = 0; answer && i < draft->moved_cnt && at < answer->path_cnt; i++) {
		if (!draft->moved[i].path_id)
			continue;
		set_text(&draft->moved[i].function, answer->paths[at].name);
		set_text(&draft->moved[i].source, answer->paths[at].source);
		at++;
	}
}

static void on_named(void *context, int code, const struct pp_names_answer *answer)
{
	struct pp_drift_telling *telling = context;
	struct pp_drift_draft *draft = telling->drafts;

	/* too late: the draft was told already */
	if (!draft || code == -ECANCELED)
		return;
	pp_drift_work_begin(telling->common);
	take_names(draft, answer);
	tell_draft(telling, draft);
	next_draft(telling);
	pp_drift_work_end(telling->common);
}

static int ask(struct pp_drift_telling *telling, const struct pp_drift_draft *draft)
{
	struct pp_names_path paths[PP_DRIFT_MOVED_MAX];
	struct pp_names_job job = {
		.id = draft->id,
		.file = draft->alert->binary,
		.pid_cnt = draft->pid_cnt,
		.paths = paths,
		.hurry = true,
	};

	memcpy(job.pids, draft->pids, sizeof(job.pids));
	for (size_t i = 0; i < draft->moved_cnt; i++)
		if (draft->moved[i].path_id)
			paths[job.path_cnt++] = draft->moved[i].path;
	return pp_names_ask(telling->naming->names, &job, on_named, telling);
}

static void next_draft(struct pp_drift_telling *telling)
{
	while (telling->drafts) {
		if (telling->naming->job)
			pp_names_cancel(telling->naming->names);
		if (pp_names_busy(telling->naming->names) || ask(telling, telling->drafts) == 0)
			return;
		tell_draft(telling, telling->drafts);
	}
}

/* ---------------------------------------------------------------- the time they have */

static void set_timer(struct pp_drift_telling *telling)
{
	if (!telling->drafts) {
		sd_event_source_set_enabled(telling->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(telling->timer, telling->drafts->deadline_us);
	sd_event_source_set_enabled(telling->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *context)
{
	struct pp_drift_telling *telling = context;
	uint64_t now = pp_monotonic_ns() / 1000;

	pp_drift_work_begin(telling->common);
	while (telling->drafts && telling->drafts->deadline_us <= now) {
		pp_names_cancel(telling->naming->names);
		tell_draft(telling, telling->drafts);
	}
	next_draft(telling);
	set_timer(telling);
	pp_drift_work_end(telling->common);
	return 0;
}

static void hold(struct pp_drift_telling *telling, struct pp_drift_draft *draft)
{
	struct pp_drift_draft **at = &telling->drafts;

	if (!telling->timer && sd_event_add_time(telling->event, &telling->timer, CLOCK_MONOTONIC,
						 UINT64_MAX, 1000, on_timer, telling) < 0) {
		pp_drift_send(telling, draft);
		return;
	}
	draft->deadline_us = pp_monotonic_ns() / 1000 + WAIT_US;
	draft->alert->waiting = true;
	while (*at)
		at = &(*at)->next;
	*at = draft;
	next_draft(telling);
	set_timer(telling);
}

void pp_drift_release_drafts(struct pp_drift_telling *telling, const struct pp_drift_alert *alert)
{
	struct pp_drift_draft *draft = telling->drafts, *next;
	bool asked = draft && (!alert || draft->alert == alert);

	/* the answer under way belongs to the first draft */
	if (asked && !telling->naming->job && pp_names_busy(telling->naming->names))
		pp_names_cancel(telling->naming->names);
	for (; draft; draft = next) {
		next = draft->next;
		if (!alert || draft->alert == alert)
			tell_draft(telling, draft);
	}
	if (telling->drafts)
		next_draft(telling);
}

/* ---------------------------------------------------------------- an alert has changed */

static struct pp_drift_draft *new_draft(struct pp_drift_telling *telling,
					const struct pp_drift_news *news)
{
	struct pp_drift_draft *draft = calloc(1, sizeof(*draft));

	if (!draft)
		return NULL;
	draft->change = news->change;
	draft->alert = news->alert;
	draft->state = news->alert->state;
	draft->matched = news->matched;
	draft->has_rule = news->rule != NULL;
	draft->has_drift = news->drift != NULL;
	draft->is_new_normal = news->is_new_normal;
	draft->is_build_gone = news->is_build_gone;
	if (news->rule)
		draft->rule = *news->rule;
	if (news->drift)
		draft->drift = *news->drift;
	if (news->subject)
		draft->id = news->subject->id;
	if (news->subject && news->change == PATHPROF_ALERT_FIRED)
		pp_drift_find_moved(telling->common->store, news, draft);
	return draft;
}

/* Whether there are paths, and a file to read their names from. */
static bool is_worth_waiting(const struct pp_drift_telling *telling,
			     const struct pp_drift_draft *draft)
{
	for (size_t i = 0; i < draft->moved_cnt && telling->naming->names; i++)
		if (draft->moved[i].path_id && draft->alert->binary[0] == '/')
			return true;
	return false;
}

static bool does_one_fire(const struct pp_drift_telling *telling, const struct pp_drift_alert *of)
{
	const struct pp_drift_alert *alert = NULL;

	while ((alert = pp_drift_next_of_cause(telling->alerts, of, alert)))
		if (alert->state.phase == PATHPROF_ALERT_FIRING)
			return true;
	return false;
}

/* Names the alert that was told of, and its rule's figure when the last of the cause resolved. */
static void set_alert(const struct pp_drift_telling *telling, struct pp_drift_draft *draft,
		      struct pp_drift_alert *alert)
{
	const struct pathprof_alert_rule *rule = pp_drift_rule_of(telling->alerts, alert);

	draft->alert = alert;
	draft->state.fired_ns = alert->state.fired_ns;
	if (!draft->has_rule) {
		draft->state.value = alert->state.value;
	} else if (rule) {
		draft->rule = *rule;
		draft->state.value = pathprof_alert_input_of(rule->metric, &draft->drift, 0).value;
	}
}

static void tell_of(struct pp_drift_telling *telling, const struct pp_drift_news *news,
		    struct pp_drift_alert *alert)
{
	struct pp_drift_draft *draft = new_draft(telling, news);

	/* one alert's messages stay in order */
	pp_drift_release_drafts(telling, alert);
	alert->told = news->change == PATHPROF_ALERT_FIRED;
	if (alert->told)
		pathprof_build_id_text(&news->subject->id, alert->build_id);
	if (!draft) {
		pp_drift_lost(telling->common, -ENOMEM, "alert not told", "out of memory");
		return;
	}
	if (alert != news->alert)
		set_alert(telling, draft, alert);
	if (!is_worth_waiting(telling, draft)) {
		pp_drift_send(telling, draft);
		return;
	}
	draft->pid_cnt = pp_drift_pids(telling->common, &draft->id, draft->pids);
	hold(telling, draft);
}

void pp_drift_tell(struct pp_drift_telling *telling, const struct pp_drift_news *news)
{
	struct pp_drift_alert *told = pp_drift_find_told(telling->alerts, news->alert);

	if (news->change == PATHPROF_ALERT_FIRED) {
		if (!told)
			tell_of(telling, news, news->alert);
		return;
	}
	if (does_one_fire(telling, news->alert))
		return;
	for (; told; told = pp_drift_find_told(telling->alerts, news->alert))
		tell_of(telling, news, told);
}
