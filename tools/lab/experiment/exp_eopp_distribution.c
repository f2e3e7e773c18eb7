// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How execution spreads over paths (EOPP figures 5.2 and 5.3): few hot paths carry most
 * instructions, cache misses and mispredictions, and most paths are short.
 *
 * Workload: one pass over each program's trace. Each pass owns its tables.
 */
#include <math.h>
#include <stdlib.h>

#include "exp_eopp.h"

static const uint32_t ranks[] = {1,   2,   5,    10,   20,   50,    100,
				 200, 500, 1000, 2000, 5000, 10000, 20000};
#define RANK_CNT (sizeof(ranks) / sizeof(ranks[0]))

enum { SUM_INSNS = LAB_METRIC_CNT, SUM_CNT };

struct spread {
	double covered[SUM_CNT][RANK_CNT]; /* share of the sum along the hottest so many, % */
	double path_cnt;
};

struct spread_pass {
	struct lab_exact sums[SUM_CNT];
};

static void add_path(void *context, const struct lab_brought *brought)
{
	struct spread_pass *pass = context;
	const struct lab_path *path = brought->path;
	struct lab_key key;

	if (!path)
		return;
	key = (struct lab_key){path->start, lab_path_word(path)};
	eopp_count(&pass->sums[SUM_INSNS], &key, path->insn_cnt);
	for (size_t m = 0; m < LAB_METRIC_CNT; m++)
		if (path->metric[m])
			eopp_count(&pass->sums[m], &key, path->metric[m]);
}

static void cover(const struct lab_exact *sums, double *ret_covered)
{
	struct lab_exact_entry *entries = lab_alloc(sums->cnt, sizeof(*entries));
	uint64_t sum = 0;
	uint32_t rank = 0;

	lab_exact_hottest(sums, entries);
	for (size_t i = 0; i < RANK_CNT; i++) {
		for (; rank < ranks[i] && rank < sums->cnt; rank++)
			sum += entries[rank].count;
		ret_covered[i] = sums->total ? 100 * (double)sum / (double)sums->total : NAN;
	}
	free(entries);
}

static void spread_program(struct lab_run *run, const struct lab_program *program,
			   const struct pathprof_trace *trace, void *result)
{
	struct spread_pass pass;
	struct spread *spread = result;

	for (size_t m = 0; m < SUM_CNT; m++)
		eopp_exact_init(&pass.sums[m]);
	eopp_feed(trace, PATHPROF_EXTEND_NONE, true, add_path, &pass);
	for (size_t m = 0; m < SUM_CNT; m++)
		cover(&pass.sums[m], spread->covered[m]);
	spread->path_cnt = pass.sums[LAB_METRIC_FREQUENCY].cnt;
	for (size_t m = 0; m < SUM_CNT; m++)
		lab_exact_release(&pass.sums[m]);
}

static double mean_covered(const struct spread *spreads, size_t cnt, size_t sum, size_t rank)
{
	double *values = lab_alloc(cnt, sizeof(*values)), mean;

	for (size_t i = 0; i < cnt; i++)
		values[i] = spreads[i].covered[sum][rank];
	mean = eopp_mean(values, cnt);
	free(values);
	return mean;
}

static void write_by_program(struct lab_run *run, const struct spread *spreads)
{
	size_t cnt = lab_run_program_cnt(run);
	const char **names = lab_alloc(cnt, sizeof(*names));
	double *row = lab_alloc(cnt, sizeof(*row));
	struct lab_table *table;
	char label[16];

	for (size_t i = 0; i < cnt; i++)
		names[i] = lab_run_program(run, i)->name;
	table = lab_table_new("eopp-5.2a", "Dynamic instructions along the hottest paths, %",
			      "paths", names, cnt);
	for (size_t r = 0; r < RANK_CNT; r++) {
		for (size_t i = 0; i < cnt; i++)
			row[i] = spreads[i].covered[SUM_INSNS][r];
		snprintf(label, sizeof(label), "%u", ranks[r]);
		lab_table_add(table, label, row);
	}
	eopp_write_lines(run, table, "hottest paths", "instructions along them, %");
	free(names);
	free(row);
}

static void write_averages(struct lab_run *run, const struct spread *spreads)
{
	static const char *const columns[] = {"frequency", "L2 misses", "mispredictions",
					      "instructions"};
	struct lab_table *table =
		lab_table_new("eopp-5.2b", "Along the hottest paths, mean of the programs, %",
			      "paths", columns, SUM_CNT);
	double row[SUM_CNT];
	char label[16];

	for (size_t r = 0; r < RANK_CNT; r++) {
		for (size_t m = 0; m < SUM_CNT; m++)
			row[m] = mean_covered(spreads, lab_run_program_cnt(run), m, r);
		snprintf(label, sizeof(label), "%u", ranks[r]);
		lab_table_add(table, label, row);
	}
	eopp_write_lines(run, table, "hottest paths", "of the whole, %");
}

static void write_path_counts(struct lab_run *run, const struct spread *spreads)
{
	static const char *const columns[] = {"paths"};
	struct lab_table *table =
		lab_table_new("eopp-5.2-paths", "Distinct paths executed", "program", columns, 1);

	lab_table_set_decimals(table, 0, 0);
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, &spreads[i].path_cnt);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static size_t rank_index(uint32_t rank)
{
	size_t i = 0;

	while (i < RANK_CNT - 1 && ranks[i] != rank)
		i++;
	return i;
}

static void run_spread(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run);
	struct spread *spreads = lab_alloc(cnt, sizeof(*spreads));
	struct lab_headline line = {
		.what = "EOPP 5.2: dynamic instructions along the 100 hottest paths",
		.paper = "above 80 %",
		.unit = "%",
		.aim = 80};
	char why[96];

	lab_run_each_program(run, LAB_TRACE_MEMORY, spread_program, spreads, sizeof(*spreads));
	write_by_program(run, spreads);
	write_averages(run, spreads);
	write_path_counts(run, spreads);
	line.ours = mean_covered(spreads, cnt, SUM_INSNS, rank_index(100));
	snprintf(why, sizeof(why), "%.2f %% along the 200 hottest, %.2f %% along 500",
		 mean_covered(spreads, cnt, SUM_INSNS, rank_index(200)),
		 mean_covered(spreads, cnt, SUM_INSNS, rank_index(500)));
	line.why = why;
	eopp_headline(run, &line);
	free(spreads);
}

const struct lab_experiment exp_eopp_5_2 = {
	.name = "eopp-5.2",
	.title = "few hot paths carry most of what happens",
	.source = "EOPP figure 5.2",
	.run = run_spread,
};

/* ---------------------------------------------------------------- figure 5.3 */

#define BUCKET_CNT 8
#define BUCKET     4 /* branches */

struct lengths {
	double insns[BUCKET_CNT]; /* length 0..4, 5..8, ... 29..32 */
};

static void add_length(void *context, const struct lab_brought *brought)
{
	struct lengths *lengths = context;
	const struct lab_path *path = brought->path;

	if (path)
		lengths->insns[path->length ? (path->length - 1) / BUCKET : 0] += path->insn_cnt;
}

static void measure_lengths(struct lab_run *run, const struct lab_program *program,
			    const struct pathprof_trace *trace, void *result)
{
	struct lengths *lengths = result;
	double sum = 0;

	eopp_feed(trace, PATHPROF_EXTEND_NONE, false, add_length, lengths);
	for (size_t i = 0; i < BUCKET_CNT; i++)
		sum += lengths->insns[i];
	for (size_t i = 0; i < BUCKET_CNT; i++)
		lengths->insns[i] = sum > 0 ? 100 * lengths->insns[i] / sum : NAN;
}

static void report_short(struct lab_run *run, const struct lengths *lengths)
{
	size_t cnt = lab_run_program_cnt(run);
	double *within = lab_alloc(cnt, sizeof(*within));
	struct lab_headline line = {
		.what = "EOPP 5.3: dynamic instructions along paths of at most 16 branches",
		.paper = "above 90 % in most programs",
		.unit = "%",
		.aim = 90,
		.why = "unconditional jumps count as branches here too"};

	for (size_t i = 0; i < cnt; i++)
		for (size_t b = 0; b < 16 / BUCKET; b++)
			within[i] += lengths[i].insns[b];
	line.ours = eopp_mean(within, cnt);
	eopp_headline(run, &line);
	free(within);
}

static void run_lengths(struct lab_run *run)
{
	static const char *const columns[BUCKET_CNT] = {"0-4",   "5-8",   "9-12",  "13-16",
							"17-20", "21-24", "25-28", "29-32"};
	struct lengths *lengths = lab_alloc(lab_run_program_cnt(run), sizeof(*lengths));
	struct lab_table *table =
		lab_table_new("eopp-5.3", "Dynamic instructions by the branches of their path, %",
			      "program", columns, BUCKET_CNT);

	lab_run_each_program(run, LAB_TRACE_BRANCHES, measure_lengths, lengths, sizeof(*lengths));
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, lengths[i].insns);
	eopp_write_bars(run, table, "program", "dynamic instructions, %");
	report_short(run, lengths);
	free(lengths);
}

const struct lab_experiment exp_eopp_5_3 = {
	.name = "eopp-5.3",
	.title = "most execution goes along short paths",
	.source = "EOPP figure 5.3",
	.run = run_lengths,
};
