// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much of the truth a hot path table holds (EOPP figures 5.7 and 5.8): overlap with an
 * unbounded table over the whole run, and over windows with a table cleared at each.
 *
 * A path without a miss or misprediction is not sent to the table of that metric: it adds nothing,
 * and would only replace paths that do.
 *
 * Frequencies and mispredictions come from a program's trace of branches. Misses need the trace
 * that has every memory access, which is shorter; its windows are a tenth of the others.
 *
 * Workload: one pass over each of both traces with all sizes at once. Each pass owns its tables.
 */
#include <math.h>
#include <stdlib.h>

#include "exp_eopp.h"

static const struct eopp_size sizes[] = {{128, 2}, {256, 4},  {512, 2},
					 {512, 4}, {1024, 4}, {2048, 4}};
static const char *const size_names[] = {"128x2", "256x4", "512x2", "512x4", "1024x4", "2048x4"};
#define SIZE_CNT (sizeof(sizes) / sizeof(sizes[0]))
#define THESIS   3 /* 512x4 */

#define OF_MEMORY_TRACE  (1u << LAB_METRIC_L2_MISSES)
#define OF_BRANCH_TRACE  (1u << LAB_METRIC_FREQUENCY | 1u << LAB_METRIC_MISPREDICTIONS)
#define MEMORY_WINDOWING 10 /* windows so many times shorter */

static const char *const metric_names[] = {"frequency", "L2 misses", "mispredictions"};
static const char *const metric_stems[] = {"frequency", "l2", "mispredictions"};

struct overlaps {
	double overlap[LAB_METRIC_CNT][SIZE_CNT]; /* %, mean of the windows */
	double spilled[SIZE_CNT];                 /* messages a 1000 paths, by frequency */
	double whole;                             /* overlap of the spilling 512x4, % */
};

struct pass {
	struct lab_exact exact[LAB_METRIC_CNT];
	struct pathprof_hot_paths *tables[LAB_METRIC_CNT][SIZE_CNT];
	struct lab_exact kept; /* counts that the 512x4 table of frequencies spilled */
	double sums[LAB_METRIC_CNT][SIZE_CNT];
	uint32_t windows[LAB_METRIC_CNT]; /* in which anything happened */
	uint32_t window_cnt;
	uint64_t spilled[SIZE_CNT];
	uint64_t path_cnt;
	uint64_t window_insns; /* 0: the whole run is one window */
	uint64_t insn_cnt;     /* of this window */
	uint32_t metrics;      /* 1 << enum lab_metric, ored: which to measure */
};

static void open_tables(struct pass *pass)
{
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		for (size_t s = 0; s < SIZE_CNT; s++)
			pass->tables[m][s] = eopp_hot_paths(&sizes[s]);
}

static void free_tables(struct pass *pass)
{
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		for (size_t s = 0; s < SIZE_CNT; s++)
			pathprof_hot_paths_free(pass->tables[m][s]);
}

static void add_overlaps(struct pass *pass)
{
	for (size_t m = 0; m < LAB_METRIC_CNT; m++) {
		if (!pass->exact[m].total)
			continue;
		for (size_t s = 0; s < SIZE_CNT; s++)
			pass->sums[m][s] += eopp_overlap(pass->tables[m][s], sizes[s].entries,
							 &pass->exact[m], NULL);
		pass->windows[m]++;
	}
}

static void next_window(struct pass *pass)
{
	add_overlaps(pass);
	pass->window_cnt++;
	free_tables(pass);
	open_tables(pass);
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		lab_exact_clear(&pass->exact[m]);
	pass->insn_cnt = 0;
}

static void keep(struct pass *pass, const struct pathprof_hot_path *replaced)
{
	struct lab_key key = {replaced->start,
			      (uint64_t)replaced->length << 32 | replaced->outcomes};

	eopp_count(&pass->kept, &key, replaced->count);
}

static void add_path(struct pass *pass, const struct lab_path *path)
{
	struct lab_key key = {path->start, lab_path_word(path)};
	struct pathprof_hot_path replaced;

	pass->path_cnt++;
	for (size_t m = 0; m < LAB_METRIC_CNT; m++) {
		if (!path->metric[m] || !(pass->metrics & 1u << m))
			continue;
		eopp_count(&pass->exact[m], &key, path->metric[m]);
		for (size_t s = 0; s < SIZE_CNT; s++) {
			if (!eopp_hot_paths_add(pass->tables[m][s], path, path->metric[m],
						&replaced) ||
			    m != LAB_METRIC_FREQUENCY)
				continue;
			pass->spilled[s]++;
			if (s == THESIS && !pass->window_insns)
				keep(pass, &replaced);
		}
	}
}

static void add_branch(void *context, const struct lab_brought *brought)
{
	struct pass *pass = context;

	pass->insn_cnt += brought->insn_cnt;
	if (brought->path)
		add_path(pass, brought->path);
	if (pass->window_insns && pass->insn_cnt >= pass->window_insns)
		next_window(pass);
}

/* A last window of less than half is left out, unless it is the only one. */
static void end_windows(struct pass *pass)
{
	if (!pass->window_cnt || pass->insn_cnt * 2 >= pass->window_insns)
		add_overlaps(pass);
}

static void conclude(const struct pass *pass, struct overlaps *ret_overlaps)
{
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		for (size_t s = 0; s < SIZE_CNT && pass->metrics & 1u << m; s++)
			ret_overlaps->overlap[m][s] =
				pass->windows[m] ? pass->sums[m][s] / pass->windows[m] : NAN;
}

static void conclude_spill(const struct pass *pass, struct overlaps *ret_overlaps)
{
	for (size_t s = 0; s < SIZE_CNT; s++)
		ret_overlaps->spilled[s] =
			pass->path_cnt ? 1000.0 * (double)pass->spilled[s] / (double)pass->path_cnt
				       : NAN;
	ret_overlaps->whole =
		eopp_overlap(pass->tables[LAB_METRIC_FREQUENCY][THESIS], sizes[THESIS].entries,
			     &pass->exact[LAB_METRIC_FREQUENCY], &pass->kept);
}

static void measure(const struct pathprof_trace *trace, uint32_t metrics, uint64_t window_insns,
		    struct overlaps *ret_overlaps)
{
	struct pass *pass = lab_alloc(1, sizeof(*pass));

	pass->window_insns = window_insns;
	pass->metrics = metrics;
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		eopp_exact_init(&pass->exact[m]);
	eopp_exact_init(&pass->kept);
	open_tables(pass);
	eopp_feed(trace, PATHPROF_EXTEND_NONE, true, add_branch, pass);
	end_windows(pass);
	conclude(pass, ret_overlaps);
	if (!window_insns && metrics & 1u << LAB_METRIC_FREQUENCY)
		conclude_spill(pass, ret_overlaps);
	free_tables(pass);
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		lab_exact_release(&pass->exact[m]);
	lab_exact_release(&pass->kept);
	free(pass);
}

static void complete_branches(struct lab_run *run, const struct lab_program *program,
			      const struct pathprof_trace *trace, void *result)
{
	measure(trace, OF_BRANCH_TRACE, 0, result);
}

static void complete_memory(struct lab_run *run, const struct lab_program *program,
			    const struct pathprof_trace *trace, void *result)
{
	measure(trace, OF_MEMORY_TRACE, 0, result);
}

static void dynamic_branches(struct lab_run *run, const struct lab_program *program,
			     const struct pathprof_trace *trace, void *result)
{
	measure(trace, OF_BRANCH_TRACE, lab_run_window_insns(run), result);
}

static void dynamic_memory(struct lab_run *run, const struct lab_program *program,
			   const struct pathprof_trace *trace, void *result)
{
	measure(trace, OF_MEMORY_TRACE, lab_run_window_insns(run) / MEMORY_WINDOWING, result);
}

/* Measures both traces of every program. Caller frees. */
static struct overlaps *measure_all(struct lab_run *run, lab_program_fn *branches,
				    lab_program_fn *memory)
{
	size_t cnt = lab_run_program_cnt(run);
	struct overlaps *overlaps = lab_alloc(cnt, sizeof(*overlaps));
	struct overlaps *misses = lab_alloc(cnt, sizeof(*misses));

	lab_run_each_program(run, LAB_TRACE_BRANCHES, branches, overlaps, sizeof(*overlaps));
	lab_run_each_program(run, LAB_TRACE_MEMORY, memory, misses, sizeof(*misses));
	for (size_t i = 0; i < cnt; i++)
		for (size_t s = 0; s < SIZE_CNT; s++)
			overlaps[i].overlap[LAB_METRIC_L2_MISSES][s] =
				misses[i].overlap[LAB_METRIC_L2_MISSES][s];
	free(misses);
	return overlaps;
}

static void write_metric(struct lab_run *run, const char *figure, const char *kind, size_t metric,
			 const struct overlaps *overlaps)
{
	struct lab_table *table;
	char name[64], title[128];

	snprintf(name, sizeof(name), "%s-%s", figure, metric_stems[metric]);
	snprintf(title, sizeof(title), "%s overlap with the exact profile, %s, %%", kind,
		 metric_names[metric]);
	table = lab_table_new(name, title, "program", size_names, SIZE_CNT);
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, overlaps[i].overlap[metric]);
	eopp_write_bars(run, table, "program", "overlap, %");
}

static double mean_overlap(const struct overlaps *overlaps, size_t cnt, size_t metric, size_t size)
{
	double *values = lab_alloc(cnt, sizeof(*values)), mean;

	for (size_t i = 0; i < cnt; i++)
		values[i] = overlaps[i].overlap[metric][size];
	mean = eopp_mean(values, cnt);
	free(values);
	return mean;
}

struct claim {
	const char *what, *paper;
	double aim;
};

static void write_averages(struct lab_run *run, const char *figure, const char *kind,
			   const struct overlaps *overlaps)
{
	char title[128];
	struct lab_table *table;
	double row[SIZE_CNT];

	snprintf(title, sizeof(title), "%s overlap, mean of the programs, %%", kind);
	table = lab_table_new(figure, title, "metric", size_names, SIZE_CNT);
	for (size_t m = 0; m < LAB_METRIC_CNT; m++) {
		for (size_t s = 0; s < SIZE_CNT; s++)
			row[s] = mean_overlap(overlaps, lab_run_program_cnt(run), m, s);
		lab_table_add(table, metric_names[m], row);
	}
	lab_table_write(run, table);
	lab_plot_write(
		run, table,
		&(struct lab_plot){
			.form = LAB_PLOT_BARS, .x = "metric", .y = "overlap, %", .y_max = 100});
	lab_table_free(table);
}

static void report(struct lab_run *run, const char *figure, const char *kind,
		   const struct overlaps *overlaps, const struct claim *claims)
{
	size_t cnt = lab_run_program_cnt(run);
	char why[96];

	for (size_t m = 0; m < LAB_METRIC_CNT; m++) {
		struct lab_headline line = {.what = claims[m].what,
					    .paper = claims[m].paper,
					    .ours = mean_overlap(overlaps, cnt, m, THESIS),
					    .unit = "%",
					    .aim = claims[m].aim,
					    .why = why};

		snprintf(why, sizeof(why), "twice the entries: %.2f %%, four times: %.2f %%",
			 mean_overlap(overlaps, cnt, m, THESIS + 1),
			 mean_overlap(overlaps, cnt, m, THESIS + 2));
		write_metric(run, figure, kind, m, overlaps);
		eopp_headline(run, &line);
	}
	write_averages(run, figure, kind, overlaps);
}

/* Writes the cost of a table that loses nothing: a message for each path that it replaces. */
static void write_spill(struct lab_run *run, const struct overlaps *overlaps)
{
	const char *columns[SIZE_CNT + 1];
	double row[SIZE_CNT + 1];
	struct lab_table *table;

	for (size_t s = 0; s < SIZE_CNT; s++)
		columns[s] = size_names[s];
	columns[SIZE_CNT] = "overlap of 512x4, %";
	table = lab_table_new("eopp-5.7-spill",
			      "Spilling table, frequency: messages for 1000 paths", "program",
			      columns, SIZE_CNT + 1);
	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		for (size_t s = 0; s < SIZE_CNT; s++)
			row[s] = overlaps[i].spilled[s];
		row[SIZE_CNT] = overlaps[i].whole;
		lab_table_add(table, lab_run_program(run, i)->name, row);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void run_complete(struct lab_run *run)
{
	static const struct claim claims[] = {
		{"EOPP 5.7: complete overlap, frequency, 512x4", "88 %", 88},
		{"EOPP 5.7: complete overlap, L2 misses, 512x4", "96 %", 96},
		{"EOPP 5.7: complete overlap, mispredictions, 512x4", "78.4 %", 78.4},
	};
	struct overlaps *overlaps = measure_all(run, complete_branches, complete_memory);

	report(run, "eopp-5.7", "Complete", overlaps, claims);
	write_spill(run, overlaps);
	free(overlaps);
}

static void run_dynamic(struct lab_run *run)
{
	static const struct claim claims[] = {
		{"EOPP 5.8: dynamic overlap, frequency, 512x4", "95.5 %", 95.5},
		{"EOPP 5.8: dynamic overlap, L2 misses, 512x4", "98 %", 98},
		{"EOPP 5.8: dynamic overlap, mispredictions, 512x4", "91.2 %", 91.2},
	};
	struct overlaps *overlaps = measure_all(run, dynamic_branches, dynamic_memory);

	report(run, "eopp-5.8", "Dynamic", overlaps, claims);
	free(overlaps);
}

const struct lab_experiment exp_eopp_5_7 = {
	.name = "eopp-5.7",
	.title = "complete overlap of hot path tables",
	.source = "EOPP figure 5.7",
	.run = run_complete,
};
const struct lab_experiment exp_eopp_5_8 = {
	.name = "eopp-5.8",
	.title = "dynamic overlap of hot path tables",
	.source = "EOPP figure 5.8",
	.run = run_dynamic,
};
