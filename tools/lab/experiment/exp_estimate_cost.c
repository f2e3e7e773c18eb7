// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The length of window that gives most for its cost. A stepper that knows the code stops where the
 * program decides: at conditional branches and indirect transfers. Some decisions share a stop. A
 * window costs FIXED_US and STOP_US for each stop; a budget buys as many as it can.
 */
#include <math.h>
#include <stdlib.h>

#include "exp_estimate.h"
#include "run.h"

#define TAKEN         32
#define STEP_US       20.0 /* a single step */
#define STOP_US       27.0
#define PER_STOP      2.6 /* decisions a stop, on average */
#define FIXED_US      60.0
#define PILOT         2000  /* windows taken to learn the cost of one */
#define CLOCK_SAMPLES 12000 /* in a minute */
#define SMALL_REPS    10
#define FULL_REPS     50

/* A minute at 1 % of a CPU, ten minutes at 1 % or one at 10 %. */
static const double budgets_us[ESTIMATE_BUDGETS] = {600e3, 6000e3};

static double cost_us(const struct lab_sampled *s)
{
	double decisions = (double)s->decision_cnt / (double)s->window_cnt;

	/* Rounding up costs half a stop on average. */
	return FIXED_US + STOP_US * (decisions / PER_STOP + 0.5);
}

/* RUNS come from windows alone, TIME from clock samples as well if there is a horizon. */
static void measure_budget(struct lab_sampled *s, const uint64_t *clock, size_t reps,
			   double window_us, size_t budget, struct estimate_length *r)
{
	double windows = floor(budgets_us[budget] / window_us);

	r->windows[budget] = windows;
	for (size_t i = 0; i < reps; i++) {
		lab_sampled_clear(s);
		lab_sampled_take(s, (uint64_t)windows);
		lab_sampled_read(s, LAB_SAMPLED_PLAIN, NULL);
		r->runs[budget] += 100 * lab_sampled_overlap_runs(s) / (double)reps;
		if (s->form.horizon)
			lab_sampled_read(s, LAB_SAMPLED_STRATA, clock);
		r->time[budget] += 100 * lab_sampled_overlap_time(s) / (double)reps;
	}
}

static void measure_length(const struct lab_run *run, const struct lab_mix *mix,
			   const struct lab_window_form *form, const uint64_t *clock, double whole,
			   uint64_t seed, struct estimate_length *r)
{
	size_t reps = lab_run_small(run) ? SMALL_REPS : FULL_REPS;
	struct lab_sampled s;
	double window_us;

	lab_sampled_init(&s, mix, form, seed);
	lab_sampled_take(&s, PILOT);
	window_us = cost_us(&s);
	r->insns = (double)s.insn_cnt / PILOT;
	r->decisions = (double)s.decision_cnt / PILOT;
	r->full = 100.0 * (double)s.full_cnt / PILOT;
	r->cost_ms = window_us / 1000;
	r->whole = 100 * whole;
	measure_budget(&s, clock, reps, window_us, 0, r);
	measure_budget(&s, clock, (reps + 3) / 4, window_us, 1, r);
	lab_sampled_release(&s);
}

/* Interpolates: between two lengths cost grows as a power of length. */
static double horizon_of_cost(const struct estimate_cost *c, double cost_ms)
{
	size_t i = 0;
	double low, high, slope;

	while (i < LAB_LENGTH_CNT - 2 && c->horizons[i + 1].cost_ms < cost_ms)
		i++;
	low = log(c->horizons[i].cost_ms);
	high = log(c->horizons[i + 1].cost_ms);
	slope = log((double)lab_horizons[i + 1] / lab_horizons[i]) / (high - low);
	return lab_horizons[i] * exp(slope * (log(cost_ms) - low));
}

void estimate_cost_measure(const struct lab_run *run, const struct lab_mix *mix, uint64_t seed,
			   struct estimate_cost *result)
{
	uint64_t *clock = lab_alloc(mix->function_cnt, sizeof(clock[0]));

	lab_mix_clock(mix, CLOCK_SAMPLES, &seed, clock);
	for (size_t i = 0; i < LAB_LENGTH_CNT; i++) {
		struct lab_window_form form = {.clock = mix->time, .horizon = lab_horizons[i]};

		measure_length(run, mix, &form, clock, mix->seen_whole[i], seed + 1 + i,
			       &result->horizons[i]);
		form = (struct lab_window_form){.clock = mix->time, .taken = lab_takens[i]};
		measure_length(run, mix, &form, clock, mix->seen_whole_taken[i], seed + 9 + i,
			       &result->takens[i]);
		if (lab_takens[i] == TAKEN)
			result->stepped_ms = (FIXED_US + STEP_US * result->takens[i].insns) / 1000;
	}
	result->equal_horizon = horizon_of_cost(result, result->stepped_ms);
	free(clock);
}

/* ---------------------------------------------------------------- tables */

static const char *const lengths[2 * LAB_LENGTH_CNT] = {
	"128 instructions",  "256 instructions",  "512 instructions", "1024 instructions",
	"2048 instructions", "4096 instructions", "8 taken",          "16 taken",
	"32 taken",          "64 taken",          "128 taken",        "256 taken"};

static const struct estimate_length *length_of(const struct estimate_row *row, size_t i)
{
	const struct estimate_cost *c = row->figures;

	return i < LAB_LENGTH_CNT ? &c->horizons[i] : &c->takens[i - LAB_LENGTH_CNT];
}

static void write_mean(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	static const char *const columns[] = {
		"instructions",   "decisions",       "cost; ms",     "windows for 0.6 s",
		"RUNS for 0.6 s", "TIME for 0.6 s",  "RUNS for 6 s", "TIME for 6 s",
		"whole paths",    "full of branches"};
	struct lab_table *table = lab_table_new(
		"estimate-cost", "What a window costs and what a budget buys: overlap, %, mean",
		"window", columns, 10);

	for (size_t l = 0; l < 2 * LAB_LENGTH_CNT; l++) {
		double values[10] = {0};

		for (size_t i = 0; i < cnt; i++) {
			const struct estimate_length *r = length_of(&rows[i], l);
			const double row[10] = {r->insns,   r->decisions, r->cost_ms, r->windows[0],
						r->runs[0], r->time[0],   r->runs[1], r->time[1],
						r->whole,   r->full};

			for (size_t c = 0; c < 10; c++)
				values[c] += row[c] / (double)cnt;
		}
		lab_table_add(table, lengths[l], values);
	}
	lab_table_write(run, table);
	lab_table_free(table);
}

/* Programs by lengths: RUNS for the budget. */
static void write_programs(struct lab_run *run, const struct estimate_row *rows, size_t cnt,
			   size_t budget, const char *name, const char *title)
{
	const struct lab_plot plot = {
		.form = LAB_PLOT_BARS, .x = "program", .y = "overlap of RUNS, %", .y_max = 100};
	struct lab_table *table =
		lab_table_new(name, title, "program", lengths, 2 * LAB_LENGTH_CNT);

	for (size_t i = 0; i < cnt; i++) {
		double values[2 * LAB_LENGTH_CNT];

		for (size_t l = 0; l < 2 * LAB_LENGTH_CNT; l++)
			values[l] = length_of(&rows[i], l)->runs[budget];
		lab_table_add(table, rows[i].label, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_curve(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	static const char *const columns[] = {"RUNS for 0.6 s", "TIME for 0.6 s", "RUNS for 6 s",
					      "TIME for 6 s", "paths' runs seen whole"};
	const struct lab_plot plot = {.form = LAB_PLOT_LINES,
				      .x = "length of a window, instructions",
				      .y = "%",
				      .x_log = true,
				      .y_max = 100};
	struct lab_table *table =
		lab_table_new("estimate-length", "Overlap that a budget of holding buys, %",
			      "instructions", columns, 5);
	char label[16];

	for (size_t l = 0; l < LAB_LENGTH_CNT; l++) {
		double values[5] = {0};

		for (size_t i = 0; i < cnt; i++) {
			const struct estimate_length *r = length_of(&rows[i], l);
			const double row[5] = {r->runs[0], r->time[0], r->runs[1], r->time[1],
					       r->whole};

			for (size_t c = 0; c < 5; c++)
				values[c] += row[c] / (double)cnt;
		}
		snprintf(label, sizeof(label), "%u", lab_horizons[l]);
		lab_table_add(table, label, values);
	}
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_equal(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	static const char *const columns[] = {"instructions in 32 taken", "ms by single steps",
					      "horizon of that cost"};
	struct lab_table *table = lab_table_new(
		"estimate-equal",
		"What 32 taken branches cost a step an instruction, and the horizon that stopping "
		"at decisions buys for it",
		"program", columns, 3);

	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_cost *c = rows[i].figures;
		const double values[3] = {c->takens[2].insns, c->stepped_ms, c->equal_horizon};

		lab_table_add(table, rows[i].label, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

/* Writes the length with the greatest overlap, as the mean over RUNS and TIME, budgets and
 * programs. */
static void write_headline(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	double most = 0;
	size_t best = 0;

	for (size_t l = 0; l < LAB_LENGTH_CNT; l++) {
		double sum = 0;

		for (size_t i = 0; i < cnt; i++)
			for (size_t b = 0; b < ESTIMATE_BUDGETS; b++)
				sum += length_of(&rows[i], l)->runs[b] +
				       length_of(&rows[i], l)->time[b];
		if (sum > most) {
			most = sum;
			best = l;
		}
	}
	lab_headline(run, &(struct lab_headline){.what = "the window worth most for its cost",
						 .paper = "none",
						 .ours = lab_horizons[best],
						 .unit = "instructions",
						 .aim = NAN,
						 .why = "mean of RUNS and TIME for 0.6 and 6 s of "
							"holding"});
}

void estimate_cost_write(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	write_mean(run, rows, cnt);
	write_curve(run, rows, cnt);
	write_programs(run, rows, cnt, 0, "estimate-cost-programs",
		       "Overlap of RUNS for 0.6 s of holding, %");
	write_programs(run, rows, cnt, 1, "estimate-cost-programs-6s",
		       "Overlap of RUNS for 6 s of holding, %");
	write_equal(run, rows, cnt);
	write_headline(run, rows, cnt);
}
