// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How drift detection does on made-up programs whose truth is known (docs/drift.md): false alarms
 * when nothing changed, and how often a change of 10 % of the flow is caught within three windows,
 * beside what plain relative entropy would have done with the same threshold.
 *
 * No program runs and nothing is traced: seeds are fixed, so the tables are the same everywhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../drift/calibrate.h"
#include "experiment.h"

#define FLOW 0.1

struct made_up {
	const char *name;
	enum lab_world_kind kind;
	size_t event_cnt;
};
static const struct made_up worlds[] = {
	{"1/i, 20 events", LAB_WORLD_ZIPF, 20},      {"1/i, 200", LAB_WORLD_ZIPF, 200},
	{"1/i, 2000", LAB_WORLD_ZIPF, 2000},         {"1/i^2, 200", LAB_WORLD_STEEP, 200},
	{"1/i^2, 2000", LAB_WORLD_STEEP, 2000},      {"alike, 2", LAB_WORLD_UNIFORM, 2},
	{"alike, 20", LAB_WORLD_UNIFORM, 20},        {"alike, 200", LAB_WORLD_UNIFORM, 200},
	{"alike, 2000", LAB_WORLD_UNIFORM, 2000},    {"99 % in one, 20", LAB_WORLD_LOOP, 20},
	{"99 % in one, 2000", LAB_WORLD_LOOP, 2000},
};
#define WORLD_CNT (sizeof(worlds) / sizeof(worlds[0]))

static const uint64_t sizes[] = {200, 1000, 5000, 20000};
#define SIZE_CNT         (sizeof(sizes) / sizeof(sizes[0]))
#define BASELINE_WINDOWS 10

static struct lab_calibration_plan plan_of(const struct made_up *world, uint64_t samples)
{
	struct lab_calibration_plan plan = {
		.kind = world->kind,
		.event_cnt = world->event_cnt,
		.window_samples = samples,
		.baseline_samples = BASELINE_WINDOWS * samples,
		.flow = FLOW,
		.bursts = {.samples = 1, .stay = 1, .loop = 1},
		.seed = 20000,
		.settings = pathprof_drift_defaults,
		.fast = pathprof_alert_fast,
		.slow = pathprof_alert_slow,
	};

	plan.settings.replicates = 0;
	return plan;
}

static struct lab_calibration calibrate(const struct lab_calibration_plan *plan)
{
	struct lab_calibration c;
	int r = lab_calibrate(&c, plan);

	if (r < 0)
		lab_fail("drift: %s", strerror(-r));
	return c;
}

/* ---------------------------------------------------------------- when nothing changed */

static const char *const calm_columns[] = {
	"plain D: 200", "1000",   "5000",        "20000",  "over: 200", "1000 ",
	"5000 ",        "20000 ", "alerts: 200", "1000  ", "5000  ",    "20000  ",
};

static void calm_row(const struct made_up *world, bool small, double *ret_row)
{
	for (size_t s = 0; s < SIZE_CNT; s++) {
		struct lab_calibration_plan plan = plan_of(world, sizes[s]);
		struct lab_calibration c;

		plan.trials = small ? 15 : 200;
		plan.calm_windows = 20;
		c = calibrate(&plan);
		ret_row[s] = 100.0 * (double)c.plain_over / (double)c.calm_windows;
		ret_row[SIZE_CNT + s] = 100.0 * (double)c.over / (double)c.calm_windows;
		ret_row[2 * SIZE_CNT + s] = 100.0 * (double)c.fired / (double)c.calm_windows;
	}
}

static void run_calm(struct lab_run *run)
{
	struct lab_table *table =
		lab_table_new("drift-calm", "Nothing changed: % of windows by samples a window",
			      "program", calm_columns, 3 * SIZE_CNT);
	double row[3 * SIZE_CNT], worst = 0, worst_mean = 0, sums[SIZE_CNT] = {0};
	size_t cnt = WORLD_CNT;

	for (size_t w = 0; w < cnt; w++) {
		calm_row(&worlds[w], lab_run_small(run), row);
		lab_table_add(table, worlds[w].name, row);
		for (size_t s = 0; s < SIZE_CNT; s++) {
			sums[s] += row[SIZE_CNT + s];
			worst = fmax(worst, row[2 * SIZE_CNT + s]);
		}
	}
	for (size_t s = 0; s < SIZE_CNT; s++)
		worst_mean = fmax(worst_mean, sums[s] / (double)cnt);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
	lab_headline(run, &(struct lab_headline){
				  .what = "no change: windows over the threshold, worst size",
				  .paper = "-",
				  .ours = worst_mean,
				  .unit = "%",
				  .aim = 1,
				  .at_most = true});
	lab_headline(run, &(struct lab_headline){
				  .what = "no change: alerts a window, worst program and size",
				  .paper = "-",
				  .ours = worst,
				  .unit = "%",
				  .aim = 1,
				  .at_most = true});
}

/* ---------------------------------------------------------------- when 10 % of the flow moved */

static const enum lab_move moves[] = {LAB_MOVE_OTHER, LAB_MOVE_NEW, LAB_MOVE_SPREAD};
#define MOVE_CNT (sizeof(moves) / sizeof(moves[0]))
static const char *const moved_columns[] = {
	"one: true bits", "plain",       "corrected",      "caught, fast", "either",
	"new: plain",     "corrected ",  "caught, fast ",  "either ",      "all: true bits",
	"plain ",         "corrected  ", "caught, fast  ", "either  ",
};
#define MOVED_COLUMN_CNT (sizeof(moved_columns) / sizeof(moved_columns[0]))

static struct lab_calibration move_of(const struct made_up *world, enum lab_move move, bool small)
{
	struct lab_calibration_plan plan = plan_of(world, 5000);

	plan.move = move;
	plan.trials = small ? 30 : 400;
	plan.calm_windows = 2;
	plan.moved_windows = 3;
	return calibrate(&plan);
}

static double moved_row(const struct made_up *world, bool small, double *ret_row)
{
	double least = 100;
	size_t at = 0;

	for (size_t m = 0; m < MOVE_CNT; m++) {
		struct lab_calibration c = move_of(world, moves[m], small);
		double caught = 100.0 * c.caught / c.trials;

		if (moves[m] != LAB_MOVE_NEW)
			ret_row[at++] = c.truth_bits;
		ret_row[at++] = c.plain_bits;
		ret_row[at++] = c.corrected_bits;
		ret_row[at++] = 100.0 * c.caught_fast / c.trials;
		ret_row[at++] = caught;
		least = fmin(least, caught);
	}
	return least;
}

static void set_decimals(struct lab_table *table)
{
	for (size_t i = 0; i < MOVED_COLUMN_CNT; i++)
		lab_table_set_decimals(table, i,
				       strstr(moved_columns[i], "caught") ||
						       strstr(moved_columns[i], "either")
					       ? 1
					       : 4);
}

static void run_moved(struct lab_run *run)
{
	struct lab_table *table = lab_table_new("drift-moved",
						"10 % of the flow moved, 5000 samples a window: "
						"bits, and % caught in three windows",
						"program", moved_columns, MOVED_COLUMN_CNT);
	double row[MOVED_COLUMN_CNT], least = 100;

	set_decimals(table);
	for (size_t w = 0; w < WORLD_CNT; w++) {
		least = fmin(least, moved_row(&worlds[w], lab_run_small(run), row));
		lab_table_add(table, worlds[w].name, row);
	}
	lab_table_write(run, table);
	lab_table_free(table);
	lab_headline(run, &(struct lab_headline){
				  .what = "10 % moved: caught in three windows, worst case",
				  .paper = "-",
				  .ours = least,
				  .unit = "%",
				  .aim = 95});
}

/* ---------------------------------------------------------------- samples that come in bursts */

static const char *const burst_columns[] = {
	"alerts, taken as independent",
	"by one dispersion",
	"bursts known",
	"corrected, bits",
	"by one dispersion ",
	"bursts known ",
	"caught: independent",
	"by one dispersion  ",
	"bursts known  ",
};
#define BURST_COLUMN_CNT (sizeof(burst_columns) / sizeof(burst_columns[0]))

static struct lab_calibration burst_of(struct lab_run *run, uint32_t burst, unsigned int way,
				       bool moved)
{
	struct lab_calibration_plan plan = plan_of(&worlds[1], 5000);

	plan.trials = lab_run_small(run) ? 10 : 200;
	plan.bursts = (struct lab_bursts){burst, 0.7, 8, way == 2};
	plan.told = way > 0;
	plan.calm_windows = moved ? 2 : 20;
	plan.moved_windows = moved ? 3 : 0;
	plan.move = LAB_MOVE_OTHER;
	return calibrate(&plan);
}

static void run_bursts(struct lab_run *run)
{
	static const uint32_t sizes_of[] = {1, 4, 14, 30};
	struct lab_table *table =
		lab_table_new("drift-dispersion",
			      "Bursts of so many samples of loops, 1/i of 200 "
			      "events, 5000 samples: nothing changed, alerts in "
			      "% of windows; 10 % moved to one, % caught in three",
			      "a burst", burst_columns, BURST_COLUMN_CNT);
	double worst = 0;

	for (size_t i = 0; i < sizeof(sizes_of) / sizeof(sizes_of[0]); i++) {
		double row[BURST_COLUMN_CNT];
		char label[16];

		for (unsigned int way = 0; way < 3; way++) {
			struct lab_calibration calm = burst_of(run, sizes_of[i], way, false);
			struct lab_calibration moved = burst_of(run, sizes_of[i], way, true);

			row[way] = 100.0 * (double)calm.fired / (double)calm.calm_windows;
			row[3 + way] = calm.corrected_bits;
			row[6 + way] = 100.0 * moved.caught / moved.trials;
		}
		worst = fmax(worst, row[2]);
		snprintf(label, sizeof(label), "%u", sizes_of[i]);
		lab_table_add(table, label, row);
	}
	for (size_t i = 3; i < 6; i++)
		lab_table_set_decimals(table, i, 4);
	lab_table_write(run, table);
	lab_table_free(table);
	lab_headline(run,
		     &(struct lab_headline){
			     .what = "no change, samples in bursts: alerts a window, worst case",
			     .paper = "-",
			     .ours = worst,
			     .unit = "%",
			     .aim = 1,
			     .at_most = true});
}

/* ---------------------------------------------------------------- bias and interval */

static const char *const bias_columns[] = {"true bits", "plain", "corrected", "in interval %",
					   "in bootstrap interval %"};

static void run_bias(struct lab_run *run)
{
	struct lab_table *table = lab_table_new(
		"drift-bias",
		"Bias and interval: 1/i of 200 events, 10 % of the flow moved to one event",
		"samples", bias_columns, 5);

	for (size_t s = 0; s < SIZE_CNT; s++) {
		struct lab_calibration_plan plan = plan_of(&worlds[1], sizes[s]);
		struct lab_calibration c, boot;
		char label[16];

		plan.move = LAB_MOVE_OTHER;
		plan.trials = lab_run_small(run) ? 10 : 500;
		plan.moved_windows = 2;
		c = calibrate(&plan);
		plan.settings.replicates = pathprof_drift_defaults.replicates;
		boot = calibrate(&plan);
		snprintf(label, sizeof(label), "%llu", (unsigned long long)sizes[s]);
		lab_table_add(table, label,
			      (const double[]){c.truth_bits, c.plain_bits, c.corrected_bits,
					       100 * c.covered, 100 * boot.covered});
	}
	for (size_t i = 0; i < 3; i++)
		lab_table_set_decimals(table, i, 4);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void run(struct lab_run *run)
{
	run_calm(run);
	run_moved(run);
	run_bias(run);
	run_bursts(run);
}

const struct lab_experiment exp_drift = {"drift", "false alarms and misses of drift detection",
					 "algorithms of CCP", run};
