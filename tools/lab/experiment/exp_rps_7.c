// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RPS figures 7 and 8: error and overhead of seven compressors on load values while the program
 * goes on; figure 7 for the compiler up to 16 million loads, figure 8 (errors) for every program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "rps.h"

#define FINE_EVENTS 4000000

/* The paper's five, and two of ours whose periods begin at random phases: 4 and 20 KB of counters.
 */
static const char *const samplers[] = {"R256",       "P256",         "H[P256]2048",  "H[P512]2048",
				       "T[256]2048", "H[PR244]4096", "H[PR520]16384"};
enum { R256, P256, HP256, HP512, TAGGED, PHASED, PHASED_HALF, SAMPLER_CNT };

static struct lab_rps_plan plan_of(void)
{
	return (struct lab_rps_plan){.tuple = lab_rps_load,
				     .samplers = samplers,
				     .sampler_cnt = SAMPLER_CNT,
				     .step_events = 200000,
				     .end_events = 16000000,
				     .errors = true};
}

static const struct lab_plot error_plot = {.form = LAB_PLOT_LINES,
					   .x = "load events, millions",
					   .y = "error, %",
					   .y_log = true,
					   .y_max = 30};

/* NULL: it is not among the programs. */
static const struct lab_program *compiler(const struct lab_run *run)
{
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		if (strcmp(lab_run_program(run, i)->name, "cc1") == 0)
			return lab_run_program(run, i);
	return NULL;
}

static void write_errors(struct lab_run *run, const char *name, const char *title,
			 const struct lab_rps_result *result, uint64_t end_events)
{
	const struct lab_rps_plan plan = plan_of();
	struct lab_table *table = lab_rps_error_table(name, title, &plan, result, end_events);

	lab_table_write(run, table);
	lab_plot_write(run, table, &error_plot);
	lab_table_free(table);
}

static void write_overheads(struct lab_run *run, const struct lab_rps_result *result)
{
	const struct lab_rps_plan plan = plan_of();
	const struct lab_plot plot = {
		.form = LAB_PLOT_LINES, .x = "load events, millions", .y = "overhead, %"};
	struct lab_table *table = lab_rps_overhead_table(
		"rps-7-overhead", "Overhead of profiling load values, %", &plan, result);

	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static double messages(const struct lab_rps_result *result, size_t sampler)
{
	return (double)lab_rps_last(result)->message_cnt[sampler];
}

static void say_accuracy(struct lab_run *run, const struct lab_rps_result *result)
{
	const struct lab_rps_point *last = lab_rps_last(result);
	const struct lab_rps_point *half = &result->points[result->point_cnt / 2];
	char error_why[128], overhead_why[128];

	snprintf(error_why, sizeof(error_why), "%.2f %% at half the stream; H[PR244]4096: %.2f %%",
		 half->error[HP256], last->error[PHASED]);
	snprintf(overhead_why, sizeof(overhead_why),
		 "at 1.0 cycles an instruction; %.0f M loads in %.0f M instructions",
		 (double)last->event_cnt / 1e6, (double)last->insn_cnt / 1e6);
	lab_headline(run, &(struct lab_headline){.what = "error on cc1, H[P256]2048",
						 .paper = "< 3 % on gcc",
						 .ours = last->error[HP256],
						 .unit = "%",
						 .aim = 3,
						 .at_most = true,
						 .why = error_why});
	lab_headline(run, &(struct lab_headline){.what = "overhead on cc1, H[P256]2048",
						 .paper = "3.5 % on gcc",
						 .ours = lab_rps_overhead(last, HP256),
						 .unit = "%",
						 .aim = 3.5,
						 .at_most = true,
						 .why = overhead_why});
}

static void say_messages(struct lab_run *run, const struct lab_rps_result *result)
{
	const struct lab_rps_point *last = lab_rps_last(result);
	char why[128];

	snprintf(why, sizeof(why), "with 16,384 strata of random phases: %.2f x at the end",
		 last->error[PHASED_HALF] / last->error[R256]);
	lab_headline(run, &(struct lab_headline){.what = "messages on cc1, R256 over H[P512]2048",
						 .paper = "about 2 x",
						 .ours = messages(result, R256) /
							 messages(result, HP512),
						 .unit = "x",
						 .aim = 2});
	lab_headline(run,
		     &(struct lab_headline){
			     .what = "error on cc1, H[P512]2048 over R256, mean of the second half",
			     .paper = "about the same: 1 x",
			     .ours = lab_rps_mean_error(result, HP512,
							lab_rps_last(result)->event_cnt / 2) /
				     lab_rps_mean_error(result, R256,
							lab_rps_last(result)->event_cnt / 2),
			     .unit = "x",
			     .aim = 1,
			     .at_most = true,
			     .why = why});
	lab_headline(run, &(struct lab_headline){
				  .what = "messages on cc1, T[256]2048 over H[P256]2048",
				  .paper = "almost 3 x",
				  .ours = messages(result, TAGGED) / messages(result, HP256),
				  .unit = "x",
				  .aim = NAN});
}

static void say_phased(struct lab_run *run, const struct lab_rps_result *result)
{
	const struct lab_rps_point *last = lab_rps_last(result);

	lab_headline(run, &(struct lab_headline){.what = "error on cc1, H[PR244]4096",
						 .paper = "< 3 % on gcc, H[P256]2048",
						 .ours = last->error[PHASED],
						 .unit = "%",
						 .aim = 3,
						 .at_most = true});
	lab_headline(run, &(struct lab_headline){.what = "overhead on cc1, H[PR244]4096",
						 .paper = "3.5 % on gcc, H[P256]2048",
						 .ours = lab_rps_overhead(last, PHASED),
						 .unit = "%",
						 .aim = 3.5,
						 .at_most = true});
	lab_headline(run, &(struct lab_headline){.what = "messages on cc1, R256 over H[PR520]16384",
						 .paper = "about 2 x",
						 .ours = messages(result, R256) /
							 messages(result, PHASED_HALF),
						 .unit = "x",
						 .aim = 2});
	lab_headline(run, &(struct lab_headline){
				  .what = "error on cc1, H[PR520]16384 over R256, at the end",
				  .paper = "about the same: 1 x",
				  .ours = last->error[PHASED_HALF] / last->error[R256],
				  .unit = "x",
				  .aim = 1,
				  .at_most = true});
}

static void measure_compiler(struct lab_run *run, const struct lab_program *program)
{
	const struct lab_rps_plan plan = plan_of();
	struct lab_rps_result *result = calloc(1, sizeof(*result));
	struct pathprof_trace *trace = lab_run_trace(run, program, LAB_TRACE_LOADS);

	if (!result)
		lab_fail("out of memory");
	lab_rps_measure(trace, &plan, result);
	pathprof_trace_free(trace);
	write_errors(run, "rps-7-start", "Error of the load value profile of cc1, %, first 4 M",
		     result, FINE_EVENTS);
	write_errors(run, "rps-7", "Error of the load value profile of cc1, %", result, UINT64_MAX);
	write_overheads(run, result);
	say_accuracy(run, result);
	say_messages(run, result);
	say_phased(run, result);
	free(result);
}

static void run_7(struct lab_run *run)
{
	const struct lab_program *program = compiler(run);

	if (program)
		measure_compiler(run, program);
	else
		fprintf(stderr,
			"rps-7: nothing is measured: the figure is of a compiler, and cc1 is not "
			"among the programs: add it to --programs\n");
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	struct lab_rps_plan plan = plan_of();

	(void)program;
	if (lab_run_small(run))
		plan.end_events = FINE_EVENTS;
	lab_rps_measure(trace, &plan, result);
}

static void write_program(struct lab_run *run, const struct lab_rps_result *result,
			  const char *program, const char *name)
{
	char title[128];

	snprintf(title, sizeof(title), "%s: error, %%", program);
	write_errors(run, name, title, result, UINT64_MAX);
}

static void write_last(struct lab_run *run, const struct lab_rps_result *results)
{
	struct lab_table *table =
		lab_table_new("rps-8-last", "Error of the load value profile at the end, %",
			      "program", samplers, SAMPLER_CNT);

	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name,
			      lab_rps_last(&results[i])->error);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static size_t count_better(const struct lab_run *run, const struct lab_rps_result *results)
{
	size_t better = 0;

	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		const struct lab_rps_point *last = lab_rps_last(&results[i]);

		better += last->error[HP256] <= last->error[R256];
	}
	return better;
}

static void draw_panels(struct lab_run *run, char (*names)[64])
{
	const char **panel = calloc(lab_run_program_cnt(run) + 1, sizeof(*panel));
	struct lab_plot plot = error_plot;
	struct lab_table *table = lab_table_new("rps-8", "", "", NULL, 0);

	if (!panel)
		lab_fail("out of memory");
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		panel[i] = names[i];
	plot.panel = panel;
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
	free(panel);
}

static void run_8(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run);
	struct lab_rps_result *results = calloc(cnt, sizeof(*results));
	char(*names)[64] = calloc(cnt, sizeof(*names));

	if (!results || !names)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_LOADS, measure, results, sizeof(*results));
	for (size_t i = 0; i < cnt; i++) {
		snprintf(names[i], sizeof(names[i]), "rps-8-%s", lab_run_program(run, i)->name);
		write_program(run, &results[i], lab_run_program(run, i)->name, names[i]);
	}
	write_last(run, results);
	draw_panels(run, names);
	lab_headline(run, &(struct lab_headline){
				  .what = "programs where H[P256]2048 ends no worse than R256",
				  .paper = "nearly all",
				  .ours = 100.0 * (double)count_better(run, results) / (double)cnt,
				  .unit = "%",
				  .aim = NAN});
	free(results);
	free(names);
}

const struct lab_experiment exp_rps_7 = {"rps-7", "error and overhead on load values of a compiler",
					 "RPS figure 7", run_7};
const struct lab_experiment exp_rps_8 = {"rps-8", "error on load values of every program",
					 "RPS figure 8", run_8};
