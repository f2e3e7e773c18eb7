// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After a start: the rolling baselines are made again from the windows in the store. Windows that
 * were over a threshold then stay out of them, as they did.
 *
 * Workload: once; an hour of windows of some ten thousand counts each.
 */
#include "drift_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/events.h"

#define WINDOWS_MAX 240 /* the newest ones */

struct past_window {
	int64_t id, end_ns;
};

struct restore {
	struct pp_drift *drift;
	struct past_window windows[WINDOWS_MAX];
	uint32_t window_cnt;
	const struct past_window *window; /* being read */
	double hot_bits;                  /* the lowest threshold of what is judged by kl */

	struct { /* subjects over it in this window */
		uint64_t group;
		char *container;
	} * hot;
	uint32_t hot_cnt;

	struct pp_drift_part part; /* being read; strings and events are owned */
	struct pathprof_build_id id;
	char *name, *container;
	size_t event_room;
};

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct restore *r = context;

	if (r->window_cnt < WINDOWS_MAX)
		r->windows[r->window_cnt++] = (struct past_window){row->id, row->end_ns};
	return 0;
}

static void set_threshold(struct restore *r)
{
	r->hot_bits = pathprof_alert_fast.threshold;
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_drift_rule *rule = &r->drift->rules[i];

		if (rule->config && rule->rule.metric == PATHPROF_METRIC_KL_CORRECTED &&
		    rule->rule.threshold < r->hot_bits)
			r->hot_bits = rule->rule.threshold;
	}
}

/* ---------------------------------------------------------------- what was over a threshold */

static int take_drift(void *context, const struct pathprof_drift_row *row)
{
	struct restore *r = context;
	void *hot;

	if (!(row->kl_low_bits > r->hot_bits))
		return 0;
	hot = realloc(r->hot, (r->hot_cnt + 1) * sizeof(*r->hot));
	if (!hot)
		return -ENOMEM;
	r->hot = hot;
	r->hot[r->hot_cnt].group = pathprof_event_group(&row->binary_id);
	r->hot[r->hot_cnt].container = strdup(row->container);
	return r->hot[r->hot_cnt++].container ? 0 : -ENOMEM;
}

static void release_hot(struct restore *r)
{
	for (uint32_t i = 0; i < r->hot_cnt; i++)
		free(r->hot[i].container);
	free(r->hot);
	r->hot = NULL;
	r->hot_cnt = 0;
}

static bool is_hot(const struct restore *r, const struct pp_drift_part *part)
{
	for (uint32_t i = 0; i < r->hot_cnt; i++)
		if (r->hot[i].group == part->group && r->hot[i].container &&
		    !strcmp(r->hot[i].container, part->container))
			return true;
	return false;
}

/* ---------------------------------------------------------------- counts */

/* What was read of one subject in this window. */
static int push_part(struct restore *r)
{
	struct pp_drift *drift = r->drift;
	struct pp_drift_part *part = &r->part;
	struct pp_drift_subject *subject;
	int code = 0;

	if (!part->cnt)
		return 0;
	if (pathprof_events_sort(part->events, &part->cnt) < 0)
		return -EBADMSG;
	subject = pp_drift_subject(drift, part,
				   part->samples >= (double)drift->config.drift_samples_min);
	if (subject) {
		subject->seen_ns = r->window->end_ns;
		code = pp_rolling_push(&subject->rolling, part->events, part->cnt,
				       r->window->end_ns, is_hot(r, part),
				       pp_drift_pooled_max(drift) - 1,
				       (int64_t)drift->config.rolling_ns);
	}
	part->cnt = 0;
	part->samples = 0;
	return code;
}

static int begin_part(struct restore *r, const struct pathprof_container_path_row *row,
		      uint64_t group)
{
	int code = push_part(r);

	if (code < 0)
		return code;
	free(r->name);
	free(r->container);
	r->name = strdup(row->binary_name);
	r->container = strdup(row->container);
	r->id = row->binary_id;
	r->part.id = &r->id;
	r->part.group = group;
	r->part.name = r->name;
	r->part.container = r->container;
	return r->name && r->container ? 0 : -ENOMEM;
}

static int take_path(void *context, const struct pathprof_container_path_row *row)
{
	struct restore *r = context;
	struct pp_drift_part *part = &r->part;
	uint64_t group = pathprof_event_group(&row->binary_id);

	if (row->binary_id.kind == PATHPROF_ID_NONE || row->binary_id.kind == PATHPROF_ID_JIT)
		return 0;
	if (!r->name || group != part->group || strcmp(r->container, row->container) != 0) {
		int code = begin_part(r, row, group);

		if (code < 0)
			return code;
	}
	part->samples += (double)row->samples;
	return pp_events_add_row(&part->events, &part->cnt, &r->event_room, group, row);
}

static int read_window(struct restore *r, struct pathprof_error *error)
{
	const struct pathprof_filter filter = {.window = r->window->id};
	int code = pathprof_store_drift(r->drift->store, &filter, PP_DRIFT_ROLLING, take_drift, r,
					error);

	if (code == 0)
		code = pathprof_store_container_paths(r->drift->store, &filter, take_path, r,
						      error);
	if (code == 0)
		code = push_part(r);
	/* the next window begins with a part of its own */
	free(r->name);
	r->name = NULL;
	r->part.cnt = 0;
	release_hot(r);
	pp_drift_evict(r->drift);
	return code;
}

int pp_drift_restore(struct pp_drift *drift, struct pathprof_error *error)
{
	const struct pathprof_filter filter = {
		.since_ns = drift->end_ns - (int64_t)drift->config.rolling_ns,
		.limit = WINDOWS_MAX,
	};
	struct restore *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r->drift = drift;
	set_threshold(r);
	code = pathprof_store_windows(drift->store, &filter, take_window, r, error);
	for (uint32_t i = r->window_cnt; code == 0 && i-- > 0;) {
		r->window = &r->windows[i];
		code = read_window(r, error);
	}
	free(r->part.events);
	free(r->name);
	free(r->container);
	free(r);
	return code;
}
