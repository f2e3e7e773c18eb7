// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much of the exact path profile do windows of n taken branches show, as hardware branch
 * stacks and steppers take them? Windows are cut out of the exact trace at places uniform over
 * taken branches; the overlap with all paths of the stream is a function of their number, of their
 * length and of the weights against window bias (Horvitz-Thompson; pathprof/paths.h, and
 * collect/finder.h for the refined ones). Paths longer than the windows are stitched
 * (pathprof/estimate.h): overlap with these, and how much of the flow windows are said not to show,
 * beside how much they do not.
 */
#include <math.h>
#include <stdlib.h>

#include "../collect/trace_pass.h"
#include "experiment.h"

#define SEED 0x77696e646f7773ULL

/* The first so many windows are stitched: 16 and 32 taken branches, as hardware has them. */
#define STITCHED_CNT  2
#define STITCHED_WAYS (2 + LAB_ORDER_CNT)

struct result {
	double overlap[LAB_WINDOW_CNT][LAB_WEIGHTING_CNT][LAB_LEVEL_CNT];
	double unseen[LAB_WINDOW_CNT]; /* percent of the exact counts */
	/* With LAB_TRUTH_WHOLE: plain, weighted, order 1, order 2. */
	double whole[STITCHED_CNT][STITCHED_WAYS][LAB_LEVEL_CNT];
	double unobservable[STITCHED_CNT], said[STITCHED_CNT]; /* percent of the paths begun */
};

static void read_overlaps(const struct lab_estimate *estimate, const struct lab_truth *truth,
			  double (*ret_overlap)[LAB_LEVEL_CNT])
{
	for (size_t w = 0; w < LAB_WEIGHTING_CNT; w++)
		for (size_t l = 0; l < LAB_LEVEL_CNT; l++)
			ret_overlap[w][l] =
				100 * lab_estimate_overlap(estimate, (enum lab_weighting)w, l,
							   &truth->profile, LAB_TRUTH_COUNT);
}

static void read_stitched(struct result *r, size_t window, const struct lab_estimate *estimate,
			  const struct lab_truth *truth)
{
	double said = 0;

	for (size_t l = 0; l < LAB_LEVEL_CNT; l++) {
		for (size_t w = LAB_WEIGHT_PLAIN; w <= LAB_WEIGHT_SPAN; w++)
			r->whole[window][w][l] =
				100 * lab_estimate_overlap(estimate, (enum lab_weighting)w, l,
							   &truth->profile, LAB_TRUTH_WHOLE);
		for (uint32_t order = 1; order <= LAB_ORDER_CNT; order++)
			r->whole[window][1 + order][l] =
				100 * lab_estimate_stitched_overlap(estimate, order, l,
								    &truth->profile,
								    LAB_TRUTH_WHOLE, &said);
	}
	r->said[window] = 100 * said;
	r->unobservable[window] = 100 * lab_truth_unobservable(truth, window);
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	struct result *r = result;
	struct lab_estimate *estimates = calloc(LAB_WINDOW_CNT, sizeof(*estimates));
	struct lab_truth truth;

	if (!estimates)
		lab_fail("out of memory");
	lab_truth_init(&truth);
	lab_pass_truth(trace, &truth);
	for (size_t n = 0; n < LAB_WINDOW_CNT; n++) {
		lab_estimate_init(&estimates[n], LAB_CLOCK_TAKEN, lab_windows[n],
				  lab_levels[LAB_LEVEL_CNT - 1], &truth, SEED + n);
		if (n < STITCHED_CNT)
			lab_estimate_stitch(&estimates[n]);
	}
	lab_pass_estimates(trace, estimates, LAB_WINDOW_CNT);
	for (size_t n = 0; n < LAB_WINDOW_CNT; n++) {
		r->unseen[n] = truth.path_cnt ? 100.0 * (double)truth.unseen_cnt[n] /
							(double)truth.path_cnt
					      : NAN;
		read_overlaps(&estimates[n], &truth, r->overlap[n]);
		if (n < STITCHED_CNT)
			read_stitched(r, n, &estimates[n], &truth);
		lab_estimate_release(&estimates[n]);
	}
	free(estimates);
	lab_truth_release(&truth);
}

static const char *const columns[LAB_WINDOW_CNT * LAB_WEIGHTING_CNT] = {
	"16 plain", "16 span", "16 refined", "32 plain",  "32 span",  "32 refined",
	"64 plain", "64 span", "64 refined", "128 plain", "128 span", "128 refined",
};

static void overlaps_of(const struct result *r, size_t level, double *ret_values)
{
	for (size_t n = 0; n < LAB_WINDOW_CNT; n++)
		for (size_t w = 0; w < LAB_WEIGHTING_CNT; w++)
			ret_values[n * LAB_WEIGHTING_CNT + w] = r->overlap[n][w][level];
}

static void mean_overlaps(const struct result *results, size_t cnt, size_t level,
			  double *ret_values)
{
	double values[LAB_WINDOW_CNT * LAB_WEIGHTING_CNT];

	for (size_t c = 0; c < LAB_WINDOW_CNT * LAB_WEIGHTING_CNT; c++)
		ret_values[c] = 0;
	for (size_t p = 0; p < cnt; p++) {
		overlaps_of(&results[p], level, values);
		for (size_t c = 0; c < LAB_WINDOW_CNT * LAB_WEIGHTING_CNT; c++)
			ret_values[c] += values[c] / (double)cnt;
	}
}

static void write_curve(struct lab_run *run, const struct result *results, size_t cnt)
{
	struct lab_table *table =
		lab_table_new("windows", "Overlap with the exact path profile, %, mean of programs",
			      "windows", columns, LAB_WINDOW_CNT * LAB_WEIGHTING_CNT);
	const struct lab_plot plot = {.form = LAB_PLOT_LINES,
				      .x = "windows taken",
				      .y = "overlap with the exact profile, %",
				      .x_log = true,
				      .y_max = 100};
	double values[LAB_WINDOW_CNT * LAB_WEIGHTING_CNT];
	char label[16];

	for (size_t l = 0; l < LAB_LEVEL_CNT; l++) {
		snprintf(label, sizeof(label), "%u", lab_levels[l]);
		mean_overlaps(results, cnt, l, values);
		lab_table_add(table, label, values);
	}
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_programs(struct lab_run *run, const struct result *results, size_t cnt)
{
	struct lab_table *table = lab_table_new(
		"windows-programs", "Overlap with the exact path profile after 100,000 windows, %",
		"program", columns, LAB_WINDOW_CNT * LAB_WEIGHTING_CNT);
	double values[LAB_WINDOW_CNT * LAB_WEIGHTING_CNT];

	for (size_t p = 0; p < cnt; p++) {
		overlaps_of(&results[p], LAB_LEVEL_CNT - 1, values);
		lab_table_add(table, lab_run_program(run, p)->name, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void write_unseen(struct lab_run *run, const struct result *results, size_t cnt)
{
	static const char *const windows[LAB_WINDOW_CNT] = {"16", "32", "64", "128"};
	struct lab_table *table = lab_table_new(
		"windows-unseen", "Executed paths that no window of n taken branches can show, %",
		"program", windows, LAB_WINDOW_CNT);
	const struct lab_plot plot = {
		.form = LAB_PLOT_BARS, .x = "program", .y = "never seen, % of executed paths"};

	for (size_t p = 0; p < cnt; p++)
		lab_table_add(table, lab_run_program(run, p)->name, results[p].unseen);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

/* ---------------------------------------------------------------- stitched */

#define STITCHED_COLUMNS (STITCHED_CNT * STITCHED_WAYS)

static const char *const stitched_columns[STITCHED_COLUMNS] = {
	"16 plain", "16 weighted", "16 order 1", "16 order 2",
	"32 plain", "32 weighted", "32 order 1", "32 order 2",
};

static void stitched_of(const struct result *r, size_t level, double *ret_values)
{
	for (size_t n = 0; n < STITCHED_CNT; n++)
		for (size_t w = 0; w < STITCHED_WAYS; w++)
			ret_values[n * STITCHED_WAYS + w] = r->whole[n][w][level];
}

static void mean_stitched(const struct result *results, size_t cnt, size_t level,
			  double *ret_values)
{
	double values[STITCHED_COLUMNS];

	for (size_t c = 0; c < STITCHED_COLUMNS; c++)
		ret_values[c] = 0;
	for (size_t p = 0; p < cnt; p++) {
		stitched_of(&results[p], level, values);
		for (size_t c = 0; c < STITCHED_COLUMNS; c++)
			ret_values[c] += values[c] / (double)cnt;
	}
}

static void write_stitched_curve(struct lab_run *run, const struct result *results, size_t cnt)
{
	struct lab_table *table = lab_table_new(
		"windows-stitched", "Overlap with all paths of the stream, %, mean of programs",
		"windows", stitched_columns, STITCHED_COLUMNS);
	const struct lab_plot plot = {.form = LAB_PLOT_LINES,
				      .x = "windows taken",
				      .y = "overlap with all paths, %",
				      .x_log = true,
				      .y_max = 100};
	double values[STITCHED_COLUMNS];
	char label[16];

	for (size_t l = 0; l < LAB_LEVEL_CNT; l++) {
		snprintf(label, sizeof(label), "%u", lab_levels[l]);
		mean_stitched(results, cnt, l, values);
		lab_table_add(table, label, values);
	}
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_stitched_programs(struct lab_run *run, const struct result *results, size_t cnt)
{
	struct lab_table *table =
		lab_table_new("windows-stitched-programs",
			      "Overlap with all paths of the stream after 100,000 windows, %",
			      "program", stitched_columns, STITCHED_COLUMNS);
	const struct lab_plot plot = {.form = LAB_PLOT_BARS,
				      .x = "program",
				      .y = "overlap with all paths, %",
				      .y_max = 100};
	double values[STITCHED_COLUMNS];

	for (size_t p = 0; p < cnt; p++) {
		stitched_of(&results[p], LAB_LEVEL_CNT - 1, values);
		lab_table_add(table, lab_run_program(run, p)->name, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_unobservable(struct lab_run *run, const struct result *results, size_t cnt)
{
	static const char *const shares[STITCHED_CNT * 2] = {"16 estimated", "16 true",
							     "32 estimated", "32 true"};
	struct lab_table *table = lab_table_new(
		"windows-unobservable",
		"Paths begun that no window can show, %: as windows say, and as it is", "program",
		shares, STITCHED_CNT * 2);

	for (size_t p = 0; p < cnt; p++) {
		const struct result *r = &results[p];
		const double values[STITCHED_CNT * 2] = {r->said[0], r->unobservable[0], r->said[1],
							 r->unobservable[1]};

		lab_table_add(table, lab_run_program(run, p)->name, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void write_stitched_headlines(struct lab_run *run, const struct result *results, size_t cnt)
{
	double values[STITCHED_COLUMNS], error = 0;

	mean_stitched(results, cnt, LAB_LEVEL_CNT - 1, values);
	for (size_t p = 0; p < cnt; p++)
		error = fmax(error, fabs(results[p].said[1] - results[p].unobservable[1]));
	lab_headline(run, &(struct lab_headline){
				  .what = "overlap with what is stitched, windows of 32, order 2",
				  .paper = "none",
				  .ours = values[7],
				  .unit = "%",
				  .aim = NAN,
				  .why = "the rest is chance, and calls whose length varies"});
	lab_headline(run, &(struct lab_headline){
				  .what = "what stitching adds to the weights, same windows",
				  .paper = "none",
				  .ours = values[7] - values[5],
				  .unit = "points",
				  .aim = NAN});
	lab_headline(run,
		     &(struct lab_headline){
			     .what = "share of paths out of sight, windows of 32: greatest error",
			     .paper = "none",
			     .ours = error,
			     .unit = "points",
			     .aim = NAN});
}

static void write_headlines(struct lab_run *run, const struct result *results, size_t cnt)
{
	double values[LAB_WINDOW_CNT * LAB_WEIGHTING_CNT];

	mean_overlaps(results, cnt, LAB_LEVEL_CNT - 1, values);
	lab_headline(run,
		     &(struct lab_headline){
			     .what = "overlap, 100,000 windows of 32 taken branches, span weights",
			     .paper = "none",
			     .ours = values[LAB_WEIGHTING_CNT + LAB_WEIGHT_SPAN],
			     .unit = "%",
			     .aim = NAN,
			     .why = "the rest is paths longer than the window, and chance"});
	lab_headline(run, &(struct lab_headline){
				  .what = "what the weights add to plain counting, same windows",
				  .paper = "none",
				  .ours = values[LAB_WEIGHTING_CNT + LAB_WEIGHT_SPAN] -
					  values[LAB_WEIGHTING_CNT + LAB_WEIGHT_PLAIN],
				  .unit = "points",
				  .aim = NAN});
}

static void run_windows(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run);
	struct result *results = calloc(cnt + 1, sizeof(*results));

	if (!results)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_BRANCHES, measure, results, sizeof(*results));
	write_curve(run, results, cnt);
	write_programs(run, results, cnt);
	write_unseen(run, results, cnt);
	write_stitched_curve(run, results, cnt);
	write_stitched_programs(run, results, cnt);
	write_unobservable(run, results, cnt);
	write_headlines(run, results, cnt);
	write_stitched_headlines(run, results, cnt);
	free(results);
}

const struct lab_experiment exp_collectors_windows = {
	"windows", "short windows against the exact path profile", "EOPP 5.2", run_windows};
