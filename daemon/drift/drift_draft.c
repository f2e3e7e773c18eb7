// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages that wait until their paths have names: one after another each asks for those of its
 * own, and is told with what came; none waits longer than some seconds. Whatever else was being
 * named makes room.
 *
 * An alert whose message waits keeps its state of before in the store: if the daemon dies
 * meanwhile, the next window fires it again.
 */
#include "drift_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define WAIT_US UINT64_C(5000000)

static void unlink_draft(struct pp_drift *drift, const struct pp_drift_draft *draft)
{
	struct pp_drift_draft **at = &drift->drafts;

	while (*at != draft)
		at = &(*at)->next;
	*at = draft->next;
}

/* A state that was held back is written with what is told. */
static void tell_draft(struct pp_drift *drift, struct pp_drift_draft *draft)
{
	unlink_draft(drift, draft);
	pp_drift_send(drift, draft);
	pp_drift_store_alerts(drift);
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
static void on_named(void *context, int code, const struct pp_names_answer *answer)
{
	struct pp_drift *drift = context;
	struct pp_drift_draft *draft = drift->drafts;
	size_t at = 0;

	/* late: it was told already */
	if (!draft || code == -ECANCELED)
		return;
	for (size_t i = 0; answer && i < draft->moved_cnt && at < answer->path_cnt; i++) {
		if (!draft->moved[i].path_id)
			continue;
		set_text(&draft->moved[i].function, answer->paths[at].name);
		set_text(&draft->moved[i].source, answer->paths[at].source);
		at++;
	}
	tell_draft(drift, draft);
	pp_drift_next_draft(drift);
}

static int ask(struct pp_drift *drift, const struct pp_drift_draft *draft)
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
	return pp_names_ask(drift->names, &job, on_named, drift);
}

void pp_drift_next_draft(struct pp_drift *drift)
{
	while (drift->drafts) {
		if (drift->naming)
			pp_names_cancel(drift->names);
		if (pp_names_busy(drift->names) || ask(drift, drift->drafts) == 0)
			return;
		tell_draft(drift, drift->drafts);
	}
}

/* ---------------------------------------------------------------- the time they have */

static void set_timer(struct pp_drift *drift)
{
	if (!drift->drafts) {
		sd_event_source_set_enabled(drift->draft_timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(drift->draft_timer, drift->drafts->deadline_us);
	sd_event_source_set_enabled(drift->draft_timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *context)
{
	struct pp_drift *drift = context;
	uint64_t now = pp_monotonic_ns() / 1000;

	while (drift->drafts && drift->drafts->deadline_us <= now) {
		pp_names_cancel(drift->names);
		tell_draft(drift, drift->drafts);
	}
	pp_drift_next_draft(drift);
	set_timer(drift);
	return 0;
}

void pp_drift_hold(struct pp_drift *drift, struct pp_drift_draft *draft)
{
	struct pp_drift_draft **at = &drift->drafts;

	if (!drift->draft_timer &&
	    sd_event_add_time(drift->event, &drift->draft_timer, CLOCK_MONOTONIC, UINT64_MAX, 1000,
			      on_timer, drift) < 0) {
		pp_drift_send(drift, draft);
		return;
	}
	draft->deadline_us = pp_monotonic_ns() / 1000 + WAIT_US;
	draft->alert->waiting = true;
	while (*at)
		at = &(*at)->next;
	*at = draft;
	pp_drift_next_draft(drift);
	set_timer(drift);
}

void pp_drift_release_drafts(struct pp_drift *drift, const struct pp_drift_alert *alert)
{
	struct pp_drift_draft *draft = drift->drafts, *next;
	bool asked = draft && (!alert || draft->alert == alert);

	/* the answer under way is the first one's */
	if (asked && !drift->naming && pp_names_busy(drift->names))
		pp_names_cancel(drift->names);
	for (; draft; draft = next) {
		next = draft->next;
		if (!alert || draft->alert == alert)
			tell_draft(drift, draft);
	}
	if (drift->drafts)
		pp_drift_next_draft(drift);
}
