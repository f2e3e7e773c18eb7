// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The span is made again of the store's windows, a window at a time beside the service, the newest
 * first. No more counts are read than take some seconds of CPU time; older windows are left out
 * then, and the share begins later than it might.
 *
 * Workload: at the start, and whenever sets come or go.
 */
#include "tested_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/vector.h"

#define COUNTS_MAX 1000000
#define REST       4 /* times the CPU time that the reading of a window took */

struct past_window {
	int64_t id, end_ns;
	struct pathprof_totals totals;
};

struct pp_tested_restore {
	struct pp_tested_alerts *alerts;
	sd_event_source *timer;
	struct past_window *windows; /* newest first */
	uint32_t window_cnt, window_room, next, left_out_cnt;
	uint64_t count_cnt;
};

/* Called with the newest window first. */
static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct pp_tested_restore *r = context;
	uint64_t cnt = 0;
	int code;

	if (r->count_cnt > COUNTS_MAX) {
		r->left_out_cnt++;
		return 0;
	}
	code = pathprof_store_count_paths(r->alerts->common.store, row->id, &cnt, NULL);
	if (code == 0)
		code = pp_grow(&r->windows, r->window_cnt, &r->window_room);
	if (code < 0)
		return code;
	r->count_cnt += cnt;
	r->windows[r->window_cnt++] = (struct past_window){row->id, row->end_ns, row->totals};
	return 0;
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct pp_tested_alerts *alerts = context;
	uint32_t build;

	return pp_tested_sets_find(alerts->sets, &row->binary_id, &build)
		       ? pp_tested_take_path(alerts, row->binary_name, build, row)
		       : 0;
}

static int read_window(struct pp_tested_restore *r, struct pathprof_error *error)
{
	const struct past_window *window = &r->windows[r->next++];
	const struct pathprof_filter filter = {.window = window->id};
	int code =
		pathprof_store_paths(r->alerts->common.store, &filter, take_path, r->alerts, error);

	pp_tested_end_window(r->alerts, &window->totals, window->end_ns);
	return code;
}

void pp_tested_end_restore(struct pp_tested_alerts *alerts)
{
	struct pp_tested_restore *r = alerts->restore;

	if (!r)
		return;
	alerts->restore = NULL;
	sd_event_source_disable_unref(r->timer);
	free(r->windows);
	free(r);
}

void pp_tested_move_restore(struct pp_tested_alerts *alerts, int64_t by_ns)
{
	struct pp_tested_restore *r = alerts->restore;

	for (uint32_t i = r ? r->next : 0; r && i < r->window_cnt; i++)
		pp_drift_move_time(&r->windows[i].end_ns, by_ns);
}

static void tell_end(const struct pp_tested_restore *r)
{
	pp_log(LOG_INFO, "%u %s held against tested sets%s", r->next,
	       pp_plural(r->next, "window", "windows"),
	       r->left_out_cnt ? "; reading older ones would take too long" : "");
}

static int on_timer(sd_event_source *timer, uint64_t now_us, void *context)
{
	struct pp_tested_restore *r = context;
	struct pathprof_error error = {""};
	const uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int code = r->next < r->window_cnt ? read_window(r, &error) : 0;

	if (code < 0)
		pp_drift_lost(&r->alerts->common, code, "earlier windows cannot be read",
			      error.text);
	if (code == 0 && r->next < r->window_cnt) {
		code = sd_event_source_set_time_relative(
			timer, REST * (pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1000);
		return code < 0 ? code : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
	}
	tell_end(r);
	pp_tested_end_restore(r->alerts);
	return 0;
}

static int find_windows(struct pp_tested_restore *r, int64_t end_ns, struct pathprof_error *error)
{
	const struct pp_drift_common *common = &r->alerts->common;
	struct pathprof_filter filter = {
		.since_ns = end_ns - (int64_t)common->config.tested_span_ns,
		.until_ns = end_ns + 1,
	};
	unsigned int kinds;
	int code = 0;

	if (r->alerts->kind == PATHPROF_KIND_ANY)
		code = pathprof_store_kinds(common->store, &filter, &kinds, &r->alerts->kind,
					    error);
	filter.kind = r->alerts->kind;
	if (code == 0)
		code = pathprof_store_windows(common->store, &filter, take_window, r, error);
	if (code < 0)
		return code;
	code = sd_event_add_time_relative(r->alerts->event, &r->timer, CLOCK_MONOTONIC, 0, 0,
					  on_timer, r);
	if (code >= 0)
		code = sd_event_source_set_priority(r->timer, SD_EVENT_PRIORITY_IDLE);
	return code < 0 ? pathprof_fail(error, code, "event loop: %s", strerror(-code)) : 0;
}

void pp_tested_restore(struct pp_tested_alerts *alerts, int64_t end_ns)
{
	struct pp_tested_restore *r = calloc(1, sizeof(*r));
	struct pathprof_error error = {""};
	int code = r ? 0 : pathprof_fail(&error, -ENOMEM, "out of memory");

	if (r) {
		r->alerts = alerts;
		alerts->restore = r;
		code = find_windows(r, end_ns, &error);
	}
	if (code == 0)
		return;
	pp_drift_lost(&alerts->common, code, "earlier windows not held against tested sets",
		      error.text);
	pp_tested_end_restore(alerts);
}
