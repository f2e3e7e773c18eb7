// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Overlap of estimated with exact shares. The same windows serve two estimators where only the
 * arithmetic differs, and the same clock samples all of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exp_estimate.h"
#include "run.h"

#define TAKEN 32

static const uint32_t levels[ESTIMATE_LEVELS] = {1000, 10000, 100000};
static const uint32_t horizons[ESTIMATE_HORIZONS] = {256, 512, 1024, 2048};

static const char *const columns[ESTIMATE_ESTIMATORS] = {
	"32 taken", "32 taken by branches", "256",         "512",          "1024",
	"2048",     "256 + clock",          "512 + clock", "1024 + clock", "2048 + clock",
};
enum { COLUMN_TAKEN, COLUMN_BRANCHES, COLUMN_WEIGHTS, COLUMN_STRATA = 2 + ESTIMATE_HORIZONS };

static void read_overlap(struct lab_sampled *s, enum lab_sampled_estimator estimator,
			 const uint64_t *clock, struct estimate_overlap *r, size_t time,
			 size_t level, size_t column)
{
	lab_sampled_read(s, estimator, clock);
	r->percent[time][ESTIMATE_RUNS][level][column] = 100 * lab_sampled_overlap_runs(s);
	r->percent[time][ESTIMATE_TIME][level][column] = 100 * lab_sampled_overlap_time(s);
	r->percent[time][ESTIMATE_FUNCTIONS][level][column] =
		100 * lab_sampled_overlap_functions(s);
}

/* A small run takes fewer windows of modelled time: they are enough to show its bias. */
static size_t level_cnt(const struct lab_run *run, size_t time)
{
	return lab_run_small(run) && time > 0 ? ESTIMATE_LEVELS - 1 : ESTIMATE_LEVELS;
}

/* column: that of the estimate by weights. The estimate by strata goes ESTIMATE_HORIZONS columns
 * further. */
static void measure_form(const struct lab_mix *mix, const struct lab_window_form *form,
			 uint64_t seed, uint64_t *const *clocks, size_t cnt,
			 struct estimate_overlap *r, size_t time, size_t column)
{
	struct lab_sampled s;

	lab_sampled_init(&s, mix, form, seed);
	for (size_t l = 0; l < cnt; l++) {
		lab_sampled_take(&s, levels[l] - s.window_cnt);
		read_overlap(&s, column == COLUMN_TAKEN ? LAB_SAMPLED_PLAIN : LAB_SAMPLED_WEIGHTS,
			     NULL, r, time, l, column);
		if (form->horizon)
			read_overlap(&s, LAB_SAMPLED_STRATA, clocks[l], r, time, l,
				     column + ESTIMATE_HORIZONS);
	}
	lab_sampled_release(&s);
}

void estimate_overlap_measure(const struct lab_run *run, const struct lab_mix *mix, size_t time,
			      uint64_t seed, struct estimate_overlap *result)
{
	size_t cnt = level_cnt(run, time);
	enum lab_stream_clock clock = estimate_times[time];
	struct lab_window_form form = {.clock = clock, .taken = TAKEN};
	uint64_t *clocks[ESTIMATE_LEVELS], drawn = 0;

	for (size_t l = 0; l < cnt; l++) {
		clocks[l] = lab_alloc(mix->function_cnt, sizeof(uint64_t));
		if (l)
			memcpy(clocks[l], clocks[l - 1], mix->function_cnt * sizeof(uint64_t));
		lab_mix_clock(mix, (uint64_t)levels[l] * ESTIMATE_CLOCK_WINDOWS - drawn, &seed,
			      clocks[l]);
		drawn = (uint64_t)levels[l] * ESTIMATE_CLOCK_WINDOWS;
	}
	measure_form(mix, &form, seed + 1, clocks, cnt, result, time, COLUMN_TAKEN);
	form.clock = LAB_STREAM_TAKEN;
	measure_form(mix, &form, seed + 2, clocks, cnt, result, time, COLUMN_BRANCHES);
	for (size_t h = 0; h < ESTIMATE_HORIZONS; h++) {
		form = (struct lab_window_form){.clock = clock, .horizon = horizons[h]};
		measure_form(mix, &form, seed + 3 + h, clocks, cnt, result, time,
			     COLUMN_WEIGHTS + h);
	}
	for (size_t l = 0; l < cnt; l++)
		free(clocks[l]);
}

/* ---------------------------------------------------------------- tables */

static const char *const stems[ESTIMATE_MEASURES] = {"runs", "time", "functions"};
static const char *const whats[ESTIMATE_MEASURES] = {"RUNS of paths", "TIME of paths",
						     "TIME of functions"};
static const char *const suffixes[ESTIMATE_TIMES] = {"", "-dear"};
static const char *const clocks_of[ESTIMATE_TIMES] = {
	"clock over instructions", "modelled time: some instructions cost a hundred"};

static void write_programs(struct lab_run *run, const struct estimate_row *rows, size_t cnt,
			   size_t time, size_t measure)
{
	const struct lab_plot plot = {
		.form = LAB_PLOT_BARS, .x = "program", .y = "overlap, %", .y_max = 100};
	char name[64], title[160];
	struct lab_table *table;

	snprintf(name, sizeof(name), "estimate-%s%s", stems[measure], suffixes[time]);
	snprintf(title, sizeof(title), "%s: overlap with the truth after %u windows, %%, %s",
		 whats[measure], levels[level_cnt(run, time) - 1], clocks_of[time]);
	table = lab_table_new(name, title, "program", columns, ESTIMATE_ESTIMATORS);
	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_overlap *o = rows[i].figures;

		lab_table_add(table, rows[i].label,
			      o->percent[time][measure][level_cnt(run, time) - 1]);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void mean_of(const struct estimate_row *rows, size_t cnt, size_t time, size_t measure,
		    size_t level, double *ret_values)
{
	for (size_t c = 0; c < ESTIMATE_ESTIMATORS; c++) {
		ret_values[c] = 0;
		for (size_t i = 0; i < cnt; i++) {
			const struct estimate_overlap *o = rows[i].figures;

			ret_values[c] += o->percent[time][measure][level][c] / (double)cnt;
		}
	}
}

static void write_levels(struct lab_run *run, const struct estimate_row *rows, size_t cnt,
			 size_t time)
{
	double values[ESTIMATE_ESTIMATORS];
	char name[64], title[160], label[64];
	struct lab_table *table;

	snprintf(name, sizeof(name), "estimate-levels%s", suffixes[time]);
	snprintf(title, sizeof(title), "Overlap with the truth, %%, mean of all, %s",
		 clocks_of[time]);
	table = lab_table_new(name, title, "windows", columns, ESTIMATE_ESTIMATORS);
	for (size_t m = 0; m < ESTIMATE_MEASURES; m++)
		for (size_t l = 0; l < level_cnt(run, time); l++) {
			snprintf(label, sizeof(label), "%s %u", whats[m], levels[l]);
			mean_of(rows, cnt, time, m, l, values);
			lab_table_add(table, label, values);
		}
	lab_table_write(run, table);
	lab_table_free(table);
}

/* The simplest and the best estimator, side by side. */
static void write_summary(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	static const char *const summary[] = {"RUNS 32 taken", "RUNS 2048", "TIME 32 taken",
					      "TIME 2048 + clock"};
	const struct lab_plot plot = {
		.form = LAB_PLOT_BARS, .x = "program", .y = "overlap, %", .y_max = 100};
	size_t last = ESTIMATE_HORIZONS - 1, top = level_cnt(run, 0) - 1;
	struct lab_table *table = lab_table_new(
		"estimate",
		"Overlap with the truth after 100,000 windows, %: RUNS of paths, TIME "
		"of functions",
		"program", summary, 4);

	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_overlap *o = rows[i].figures;
		const double *runs = o->percent[0][ESTIMATE_RUNS][top];
		const double *time = o->percent[0][ESTIMATE_FUNCTIONS][top];
		const double values[4] = {runs[COLUMN_TAKEN], runs[COLUMN_WEIGHTS + last],
					  time[COLUMN_TAKEN], time[COLUMN_STRATA + last]};

		lab_table_add(table, rows[i].label, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_headlines(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	double values[ESTIMATE_ESTIMATORS];

	mean_of(rows, cnt, 0, ESTIMATE_RUNS, level_cnt(run, 0) - 1, values);
	lab_headline(run, &(struct lab_headline){
				  .what = "overlap of RUNS, 100,000 windows of 2048 instructions",
				  .paper = "none",
				  .ours = values[COLUMN_STRATA + ESTIMATE_HORIZONS - 1],
				  .unit = "%",
				  .aim = 95,
				  .why = "the rest is paths longer than the window"});
	mean_of(rows, cnt, 1, ESTIMATE_FUNCTIONS, level_cnt(run, 1) - 1, values);
	lab_headline(run,
		     &(struct lab_headline){
			     .what = "overlap of TIME of functions, modelled time, same windows",
			     .paper = "none",
			     .ours = values[COLUMN_STRATA + ESTIMATE_HORIZONS - 1],
			     .unit = "%",
			     .aim = 95});
}

void estimate_overlap_write(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	write_summary(run, rows, cnt);
	for (size_t t = 0; t < ESTIMATE_TIMES; t++) {
		write_levels(run, rows, cnt, t);
		for (size_t m = 0; m < ESTIMATE_MEASURES; m++)
			write_programs(run, rows, cnt, t, m);
	}
	write_headlines(run, rows, cnt);
}
