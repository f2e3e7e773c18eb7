// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After a start: the rolling baselines are made again from the windows in the store. Windows that a
 * rule was over its threshold in, or in which its alert fired, stay out of them, as they did.
 * Windows of one kind only: the newest's. The newest window is the one measured last. The clock may
 * have been set back since others ended.
 *
 * The start waits for half a second of it. The rest goes on beside the service, a window at a time,
 * and windows that close meanwhile are read like those before: they are not measured. No more
 * counts are read than take some two seconds of CPU time; older windows are left out then.
 *
 * Workload: once; an hour of windows of some ten thousand counts each.
 */
#include "drift_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/vector.h"
#include "pathprof/events.h"

#define WINDOWS_MAX 240    /* the newest ones */
#define COUNTS_MAX  600000 /* in all of them: some 2.7 us each */
#define AT_ONCE_NS  UINT64_C(500000000)
#define REST        4 /* times the CPU time that the reading of a window took */

struct past_window {
	int64_t id, end_ns;
};

struct found_window {
	int64_t id, begin_ns, end_ns;
	enum pathprof_window_kind kind;
};

struct found {
	struct found_window *list;
	uint32_t cnt, room;
};

/* A subject's figures in the window being read: those that a row has. */
struct figures {
	uint64_t group;
	char *container;
	struct pathprof_drift drift;
};

struct judged {
	bool hot;         /* an alert was pending or fired */
	bool is_evidence; /* a rule judged the window */
	bool unsure;
};

struct pp_drift_restore {
	struct pp_drift *drift;
	sd_event_source *timer;                  /* NULL: the start waits */
	struct past_window windows[WINDOWS_MAX]; /* oldest first */
	uint32_t window_cnt, next, left_out_cnt;
	uint64_t count_cnt;               /* counts of the windows */
	const struct past_window *window; /* being read */
	struct figures *figures;
	uint32_t figures_cnt;
};

/* Called with the newest window first. */
static int take_window(struct pp_drift_restore *r, const struct found_window *window)
{
	uint64_t cnt = 0;
	int code;

	if (r->window_cnt == WINDOWS_MAX || r->count_cnt > COUNTS_MAX) {
		r->left_out_cnt++;
		return 0;
	}
	code = pathprof_store_count_paths(r->drift->common.store, window->id, &cnt, NULL);
	if (code < 0)
		return code;
	r->count_cnt += cnt;
	/* one window is always read, however large */
	if (r->count_cnt > COUNTS_MAX && r->window_cnt) {
		r->left_out_cnt++;
		return 0;
	}
	r->windows[r->window_cnt++] = (struct past_window){window->id, window->end_ns};
	return 0;
}

static void turn_round(struct pp_drift_restore *r)
{
	for (uint32_t i = 0; i < r->window_cnt / 2; i++) {
		struct past_window older = r->windows[r->window_cnt - 1 - i];

		r->windows[r->window_cnt - 1 - i] = r->windows[i];
		r->windows[i] = older;
	}
}

/* ---------------------------------------------------------------- what rules said of it */

static int take_drift(void *context, const struct pathprof_drift_row *row)
{
	struct pp_drift_restore *r = context;

	if (pp_resize(&r->figures, r->figures_cnt + 1ul) < 0)
		return -ENOMEM;
	r->figures[r->figures_cnt] = (struct figures){
		.group = pathprof_event_group(&row->binary_id),
		.container = strdup(row->container),
		.drift = {.window_samples = row->window_samples,
			  .kl_bits = row->kl_bits,
			  .kl_corrected_bits = row->kl_corrected_bits,
			  .kl_low_bits = row->kl_low_bits,
			  .overlap = row->overlap,
			  .angle_degrees = row->angle_degrees,
			  .coverage = {.dynamic_share = row->coverage_dynamic}},
	};
	return r->figures[r->figures_cnt++].container ? 0 : -ENOMEM;
}

static void release_figures(struct pp_drift_restore *r)
{
	for (uint32_t i = 0; i < r->figures_cnt; i++)
		free(r->figures[i].container);
	free(r->figures);
	r->figures = NULL;
	r->figures_cnt = 0;
}

/* NULL: the part's subject was not measured. */
static const struct figures *find_figures(const struct pp_drift_restore *r,
					  const struct pathprof_part *part)
{
	for (uint32_t i = 0; i < r->figures_cnt; i++)
		if (r->figures[i].group == part->group &&
		    !strcmp(r->figures[i].container, part->container))
			return &r->figures[i];
	return NULL;
}

/* A rule takes the window alone; figures of several together were not stored. */
static void judge_rule(const struct pathprof_alert_rule *rule, const struct figures *figures,
		       int64_t end_ns, struct judged *judged)
{
	const struct pathprof_alert_input input =
		pathprof_alert_input_of(rule->metric, &figures->drift, end_ns);
	struct pathprof_alert_rule alone = *rule;
	struct pathprof_alert_state state = {0};

	alone.samples_min /= rule->windows_pooled;
	judged->hot |= pathprof_alert_take(&state, &alone, &input) != PATHPROF_ALERT_SAME;
	judged->is_evidence |= state.seen_ns == end_ns;
	judged->unsure |= state.seen_ns == end_ns && pathprof_alert_is_unsure(&alone, &input);
}

/* Whether the alert fired at that time, as far as its state tells: it has the last time only. */
static bool was_firing(const struct pathprof_alert_state *state, int64_t time_ns)
{
	return state->fired_ns && time_ns >= state->fired_ns &&
	       (state->phase == PATHPROF_ALERT_FIRING || time_ns < state->resolved_ns);
}

/* The verdict of the subject's rules on the rolling baseline. */
static struct judged judge(const struct pp_drift_restore *r, const struct pp_drift_subject *subject,
			   const struct figures *figures)
{
	struct judged judged = {.hot = false};

	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_drift_rule *rule = &r->drift->alerts.rules[i];
		const struct pp_drift_alert *alert = subject->alerts[i];

		if (!rule->config || !alert ||
		    strcmp(rule->config->baseline, PATHPROF_BASELINE_ROLLING) != 0)
			continue;
		judged.hot |= was_firing(&alert->state, r->window->end_ns);
		if (figures)
			judge_rule(&rule->rule, figures, r->window->end_ns, &judged);
	}
	return judged;
}

/* ---------------------------------------------------------------- counts */

/* Adds one subject's part of the window being read to its rolling baseline. */
static int push_part(void *context, struct pathprof_part *part)
{
	struct pp_drift_restore *r = context;
	struct pp_drift *drift = r->drift;
	struct pp_drift_subject *subject = pp_drift_subject(
		&drift->subjects, part, pp_drift_is_enough(&drift->common, &part->tally));
	struct judged judged;

	if (!subject)
		return 0;
	judged = judge(r, subject, find_figures(r, part));
	if (judged.is_evidence)
		subject->unsure = judged.unsure;
	return pp_drift_push(&drift->subjects, subject, part, r->window->end_ns, judged.hot);
}

static int read_window(struct pp_drift_restore *r, struct pathprof_error *error)
{
	const struct pathprof_filter filter = {.window = r->window->id};
	int code = pathprof_store_drift(r->drift->common.store, &filter, PATHPROF_BASELINE_ROLLING,
					take_drift, r, error);

	if (code == 0)
		code = pathprof_parts_read(r->drift->common.store, &filter,
					   r->drift->common.kind == PATHPROF_KIND_WEIGHED, 0,
					   push_part, r, error);
	release_figures(r);
	pp_drift_evict(&r->drift->subjects);
	return code;
}

/* ---------------------------------------------------------------- a window at a time */

void pp_drift_end_restore(struct pp_drift *drift)
{
	struct pp_drift_restore *r = drift->restore;

	if (!r)
		return;
	drift->restore = NULL;
	sd_event_source_disable_unref(r->timer);
	release_figures(r);
	free(r);
}

static int read_next(struct pp_drift_restore *r, struct pathprof_error *error)
{
	r->window = &r->windows[r->next++];
	return read_window(r, error);
}

static void tell_end(const struct pp_drift_restore *r)
{
	if (r->left_out_cnt)
		pp_log(LOG_NOTICE,
		       "drift: rolling baselines begin with the newest %u of %u windows; reading "
		       "more would take too long",
		       r->window_cnt, r->window_cnt + r->left_out_cnt);
	if (r->timer)
		pp_log(LOG_INFO, "drift: %u earlier %s read: windows are measured from here on",
		       r->next, pp_plural(r->next, "window", "windows"));
}

/* Reads a window; the timer goes on until all are read. */
static int go_on(struct pp_drift_restore *r, sd_event_source *timer)
{
	struct pathprof_error error = {""};
	const uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int code = r->next < r->window_cnt ? read_next(r, &error) : 0;

	if (code < 0)
		pp_drift_lost(&r->drift->common, code, "earlier windows cannot be read",
			      error.text);
	if (code == 0 && r->next < r->window_cnt) {
		code = sd_event_source_set_time_relative(
			timer, REST * (pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1000);
		return code < 0 ? code : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
	}
	tell_end(r);
	pp_drift_end_restore(r->drift);
	return 0;
}

static int on_timer(sd_event_source *timer, uint64_t now_us, void *context)
{
	struct pp_drift_restore *r = context;
	struct pp_drift_common *common = &r->drift->common; /* r may be gone at the end */
	int code;

	pp_drift_work_begin(common);
	code = go_on(r, timer);
	pp_drift_work_end(common);
	return code;
}

static int go_on_later(struct pp_drift_restore *r, struct pathprof_error *error)
{
	int code = sd_event_add_time_relative(r->drift->event, &r->timer, CLOCK_MONOTONIC, 0, 0,
					      on_timer, r);

	if (code >= 0)
		code = sd_event_source_set_priority(r->timer, SD_EVENT_PRIORITY_IDLE);
	if (code < 0)
		return pathprof_fail(error, code, "event loop: %s", strerror(-code));
	pp_log(LOG_INFO,
	       "drift: %u earlier %s still to be read; windows are not measured until then",
	       r->window_cnt - r->next,
	       pp_plural(r->window_cnt - r->next, "window is", "windows are"));
	return 0;
}

bool pp_drift_restore_window(struct pp_drift *drift)
{
	struct pp_drift_restore *r = drift->restore;

	if (!r)
		return false;
	if (r->window_cnt == WINDOWS_MAX && r->next) {
		memmove(r->windows, r->windows + 1, (WINDOWS_MAX - 1) * sizeof(r->windows[0]));
		r->window_cnt--;
		r->next--;
	}
	if (r->window_cnt < WINDOWS_MAX)
		r->windows[r->window_cnt++] =
			(struct past_window){drift->common.window, drift->common.end_ns};
	return true;
}

void pp_drift_move_restore(struct pp_drift *drift, int64_t by_ns)
{
	struct pp_drift_restore *r = drift->restore;

	for (uint32_t i = r ? r->next : 0; r && i < r->window_cnt; i++)
		pp_drift_move_time(&r->windows[i].end_ns, by_ns);
}

/* ---------------------------------------------------------------- finding windows */

/* Imported and traced windows are passed over: the service did not measure them. */
static int add_found(void *context, const struct pathprof_window_row *row)
{
	struct found *found = context;

	if (row->source == PATHPROF_SOURCE_IMPORT || row->source == PATHPROF_SOURCE_TRACE)
		return 0;
	if (pp_grow(&found->list, found->cnt, &found->room) < 0)
		return -ENOMEM;
	found->list[found->cnt++] =
		(struct found_window){row->id, row->begin_ns, row->end_ns,
				      pathprof_window_kind(row->basis, row->horizon, row->weighed)};
	return 0;
}

/* Numbers follow the order of measurement, whatever the clock did: the largest comes first. */
static int compare_numbers(const void *a, const void *b)
{
	const struct found_window *x = a, *y = b;

	return (x->id < y->id) - (x->id > y->id);
}

/*
 * The clock was set back after a window that ends later than the next one begins, or later than
 * now. This window and all before it move back by the difference, as pp_drift_clock_set() moves
 * what is in memory. Windows that then end before since_ns are left out.
 */
static void leave_future(struct found *found, int64_t now_ns, int64_t since_ns)
{
	int64_t back_ns = 0, limit_ns = now_ns;
	uint32_t cnt = 0;

	for (; cnt < found->cnt && limit_ns >= since_ns; cnt++) {
		struct found_window *window = &found->list[cnt];

		if (window->end_ns - back_ns > limit_ns)
			back_ns = window->end_ns - limit_ns;
		window->end_ns -= back_ns;
		if (window->end_ns < since_ns)
			break;
		if (__builtin_sub_overflow(window->begin_ns, back_ns, &limit_ns))
			limit_ns = INT64_MIN;
	}
	found->cnt = cnt;
}

static int take_newest_kind(struct pp_drift_restore *r, const struct found *found)
{
	struct pp_drift_common *common = &r->drift->common;
	unsigned int kinds = 0;
	int code = 0;

	common->kind = found->cnt ? found->list[0].kind : PATHPROF_KIND_ANY;
	pp_pinned_set_kind(&r->drift->judge.pinned, common->kind);
	for (uint32_t i = 0; code == 0 && i < found->cnt; i++) {
		kinds |= 1u << found->list[i].kind;
		if (found->list[i].kind == common->kind)
			code = take_window(r, &found->list[i]);
	}
	if (kinds & (kinds - 1))
		pp_log(LOG_NOTICE,
		       "drift: rolling baselines are made again from windows that are %s; windows "
		       "of other kinds cannot be compared with them and are left out",
		       pathprof_window_kind_text(common->kind));
	return code;
}

static int find_windows(struct pp_drift_restore *r, struct pathprof_error *error)
{
	const struct pp_drift_common *common = &r->drift->common;
	const struct pathprof_filter filter = {.since_ns = common->end_ns -
							   (int64_t)common->config.rolling_ns};
	struct found found = {0};
	int code = pathprof_store_windows(common->store, &filter, add_found, &found, error);

	if (code == 0 && found.cnt)
		qsort(found.list, found.cnt, sizeof(*found.list), compare_numbers);
	leave_future(&found, common->end_ns, filter.since_ns);
	if (code == 0)
		code = take_newest_kind(r, &found);
	free(found.list);
	turn_round(r);
	return code;
}

int pp_drift_restore(struct pp_drift *drift, struct pathprof_error *error)
{
	struct pp_drift_restore *r = calloc(1, sizeof(*r));
	const uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int code;

	if (!r)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r->drift = drift;
	drift->restore = r;
	code = find_windows(r, error);
	while (code == 0 && r->next < r->window_cnt &&
	       pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < AT_ONCE_NS)
		code = read_next(r, error);
	if (code == 0 && r->next < r->window_cnt)
		return go_on_later(r, error);
	if (code == 0)
		tell_end(r);
	pp_drift_end_restore(drift);
	return code;
}
