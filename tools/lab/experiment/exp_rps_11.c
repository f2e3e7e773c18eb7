// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RPS figure 11: edge and call target profiles taken at the same time by one H[P256]2048, after
 * four million events. The error is section 5.3.1's with branch and destination for load and
 * value.
 */
#include <math.h>
#include <stdlib.h>

#include "experiment.h"
#include "rps.h"

static const char *const samplers[] = {"H[P256]2048"};
static const char *const columns[] = {"error %", "overhead %"};

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	static const struct lab_rps_plan plan = {.tuple = lab_rps_edge_or_call,
						 .samplers = samplers,
						 .sampler_cnt = 1,
						 .step_events = UINT64_MAX,
						 .end_events = 4000000,
						 .errors = true};

	(void)run;
	(void)program;
	lab_rps_measure(trace, &plan, result);
}

static void add_rows(struct lab_run *run, const struct lab_rps_result *results,
		     struct lab_table *table, double *ret_worst)
{
	double values[2];

	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		const struct lab_rps_point *last = lab_rps_last(&results[i]);

		values[0] = last->error[0];
		values[1] = lab_rps_overhead(last, 0);
		lab_table_add(table, lab_run_program(run, i)->name, values);
		for (size_t c = 0; c < 2; c++)
			if (isnan(ret_worst[c]) || values[c] > ret_worst[c])
				ret_worst[c] = values[c];
	}
	lab_table_add_average(table);
}

static void say(struct lab_run *run, const double *worst)
{
	lab_headline(run, &(struct lab_headline){.what = "edges and calls at once, greatest error",
						 .paper = "< 3 %",
						 .ours = worst[0],
						 .unit = "%",
						 .aim = 3,
						 .at_most = true});
	lab_headline(run,
		     &(struct lab_headline){.what = "edges and calls at once, greatest overhead",
					    .paper = "< 4.5 %",
					    .ours = worst[1],
					    .unit = "%",
					    .aim = 4.5,
					    .at_most = true});
}

static void run(struct lab_run *run)
{
	const struct lab_plot plot = {.form = LAB_PLOT_BARS, .y = "%"};
	struct lab_rps_result *results = calloc(lab_run_program_cnt(run), sizeof(*results));
	struct lab_table *table =
		lab_table_new("rps-11", "Edges and call targets at once, after 4 M events",
			      "program", columns, 2);
	double worst[2] = {NAN, NAN};

	if (!results)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_BRANCHES, measure, results, sizeof(*results));
	add_rows(run, results, table, worst);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	say(run, worst);
	lab_table_free(table);
	free(results);
}

const struct lab_experiment exp_rps_11 = {"rps-11", "edges and call targets at once",
					  "RPS figure 11", run};
