// SPDX-License-Identifier: GPL-2.0-or-later
/* RPS figure 9: the stratified sampler with 512 to 4096 counters, on the compiler and another. */
#include <math.h>
#include <string.h>

#include "experiment.h"
#include "rps.h"

static const char *const samplers[] = {"H[P256]512", "H[P256]1024", "H[P256]2048", "H[P256]4096"};
#define SAMPLER_CNT (sizeof(samplers) / sizeof(samplers[0]))

static const struct lab_rps_plan plan = {.tuple = lab_rps_load,
					 .samplers = samplers,
					 .sampler_cnt = SAMPLER_CNT,
					 .step_events = 100000,
					 .end_events = 4000000,
					 .errors = true};
static const struct lab_plot plot = {.form = LAB_PLOT_LINES,
				     .x = "load events, millions",
				     .y = "error, %",
				     .y_log = true,
				     .y_max = 30};

static void measure(struct lab_run *run, const struct lab_program *program,
		    struct lab_rps_result *ret_result)
{
	struct pathprof_trace *trace = lab_run_trace(run, program, LAB_TRACE_LOADS);
	struct lab_table *table;
	char name[64], title[128];

	lab_rps_measure(trace, &plan, ret_result);
	pathprof_trace_free(trace);
	snprintf(name, sizeof(name), "rps-9-%s", program->name);
	snprintf(title, sizeof(title), "%s: error by number of counters, %%", program->name);
	table = lab_rps_error_table(name, title, &plan, ret_result, UINT64_MAX);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static bool wanted(const struct lab_run *run, const struct lab_program *program)
{
	return lab_run_program_cnt(run) <= 2 || strcmp(program->name, "cc1") == 0 ||
	       strcmp(program->name, "lua") == 0;
}

static void run(struct lab_run *run)
{
	static struct lab_rps_result result;
	double share = NAN;

	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		const struct lab_program *program = lab_run_program(run, i);

		if (!wanted(run, program))
			continue;
		measure(run, program, &result);
		if (isnan(share))
			share = lab_rps_last(&result)->error[0] /
				lab_rps_last(&result)->error[SAMPLER_CNT - 1];
	}
	lab_headline(run,
		     &(struct lab_headline){.what = "error after 4 M loads, 512 counters over 4096",
					    .paper = "more counters, less error",
					    .ours = share,
					    .unit = "x",
					    .aim = 1});
}

const struct lab_experiment exp_rps_9 = {"rps-9", "number of counters of the stratified sampler",
					 "RPS figure 9", run};
