// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift measured here, for databases that no service watched: each of the last windows against the
 * hour before it, or against a baseline, binary by binary.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "drifts.h"
#include "kinds.h"
#include "pathprof/drift.h"
#include "selector.h"
#include "side_store.h"

#define WINDOWS_MAX    64
#define ROLLING_NS     (3600 * CTL_NS_PER_S)
#define SAMPLES_MIN    200 /* fewer are no evidence either way */
#define DISPERSION_CNT 8   /* earlier windows that it is taken from */

struct window {
	int64_t id, begin_ns, end_ns;
	double paths_a_burst;
	struct side side;
};

struct windows {
	struct window *list; /* newest first */
	size_t cnt;
	struct kinds kinds;
};

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct windows *windows = context;
	struct window *window = &windows->list[windows->cnt++];

	*window = (struct window){.id = row->id, .begin_ns = row->begin_ns, .end_ns = row->end_ns};
	window->paths_a_burst = 1;
	if (row->totals.bursts && row->totals.paths > row->totals.bursts)
		window->paths_a_burst = (double)row->totals.paths / (double)row->totals.bursts;
	return windows->cnt == WINDOWS_MAX;
}

static void begin_side(struct side *side, enum pathprof_window_kind kind)
{
	side_init(side, "what is selected", SIDE_PATHS);
	side->measure.kind = kind;
	side->weighed = kind == PATHPROF_KIND_WEIGHED;
}

static int read_windows(struct windows *windows, const struct ctl_options *options,
			struct pathprof_store *store, struct pathprof_error *error)
{
	struct pathprof_filter filter = options->filter;
	int r;

	filter.limit = WINDOWS_MAX;
	r = kinds_choose(&windows->kinds, store, &filter, error);
	if (r == 0)
		kinds_tell(&windows->kinds);
	if (r == 0)
		r = pathprof_store_windows(store, &filter, take_window, windows, error);
	for (size_t i = 0; i < windows->cnt; i++)
		begin_side(&windows->list[i].side, windows->kinds.used);
	filter.limit = 0;
	for (size_t i = 0; r >= 0 && i < windows->cnt; i++) {
		struct side *side = &windows->list[i].side;

		filter.window = windows->list[i].id;
		r = side_store_read(side, store, &filter, NULL, error);
		side_sort(side);
	}
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- one binary */

/* Index of the first item of a binary or behind it. */
static size_t begin_of(const struct side *side, uint64_t group)
{
	size_t low = 0, high = side->item_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (side->items[middle].key_hi < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_binary(struct side *to, const struct side *from, uint64_t group)
{
	size_t i = begin_of(from, group);

	for (; i < from->item_cnt && from->items[i].key_hi == group; i++)
		side_add(to, &from->items[i]);
}

/* What the hour before a window held of a binary; weights of several windows add up. */
static void add_before(struct side *to, const struct windows *windows, size_t at, uint64_t group)
{
	int64_t from_ns = windows->list[at].begin_ns - ROLLING_NS;

	for (size_t i = at + 1; i < windows->cnt; i++)
		if (windows->list[i].end_ns >= from_ns)
			add_binary(to, &windows->list[i].side, group);
}

/* 0: not known. */
static double dispersion_of(const struct windows *windows, size_t at, uint64_t group)
{
	const struct pathprof_distribution *each[DISPERSION_CNT];
	struct side parts[DISPERSION_CNT];
	double seen = 0;
	size_t cnt = 0;
	int r = 0;

	for (size_t i = at + 1; i < windows->cnt && cnt < DISPERSION_CNT && r == 0; i++, cnt++) {
		begin_side(&parts[cnt], windows->kinds.used);
		add_binary(&parts[cnt], &windows->list[i].side, group);
		r = side_finish(&parts[cnt]);
		each[cnt] = &parts[cnt].distribution;
	}
	if (r < 0 || pathprof_drift_dispersion(each, cnt, &seen) < 0)
		seen = 0;
	for (size_t i = 0; i < cnt; i++)
		side_release(&parts[i]);
	return seen;
}

static void add_row(struct drifts *drifts, const struct window *window,
		    const struct side_binary *binary, const char *baseline,
		    const struct pathprof_drift *d)
{
	drifts_add(drifts, &(struct pathprof_drift_row){
				   .window = window->id,
				   .begin_ns = window->begin_ns,
				   .end_ns = window->end_ns,
				   .binary_id = binary->id,
				   .binary_name = binary->name,
				   .container = "",
				   .baseline = baseline,
				   .window_samples = d->window_samples,
				   .baseline_samples = d->baseline_samples,
				   .kl_bits = d->kl_bits,
				   .kl_corrected_bits = d->kl_corrected_bits,
				   .kl_low_bits = d->kl_low_bits,
				   .kl_high_bits = d->kl_high_bits,
				   .overlap = d->overlap,
				   .angle_degrees = d->angle_degrees,
				   .coverage_static = d->coverage.static_share,
				   .coverage_dynamic = d->coverage.dynamic_share,
				   .matched = 1,
			   });
}

static void measure_sides(struct drifts *drifts, const struct windows *windows, size_t at,
			  const struct side_binary *binary, struct side *now, struct side *before,
			  const char *baseline)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	const struct window *window = &windows->list[at];
	struct pathprof_drift d;

	if (side_finish(now) < 0 || side_finish(before) < 0 || now->samples < SAMPLES_MIN ||
	    before->samples < SAMPLES_MIN)
		return;
	pathprof_drift_set_bursts(&settings, &now->distribution, &before->distribution,
				  window->paths_a_burst, dispersion_of(windows, at, binary->group));
	settings.replicates = 0;
	if (pathprof_drift_measure(&d, &now->distribution, &before->distribution, &settings) == 0)
		add_row(drifts, window, binary, baseline, &d);
}

/* pinned: the baseline; NULL: the hour before. */
static void measure_binary(struct drifts *drifts, const struct windows *windows, size_t at,
			   const struct side_binary *binary, const struct side *pinned,
			   const char *baseline)
{
	struct side now, before;

	begin_side(&now, windows->kinds.used);
	begin_side(&before, windows->kinds.used);
	add_binary(&now, &windows->list[at].side, binary->group);
	if (pinned)
		add_binary(&before, pinned, binary->group);
	else
		add_before(&before, windows, at, binary->group);
	measure_sides(drifts, windows, at, binary, &now, &before, baseline);
	side_release(&now);
	side_release(&before);
}

static void measure_window(struct drifts *drifts, const struct windows *windows, size_t at,
			   const struct side *pinned, const char *baseline)
{
	const struct side *side = &windows->list[at].side;

	for (uint32_t i = 0; i < side->binary_cnt; i++)
		measure_binary(drifts, windows, at, &side->binaries[i], pinned, baseline);
}

/* ---------------------------------------------------------------- baselines */

static void measure_rolling(struct drifts *drifts, const struct windows *windows)
{
	for (size_t i = 0; i + 1 < windows->cnt; i++)
		measure_window(drifts, windows, i, NULL, "rolling");
}

static int measure_pinned(struct drifts *drifts, const struct windows *windows,
			  const struct ctl_options *options)
{
	_cleanup_free_ char *word = ctl_printf("baseline:%s", options->baseline);
	struct side baseline;
	int r = selector_load(&baseline, options, word, SIDE_PATHS);

	if (r)
		return r;
	for (size_t i = 0; r == CTL_OK && i < windows->cnt; i++) {
		r = side_check_kinds(&windows->list[i].side, &baseline);
		if (r == CTL_OK)
			measure_window(drifts, windows, i, &baseline, options->baseline);
	}
	side_release(&baseline);
	return r;
}

/* ---------------------------------------------------------------- together */

static int measure(struct drifts *drifts, const struct windows *windows,
		   const struct ctl_options *options)
{
	int r = CTL_OK;

	if (options->baseline && strcmp(options->baseline, "rolling") != 0)
		r = measure_pinned(drifts, windows, options);
	else
		measure_rolling(drifts, windows);
	if (r || drifts->cnt)
		return r;
	return ctl_fail("drift: no binary has %d samples both in a window and in what it is held "
			"against: record longer, or take a longer time (--since, --until)",
			SAMPLES_MIN);
}

int drifts_measure(struct drifts *drifts, const struct ctl_options *options,
		   struct pathprof_store *store)
{
	struct windows windows = {.list = ctl_alloc(WINDOWS_MAX * sizeof(struct window))};
	struct pathprof_error error = {""};
	int r = read_windows(&windows, options, store, &error);

	drifts->measured = true;
	if (r < 0)
		r = ctl_fail_error("drift", r, &error);
	else if (options->baseline && !strcmp(options->baseline, "previous"))
		r = ctl_fail("drift: only the service holds builds against the previous one: "
			     "compare BINARY@VERSION BINARY@VERSION does it here");
	else
		r = measure(drifts, &windows, options);
	for (size_t i = 0; i < windows.cnt; i++)
		side_release(&windows.list[i].side);
	free(windows.list);
	return r;
}
