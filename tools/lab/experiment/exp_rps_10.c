// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RPS figure 10: the messages that a 16-entry table behind the sampler saves. The counts that it
 * adds up are not lost, so errors stay the same, and only messages are counted.
 */
#include <math.h>
#include <stdlib.h>

#include "experiment.h"
#include "rps.h"

/* In pairs: without and with a table. The last has a table of sixteen times the size. */
static const char *const samplers[] = {"R256",           "R256A16",        "H[P256]2048",
				       "H[P256]2048A16", "T[256]2048",     "T[256]2048A16",
				       "H[P256]2048",    "H[P256]2048A256"};
static const char *const firsts[] = {"R256", "H[P256]2048", "T[256]2048", "H[P256]2048 A256"};
enum { RANDOM, STRATIFIED, TAGGED, LARGE, FIRST_CNT };
#define SAMPLER_CNT 8
#define PAPER_CNT   6 /* of these in the paper's figure */

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	const struct lab_rps_plan plan = {.tuple = lab_rps_load,
					  .samplers = samplers,
					  .sampler_cnt = SAMPLER_CNT,
					  .step_events = UINT64_MAX,
					  .end_events = lab_run_small(run) ? 4000000 : 16000000};

	(void)program;
	lab_rps_measure(trace, &plan, result);
}

static double reduction(const struct lab_rps_point *point, size_t first)
{
	uint64_t with = point->message_cnt[2 * first + 1];

	return with ? (double)point->message_cnt[2 * first] / (double)with : NAN;
}

static void add_rows(struct lab_run *run, const struct lab_rps_result *results,
		     struct lab_table *overheads, struct lab_table *reductions)
{
	double values[SAMPLER_CNT];

	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		const struct lab_rps_point *last = lab_rps_last(&results[i]);
		const char *name = lab_run_program(run, i)->name;

		for (size_t s = 0; s < SAMPLER_CNT; s++)
			values[s] = lab_rps_overhead(last, s);
		lab_table_add(overheads, name, values);
		for (size_t f = 0; f < FIRST_CNT; f++)
			values[f] = reduction(last, f);
		lab_table_add(reductions, name, values);
	}
	lab_table_add_average(overheads);
	lab_table_add_average(reductions);
}

/* The program on which the table saves least, or most. */
static size_t extreme(const struct lab_run *run, const struct lab_rps_result *results, double sign)
{
	size_t found = 0;

	for (size_t i = 1; i < lab_run_program_cnt(run); i++)
		if (sign * reduction(lab_rps_last(&results[i]), STRATIFIED) >
		    sign * reduction(lab_rps_last(&results[found]), STRATIFIED))
			found = i;
	return found;
}

static void say_one(struct lab_run *run, const struct lab_rps_result *results, size_t program,
		    struct lab_headline line)
{
	const struct lab_rps_point *last = lab_rps_last(&results[program]);
	char why[128];

	snprintf(why, sizeof(why), "%s; a table of 256 instead of 16 entries: %.2f x",
		 lab_run_program(run, program)->name, reduction(last, LARGE));
	line.ours = reduction(last, STRATIFIED);
	line.unit = "x";
	line.why = why;
	lab_headline(run, &line);
}

static void say(struct lab_run *run, const struct lab_rps_result *results)
{
	say_one(run, results, extreme(run, results, -1),
		(struct lab_headline){.what = "fewer messages by A16, least program",
				      .paper = "1.15 x",
				      .aim = 1.15});
	say_one(run, results, extreme(run, results, 1),
		(struct lab_headline){.what = "fewer messages by A16, best program",
				      .paper = "2.5 x",
				      .aim = 2.5});
}

static void run(struct lab_run *run)
{
	const struct lab_plot plot = {.form = LAB_PLOT_BARS, .y = "overhead, %"};
	struct lab_rps_result *results = calloc(lab_run_program_cnt(run), sizeof(*results));
	struct lab_table *overheads = lab_table_new("rps-10", "Overhead with and without A16, %",
						    "program", samplers, PAPER_CNT);
	struct lab_table *reductions =
		lab_table_new("rps-10-messages", "Messages without A16 over messages with it",
			      "program", firsts, FIRST_CNT);

	if (!results)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_LOADS, measure, results, sizeof(*results));
	add_rows(run, results, overheads, reductions);
	lab_table_write(run, overheads);
	lab_table_write(run, reductions);
	lab_plot_write(run, overheads, &plot);
	say(run, results);
	lab_table_free(overheads);
	lab_table_free(reductions);
	free(results);
}

const struct lab_experiment exp_rps_10 = {"rps-10", "messages saved by a second level",
					  "RPS figure 10", run};
