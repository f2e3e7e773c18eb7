// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stratified samplers at about equal state, H[P256]2048's 2,048 bytes and A16's 288: does a table
 * in front of the sampler give less error for the same messages, or fewer messages for the same
 * error, on load values and on edges with calls? State is packed as hardware has it: log2(r) bits a
 * counter, 18 bytes an entry of a table (112 bits of tuple, 32 of count), one more in front (uses).
 *
 * Tables in front are read out with the profile, so the errors are those at the end of the stream.
 * Each process owns all it needs. The metrics are RPS 5.3 and 5.7.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "experiment.h"
#include "pathprof/compress.h"
#include "rps.h"

/* Bytes of state: 0, 2048, 2336, 2048, 2352, 2240, 2240, 2368. */
static const char *const samplers[] = {"R256",
				       "H[P256]2048",
				       "H[P256]2048A16",
				       "H[PR256]2048",
				       "F16H[PR256]2048",
				       "F64H[PR256]1024",
				       "F64H[PR192]1024",
				       "F64H[PR384]1024"};
enum { R256, HP256, HP256A16, PHASED, FRONT16, FRONT64, FRONT64_192, FRONT64_384, SAMPLER_CNT };
#define TIMED_TUPLES 2000000

struct result {
	struct lab_rps_result loads, edges;
	double time_ns[SAMPLER_CNT]; /* a tuple */
};

struct timed {
	struct pathprof_message *tuples; /* TIMED_TUPLES of them */
	size_t cnt;
};

static struct lab_rps_plan plan_of(const struct lab_run *run, lab_rps_tuple_fn *tuple)
{
	return (struct lab_rps_plan){.tuple = tuple,
				     .samplers = samplers,
				     .sampler_cnt = SAMPLER_CNT,
				     .step_events = UINT64_MAX,
				     .end_events = lab_run_small(run) ? 4000000 : 16000000,
				     .errors = true};
}

static bool keep_tuples(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct timed *timed = context;

	for (size_t i = 0; i < cnt && timed->cnt < TIMED_TUPLES; i++) {
		struct pathprof_message *m = &timed->tuples[timed->cnt];

		timed->cnt += lab_rps_load(&events[i], &m->pc, &m->word);
	}
	return timed->cnt < TIMED_TUPLES;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_one(const struct timed *timed, const char *notation)
{
	struct pathprof_compressor *c;
	struct pathprof_message message;
	struct pathprof_error error;
	double start_ns;

	if (pathprof_compressor_new(&c, notation, NULL, &error) < 0)
		lab_fail("rivals-tuples: %s", error.text);
	start_ns = now_ns();
	for (size_t i = 0; i < timed->cnt; i++)
		pathprof_compressor_step(c, timed->tuples[i].pc, timed->tuples[i].word, &message);
	start_ns = now_ns() - start_ns;
	pathprof_compressor_free(c);
	return timed->cnt ? start_ns / (double)timed->cnt : NAN;
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	const struct lab_rps_plan loads = plan_of(run, lab_rps_load);
	const struct lab_rps_plan edges = plan_of(run, lab_rps_edge_or_call);
	struct timed timed = {.tuples = calloc(TIMED_TUPLES, sizeof(*timed.tuples))};
	struct result *to = result;

	(void)program;
	if (!timed.tuples)
		lab_fail("out of memory");
	lab_rps_measure(trace, &loads, &to->loads);
	lab_rps_measure(trace, &edges, &to->edges);
	lab_trace_each(trace, keep_tuples, &timed);
	for (size_t s = 0; s < SAMPLER_CNT; s++)
		to->time_ns[s] = time_one(&timed, samplers[s]);
	free(timed.tuples);
}

enum figure { ERROR, MESSAGES, OVERHEAD, EDGE_ERROR, EDGE_OVERHEAD, TIME, FIGURE_CNT };

static const char *const names[FIGURE_CNT] = {
	"rivals-tuples-error",      "rivals-tuples-messages",      "rivals-tuples-overhead",
	"rivals-tuples-edge-error", "rivals-tuples-edge-overhead", "rivals-tuples-time"};
static const char *const titles[FIGURE_CNT] = {
	"Error of the load value profile, %",       "Messages per 1000 loads",
	"Overhead of profiling load values, %",     "Error of the edge and call profile, %",
	"Overhead of profiling edges and calls, %", "Nanoseconds a load, in software"};

static double figure_of(const struct result *result, enum figure figure, size_t s)
{
	const struct lab_rps_point *loads = lab_rps_last(&result->loads);
	const struct lab_rps_point *edges = lab_rps_last(&result->edges);

	switch (figure) {
	case ERROR:
		return loads->error[s];
	case MESSAGES:
		return 1000 * (double)loads->message_cnt[s] / (double)loads->event_cnt;
	case OVERHEAD:
		return lab_rps_overhead(loads, s);
	case EDGE_ERROR:
		return edges->error[s];
	case EDGE_OVERHEAD:
		return lab_rps_overhead(edges, s);
	default:
		return result->time_ns[s];
	}
}

static void write_figure(struct lab_run *run, const struct result *results, enum figure figure)
{
	const struct lab_plot plot = {.form = LAB_PLOT_BARS, .y = titles[figure]};
	struct lab_table *table =
		lab_table_new(names[figure], titles[figure], "program", samplers, SAMPLER_CNT);
	double values[SAMPLER_CNT];

	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		for (size_t s = 0; s < SAMPLER_CNT; s++)
			values[s] = figure_of(&results[i], figure, s);
		lab_table_add(table, lab_run_program(run, i)->name, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void say(struct lab_run *run, const char *program, const struct result *result)
{
	double messages = figure_of(result, MESSAGES, R256);

	if (strcmp(program, "cc1") != 0)
		return;
	lab_headline(run, &(struct lab_headline){.what = "error on cc1, F64H[PR192]1024",
						 .paper = "< 3 %, H[P256]2048 on gcc",
						 .ours = figure_of(result, ERROR, FRONT64_192),
						 .unit = "%",
						 .aim = 3,
						 .at_most = true});
	lab_headline(run, &(struct lab_headline){.what = "overhead on cc1, F64H[PR192]1024",
						 .paper = "3.5 %, H[P256]2048 on gcc",
						 .ours = figure_of(result, OVERHEAD, FRONT64_192),
						 .unit = "%",
						 .aim = 3.5,
						 .at_most = true});
	lab_headline(run, &(struct lab_headline){
				  .what = "messages on cc1, R256 over F64H[PR384]1024",
				  .paper = "about 2 x, H[P512]2048",
				  .ours = messages / figure_of(result, MESSAGES, FRONT64_384),
				  .unit = "x",
				  .aim = 2});
	lab_headline(run, &(struct lab_headline){.what = "error on cc1, F64H[PR384]1024 over R256",
						 .paper = "about the same: 1 x",
						 .ours = figure_of(result, ERROR, FRONT64_384) /
							 figure_of(result, ERROR, R256),
						 .unit = "x",
						 .aim = 1,
						 .at_most = true});
}

static void run(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run);
	struct result *results = calloc(cnt, sizeof(*results));

	if (!results)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_LOADS, measure, results, sizeof(*results));
	for (enum figure figure = 0; figure < FIGURE_CNT; figure++)
		write_figure(run, results, figure);
	for (size_t i = 0; i < cnt; i++)
		say(run, lab_run_program(run, i)->name, &results[i]);
	free(results);
}

const struct lab_experiment exp_rivals_tuples = {
	"rivals-tuples", "samplers of tuples at equal state, a table in front among them",
	"RPS 5.4 to 5.7", run};
