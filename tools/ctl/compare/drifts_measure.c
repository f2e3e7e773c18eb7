// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift measured here, where no service stored it: as a service with the default rules would have,
 * window by window, of the newest WINDOWS_MAX from the earliest on. So a figure is what
 * the service stores, but for baselines that reach behind the first window read here. Windows that
 * end later than now, after which the clock was set back, have no place among the others: they are
 * left out unless there are no others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "base/clock.h"
#include "drifts.h"
#include "pathprof/judge.h"
#include "selector.h"

#define WINDOWS_MAX 256
#define ROLLING_NS  (3600 * CTL_NS_PER_S)
#define SAMPLES_MIN 200 /* fewer are no evidence either way */
#define POOLED_MAX  3   /* windows that a rule measures together */

static const struct pathprof_alert_rule *const rules[] = {&pathprof_alert_fast,
							  &pathprof_alert_slow};
#define RULE_CNT (sizeof(rules) / sizeof(rules[0]))

/* A build of a binary in a container. */
struct subject {
	uint64_t group;
	char *container;
	struct pathprof_rolling rolling;
	struct pathprof_alert_state states[RULE_CNT];
	bool unsure; /* whether the last window that was judged has changed */
};

struct window {
	int64_t id, begin_ns, end_ns;
	double per_burst;
};

struct measuring {
	struct drifts *drifts;
	int64_t now_ns;
	struct window windows[WINDOWS_MAX]; /* newest first */
	size_t window_cnt;
	const struct window *window; /* being measured */
	bool seen;                   /* it has something that is selected */
	struct kinds kinds;
	struct subject *subjects;
	size_t subject_cnt;
	const char *baseline;
	struct pathprof_pinned pinned; /* the named baseline, unless it is the rolling one */
};

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct measuring *m = context;
	const struct pathprof_totals *totals = &row->totals;

	/* Windows that end in the future come last in the list. */
	if (row->end_ns > m->now_ns && m->window_cnt && m->windows[0].end_ns <= m->now_ns)
		return 1;
	m->windows[m->window_cnt++] = (struct window){
		row->id, row->begin_ns, row->end_ns,
		totals->bursts ? (double)totals->paths / (double)totals->bursts : 0};
	return m->window_cnt == WINDOWS_MAX;
}

/* ---------------------------------------------------------------- one binary in one window */

/* Returns NULL if it was never seen often enough. */
static struct subject *subject_of(struct measuring *m, const struct pathprof_part *part)
{
	struct subject *subject;

	for (size_t i = 0; i < m->subject_cnt; i++)
		if (m->subjects[i].group == part->group &&
		    !strcmp(m->subjects[i].container, part->container))
			return &m->subjects[i];
	if (part->tally.samples < SAMPLES_MIN)
		return NULL;
	m->subjects =
		ctl_realloc(m->subjects, m->subject_cnt, m->subject_cnt + 1, sizeof(*m->subjects));
	subject = &m->subjects[m->subject_cnt++];
	*subject = (struct subject){.group = part->group, .container = ctl_strdup(part->container)};
	return subject;
}

static bool is_rolling(const struct measuring *m)
{
	return !strcmp(m->baseline, PATHPROF_BASELINE_ROLLING);
}

static void add_row(struct measuring *m, const struct pathprof_part *part,
		    const struct pathprof_judged *judged)
{
	struct pathprof_baseline baseline =
		is_rolling(m) ? pathprof_rolling_baseline(judged->rolling)
			      : pathprof_pinned_baseline(&m->pinned, part->group, part->name,
							 part->container, NULL);
	struct pathprof_measured measured;
	struct pathprof_drift_row row = {
		.window = m->window->id,
		.begin_ns = m->window->begin_ns,
		.end_ns = m->window->end_ns,
		.binary_id = *part->id,
		.binary_name = part->name,
		.container = part->container,
		.baseline = m->baseline,
	};

	if (pathprof_measure(&measured, judged, &baseline, 1) == 0) {
		pathprof_measured_row(&measured, &row);
		drifts_add(m->drifts, &row);
	}
	pathprof_measured_release(&measured);
}

/* Feeds the service's rules, which decide whether the window may become baseline. */
static enum pathprof_rolling_verdict judge(const struct measuring *m, struct subject *subject,
					   const struct pathprof_judged *judged)
{
	const struct pathprof_baseline baseline = pathprof_rolling_baseline(&subject->rolling);
	bool hot = false, is_evidence = false, unsure = false;

	for (size_t i = 0; i < RULE_CNT; i++) {
		struct pathprof_alert_state *state = &subject->states[i];
		struct pathprof_measured measured;
		struct pathprof_alert_input input;

		if (pathprof_measure(&measured, judged, &baseline, rules[i]->windows_pooled) == 0) {
			input = pathprof_alert_input_of(rules[i]->metric, &measured.drift,
							m->window->end_ns);
			pathprof_alert_take(state, rules[i], &input);
			/* one that is no evidence leaves open what those before it are */
			if (state->seen_ns == input.time_ns) {
				is_evidence = true;
				unsure |= pathprof_alert_is_unsure(rules[i], &input);
			}
		}
		pathprof_measured_release(&measured);
		hot |= state->phase != PATHPROF_ALERT_QUIET;
	}
	if (is_evidence)
		subject->unsure = unsure;
	if (hot)
		return PATHPROF_ROLLING_HOT;
	return subject->unsure ? PATHPROF_ROLLING_UNSURE : PATHPROF_ROLLING_CALM;
}

static int take_part(void *context, struct pathprof_part *part)
{
	struct measuring *m = context;
	struct subject *subject = subject_of(m, part);
	struct pathprof_judged judged;
	enum pathprof_rolling_verdict verdict;

	m->seen = true;
	if (!subject)
		return 0;
	judged = (struct pathprof_judged){
		.rolling = &subject->rolling,
		.window = &part->tally,
		.dispersion = pathprof_rolling_dispersion(&subject->rolling),
		.per_burst = m->window->per_burst,
		.samples_min = SAMPLES_MIN,
	};
	if (part->tally.samples >= SAMPLES_MIN)
		add_row(m, part, &judged);
	verdict = judge(m, subject, &judged);
	return pathprof_rolling_push(&subject->rolling, &part->tally, m->window->end_ns, verdict,
				     POOLED_MAX - 1, ROLLING_NS);
}

/* ---------------------------------------------------------------- all of them */

static int measure_windows(struct measuring *m, const struct ctl_options *options,
			   struct pathprof_store *store, struct pathprof_error *error)
{
	struct pathprof_filter filter = options->filter;
	int r = 0;

	filter.limit = 0;
	for (size_t i = m->window_cnt; r == 0 && i > 0; i--) {
		m->window = &m->windows[i - 1];
		filter.window = m->window->id;
		r = pathprof_parts_read(store, &filter, m->kinds.used == PATHPROF_KIND_WEIGHED, 0,
					take_part, m, error);
	}
	return r;
}

static int find_windows(struct measuring *m, const struct ctl_options *options,
			struct pathprof_store *store, struct pathprof_error *error)
{
	struct pathprof_filter filter = options->filter;
	int r;

	filter.limit = WINDOWS_MAX;
	r = kinds_choose(&m->kinds, store, &filter, error);
	if (r == 0)
		kinds_tell(&m->kinds);
	if (r == 0)
		r = pathprof_store_windows(store, &filter, take_window, m, error);
	return r < 0 ? r : 0;
}

/* Checks that the baseline is there, and that its windows are of the same kind. Returns CTL_OK, or
 * a status after a message. */
static int read_baseline(struct measuring *m, const struct ctl_options *options)
{
	_cleanup_free_ char *word = ctl_printf("baseline:%s", m->baseline);
	_cleanup_free_ char *file = NULL;
	struct pathprof_error error = {""};
	struct side baseline, windows;
	int r = selector_load(&baseline, options, word, SIDE_PATHS);

	if (r)
		return r;
	side_init(&windows, "what is selected", SIDE_PATHS);
	windows.measure.kind = m->kinds.used;
	r = m->window_cnt ? side_check_kinds(&windows, &baseline) : CTL_OK;
	side_release(&baseline);
	file = r ? NULL : selector_baseline_file(options, m->baseline);
	if (file && pathprof_pinned_read(&m->pinned, file, m->kinds.used == PATHPROF_KIND_WEIGHED,
					 &error) < 0)
		r = ctl_fail_error("drift", -EIO, &error);
	return r;
}

static int measure(struct measuring *m, const struct ctl_options *options,
		   struct pathprof_store *store)
{
	struct pathprof_error error = {""};
	int r = find_windows(m, options, store, &error);

	if (r == 0 && !is_rolling(m)) {
		r = read_baseline(m, options);
		if (r)
			return r;
	}
	if (r == 0)
		r = measure_windows(m, options, store, &error);
	if (r < 0)
		return ctl_fail_error("drift", r, &error);
	if (m->drifts->cnt)
		return CTL_OK;
	if (!m->seen)
		return ctl_fail("drift: nothing was seen there: take a longer time (--since, "
				"--until), or leave a filter out");
	return ctl_fail("drift: no binary has %d samples both in a window and in its baseline "
			"(%s): record longer, or take a longer time (--since, --until)",
			SAMPLES_MIN,
			is_rolling(m) ? "two windows or more, and two between" : m->baseline);
}

int drifts_measure(struct drifts *drifts, const struct ctl_options *options,
		   struct pathprof_store *store)
{
	struct measuring *m = ctl_alloc(sizeof(*m));
	int r;

	*m = (struct measuring){.drifts = drifts,
				.now_ns = pp_realtime_ns(),
				.baseline = options->baseline ? options->baseline
							      : PATHPROF_BASELINE_ROLLING};
	drifts->measured = true;
	if (!strcmp(m->baseline, PATHPROF_BASELINE_PREVIOUS))
		r = ctl_fail("drift: only the service compares with the previous build: use "
			     "pathprofctl compare BINARY@VERSION BINARY@VERSION here");
	else
		r = measure(m, options, store);
	for (size_t i = 0; i < m->subject_cnt; i++) {
		pathprof_rolling_release(&m->subjects[i].rolling);
		free(m->subjects[i].container);
	}
	free(m->subjects);
	pathprof_pinned_release(&m->pinned);
	free(m);
	return r;
}
