// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time that the path profiler costs a processor, by the size of its branch queue (EOPP figure
 * 5.12), for Ball-Larus paths and a hot path table of 512 entries and 4 ways. model/pipeline.h is
 * the machine.
 *
 * Workload: one pass over each program's trace; every instruction steps one machine a queue size.
 * Each pass owns its machines.
 */
#include <math.h>
#include <stdlib.h>

#include "../model/pipeline.h"
#include "exp_eopp.h"

static const uint32_t queue_sizes[] = {0, 1, 2, 4, 8, 16, 32};
static const char *const queue_names[] = {"0", "1", "2", "4", "8", "16", "32"};
#define QUEUE_CNT (sizeof(queue_sizes) / sizeof(queue_sizes[0]))
#define NO_QUEUE  0
#define FOUR      3

static const struct eopp_size size = {512, 4};

enum { RATE_IPC, RATE_BRANCH, RATE_WRONG, RATE_L2, RATE_LATENCY, RATE_CNT };
static const char *const rate_names[RATE_CNT] = {
	"instructions a cycle", "branches a 1000 instructions",
	"mispredictions a 1000 instructions", "L2 misses a 1000 instructions",
	"profiler's cycles a branch"};

struct overheads {
	double overhead[QUEUE_CNT]; /* % */
	double rates[RATE_CNT];
};

struct pass {
	struct lab_pipeline plain, with[QUEUE_CNT];
	struct pathprof_hot_paths *table;
	uint64_t insn_cnt, branch_cnt, wrong_cnt, miss_cnt, profiler_cycles;
};

static void count(struct pass *pass, const struct lab_run_of_insns *run)
{
	pass->insn_cnt += run->insn_cnt;
	pass->branch_cnt++;
	pass->wrong_cnt += run->mispredicted;
	pass->miss_cnt += run->l2_misses;
	pass->profiler_cycles += run->profiler_cycles;
}

static void add_branch(void *context, const struct lab_brought *brought)
{
	struct pass *pass = context;
	struct lab_run_of_insns run = {.insn_cnt = brought->insn_cnt,
				       .l2_misses = brought->l2_misses,
				       .mispredicted = brought->mispredicted};
	struct pathprof_hot_path lost;
	bool replaced = brought->path && eopp_hot_paths_add(pass->table, brought->path, 1, &lost);

	run.profiler_cycles =
		lab_profiler_cycles(brought->branch, brought->path != NULL, replaced, size.ways);
	count(pass, &run);
	lab_pipeline_step(&pass->plain, &run);
	for (size_t q = 0; q < QUEUE_CNT; q++)
		lab_pipeline_step(&pass->with[q], &run);
}

static double per(uint64_t part, double whole)
{
	return whole > 0 ? (double)part / whole : NAN;
}

static void conclude(const struct pass *pass, struct overheads *ret_overheads)
{
	double base = lab_pipeline_cycles(&pass->plain), thousands = (double)pass->insn_cnt / 1000;
	double *rates = ret_overheads->rates;

	for (size_t q = 0; q < QUEUE_CNT; q++)
		ret_overheads->overhead[q] =
			base > 0 ? 100 * (lab_pipeline_cycles(&pass->with[q]) / base - 1) : NAN;
	rates[RATE_IPC] = per(pass->insn_cnt, base);
	rates[RATE_BRANCH] = per(pass->branch_cnt, thousands);
	rates[RATE_WRONG] = per(pass->wrong_cnt, thousands);
	rates[RATE_L2] = per(pass->miss_cnt, thousands);
	rates[RATE_LATENCY] = per(pass->profiler_cycles, (double)pass->branch_cnt);
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	struct pass *pass = lab_alloc(1, sizeof(*pass));

	pass->table = eopp_hot_paths(&size);
	lab_pipeline_init(&pass->plain, LAB_QUEUE_NONE);
	for (size_t q = 0; q < QUEUE_CNT; q++)
		lab_pipeline_init(&pass->with[q], queue_sizes[q]);
	eopp_feed(trace, PATHPROF_EXTEND_NONE, true, add_branch, pass);
	conclude(pass, result);
	pathprof_hot_paths_free(pass->table);
	free(pass);
}

static double mean_overhead(const struct overheads *overheads, size_t cnt, size_t queue)
{
	double *values = lab_alloc(cnt, sizeof(*values)), mean;

	for (size_t i = 0; i < cnt; i++)
		values[i] = overheads[i].overhead[queue];
	mean = eopp_mean(values, cnt);
	free(values);
	return mean;
}

static double mean_rate(const struct overheads *overheads, size_t cnt, size_t rate)
{
	double *values = lab_alloc(cnt, sizeof(*values)), mean;

	for (size_t i = 0; i < cnt; i++)
		values[i] = overheads[i].rates[rate];
	mean = eopp_mean(values, cnt);
	free(values);
	return mean;
}

static void write_rates(struct lab_run *run, const struct overheads *overheads)
{
	struct lab_table *table =
		lab_table_new("eopp-5.12-rates", "What the modelled machine went through",
			      "program", rate_names, RATE_CNT);

	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, overheads[i].rates);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void report(struct lab_run *run, const struct overheads *overheads)
{
	size_t cnt = lab_run_program_cnt(run);
	struct lab_headline line = {.what = "EOPP 5.12: overhead without a branch queue",
				    .paper = "8.04 %",
				    .ours = mean_overhead(overheads, cnt, NO_QUEUE),
				    .unit = "%",
				    .aim = NAN};
	char why[96];

	snprintf(why, sizeof(why),
		 "another machine: ours has %.2f instructions a cycle (eopp-5.12-rates)",
		 mean_rate(overheads, cnt, RATE_IPC));
	line.why = why;
	eopp_headline(run, &line);
	line.what = "EOPP 5.12: overhead with a branch queue of 4";
	line.paper = "0.6 %";
	line.ours = mean_overhead(overheads, cnt, FOUR);
	line.aim = 0.6;
	line.at_most = true;
	snprintf(why, sizeof(why), "%.2f %% with a queue of 32: that much is not bursts",
		 mean_overhead(overheads, cnt, QUEUE_CNT - 1));
	eopp_headline(run, &line);
}

static void run_overhead(struct lab_run *run)
{
	struct overheads *overheads = lab_alloc(lab_run_program_cnt(run), sizeof(*overheads));
	struct lab_table *table =
		lab_table_new("eopp-5.12", "Overhead by the size of the branch queue, %", "program",
			      queue_names, QUEUE_CNT);

	lab_run_each_program(run, LAB_TRACE_MEMORY, measure, overheads, sizeof(*overheads));
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, overheads[i].overhead);
	eopp_write_bars(run, table, "program", "overhead, %");
	write_rates(run, overheads);
	report(run, overheads);
	free(overheads);
}

const struct lab_experiment exp_eopp_5_12 = {
	.name = "eopp-5.12",
	.title = "what the path profiler costs by its branch queue",
	.source = "EOPP figure 5.12",
	.run = run_overhead,
};
