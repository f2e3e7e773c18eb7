// SPDX-License-Identifier: GPL-2.0-or-later
/* The windows that figures were taken from: see measure.h. */
#include "measure.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "../text/cleanup.h"
#include "base/clock.h"
#include "base/plural.h"

static uint32_t greater(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* A burst stands for as much time as any other, however it ended. */
static double cut_samples(const struct pathprof_totals *totals)
{
	double full = (double)totals->ends[PATHPROF_END_FULL], bursts = (double)totals->bursts;

	return bursts > full ? (double)totals->clock_samples * (1 - full / bursts) : 0;
}

static void add_time(struct measure *measure, const struct pathprof_window_row *row)
{
	double samples = (double)row->totals.clock_samples;

	if (!row->clock_hz)
		return;
	measure->timed_samples += samples;
	measure->time_ns += samples * PP_NSEC_PER_SEC / row->clock_hz;
}

static int add_window(void *context, const struct pathprof_window_row *row)
{
	struct measure *measure = context;

	measure->mixed |= measure->windows &&
			  (measure->horizon != row->horizon || measure->clock_hz != row->clock_hz);
	measure->windows++;
	measure->bursts += row->totals.bursts;
	measure->paths += row->totals.paths;
	measure->branches += row->totals.branches;
	measure->cut_samples += cut_samples(&row->totals);
	measure->shared_cnt += row->totals.drops[PATHPROF_DROP_BUSY];
	measure->left_out_cnt += row->totals.drops[PATHPROF_DROP_TABLE_FULL];
	add_time(measure, row);
	lost_add(&measure->lost, &row->totals);
	measure->horizon = greater(measure->horizon, row->horizon);
	measure->taken_wanted = greater(measure->taken_wanted, row->taken_wanted);
	measure->clock_hz = greater(measure->clock_hz, row->clock_hz);
	measure->clock_kernel |= row->clock_kernel;
	return 0;
}

int measure_load(struct measure *ret_measure, struct pathprof_store *store,
		 const struct pathprof_filter *filter, enum pathprof_window_kind kind,
		 struct pathprof_error *error)
{
	struct pathprof_filter all = *filter;
	struct measure measure = {.kind = kind};
	int r;

	all.limit = 0;
	r = pathprof_store_windows(store, &all, add_window, &measure, error);
	if (r == 0)
		*ret_measure = measure;
	return r;
}

bool measure_is_exact(const struct measure *measure)
{
	return measure->kind == PATHPROF_KIND_BRANCHES && !measure->bursts && !measure->branches &&
	       measure->paths;
}

bool measure_is_nearly_exact(const struct measure *measure)
{
	return measure_is_exact(measure) && measure->shared_cnt;
}

/* Whether these are counts of another tool, which may or may not have sampled. */
static bool is_of_branches(const struct measure *measure)
{
	return measure->kind == PATHPROF_KIND_BRANCHES && !measure->bursts && measure->branches;
}

const char *measure_figure(const struct measure *measure)
{
	if (measure->kind == PATHPROF_KIND_ANY)
		return NULL;
	return measure->kind == PATHPROF_KIND_TAKEN ? "SHARE" : "RUNS";
}

static bool counts_insns(const struct measure *measure)
{
	return measure->kind == PATHPROF_KIND_HORIZON || measure->kind == PATHPROF_KIND_WEIGHED;
}

char *measure_bursts(const struct measure *measure)
{
	static const char *const how[PATHPROF_KIND_CNT] = {
		[PATHPROF_KIND_WEIGHED] = ", weighed by the clock",
		[PATHPROF_KIND_HORIZON] = ", each counted once",
		[PATHPROF_KIND_BRANCHES] = ", sampled on branches",
		[PATHPROF_KIND_TAKEN] = "",
	};

	if (!measure_figure(measure))
		return ctl_strdup("");
	if (measure_is_nearly_exact(measure))
		return ctl_strdup("nearly exact counts: threads shared counters, so some may be "
				  "missing");
	if (measure_is_exact(measure) && measure->left_out_cnt)
		return ctl_printf("exact counts, of all but %" PRIu64 " %s of paths without a "
				  "counter",
				  measure->left_out_cnt,
				  pp_plural(measure->left_out_cnt, "execution", "executions"));
	if (measure_is_exact(measure))
		return ctl_strdup("exact counts, of every path that ran");
	if (is_of_branches(measure))
		return ctl_strdup("counts of another tool");
	return ctl_printf("%" PRIu64 " %s of %s%" PRIu32 " %s%s", measure->bursts,
			  pp_plural(measure->bursts, "burst", "bursts"),
			  counts_insns(measure) ? "up to " : "",
			  counts_insns(measure) ? measure->horizon : measure->taken_wanted,
			  counts_insns(measure) ? "instructions" : "taken branches",
			  how[measure->kind]);
}

const char *measure_caution(const struct measure *measure)
{
	if (!counts_insns(measure))
		return "";
	return "No counter told rates of instructions, so all code is taken to run at one: 10.0% "
	       "would be 5.3% for code\nof half the others' rate, and 18.2% for code of twice "
	       "their rate.";
}

struct pathprof_share measure_at_rates(const struct measure *measure, double share)
{
	if (!counts_insns(measure))
		return (struct pathprof_share){NAN, NAN, NAN};
	return (struct pathprof_share){share, share / (2 - share), 2 * share / (1 + share)};
}

void measure_figure_member(json_t *object, const char *figure)
{
	_cleanup_free_ char *small = ctl_strdup(figure ? figure : "");

	for (char *c = small; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	json_add_text(object, "figure", small);
}

void measure_members(const struct measure *measure, json_t *object)
{
	if (!measure_figure(measure))
		return;
	json_add_text(object, "basis",
		      measure->kind == PATHPROF_KIND_BRANCHES ? "branches" : "time");
	json_add_text(object, "kind", pathprof_window_kind_name(measure->kind));
	json_add_count(object, "horizon", measure->horizon);
	json_add_count(object, "lost", measure->lost.lost_cnt);
}
