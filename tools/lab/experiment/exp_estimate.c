// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The estimator of shares against the exact truth: TIME and RUNS of paths and functions
 * (pathprof/shares.h), from windows of 32 taken branches and of a number of instructions, which
 * begin where a clock strikes in an exact trace. Programs alone and two at a time, each with half
 * of the CPU; the clock runs over instructions, or over a model of time in which some instructions
 * cost a hundred times as much as others.
 *
 * Workload: twelve traces, each read into memory once alone and once beside another.
 */
#include "exp_estimate.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../collect/functions.h"
#include "run.h"

#define SEED 0x7368617265ULL

const enum lab_stream_clock estimate_times[ESTIMATE_TIMES] = {LAB_STREAM_INSNS, LAB_STREAM_TIME};

/* NULL: straight code, a loop of 260 instructions without a branch, as a cipher has it. */
static const struct {
	const char *first, *second;
} pairs[] = {{"gzip", NULL}, {"cc1", "sqlite3"},    {"bzip2", "python3"},   {"perl", "gs"},
	     {"xz", "lua"},  {"gnugo", "gnuchess"}, {"link-parser", "gzip"}};
#define PAIR_CNT (sizeof(pairs) / sizeof(pairs[0]))

struct result {
	struct estimate_overlap overlap;
	struct estimate_repeat repeat;
	struct estimate_cost cost;
	bool measured;
	char label[64];
};

/* ---------------------------------------------------------------- streams */

static bool feed(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct lab_stream *s = context;

	for (size_t i = 0; i < cnt; i++) {
		if (events[i].type == PATHPROF_TRACE_EVENT_BRANCH)
			lab_stream_add(s, &events[i].branch, events[i].insn_cnt,
				       events[i].kernel_insn_cnt);
		else if (events[i].type != PATHPROF_TRACE_EVENT_ACCESS)
			lab_stream_tear(s);
	}
	return true;
}

static void read_stream(struct lab_stream *s, const struct pathprof_trace *trace)
{
	struct lab_functions functions;

	lab_functions_init(&functions, trace);
	lab_stream_init(s, lab_functions_number, &functions);
	lab_trace_each(trace, feed, s);
	lab_stream_finish(s);
	lab_functions_release(&functions);
}

static uint32_t one_function(void *context, uint64_t address)
{
	(void)context;
	(void)address;
	return 0;
}

/* Rounds of a cipher: a call, sixteen turns of straight code, a return. */
static void make_straight(struct lab_stream *s)
{
	const struct pathprof_branch call = {
		.from = 0x1000, .target = 0x2000, .next = 0x2000, .kind = PERF_BR_CALL, .taken = 1};
	const struct pathprof_branch ret = {
		.from = 0x2450, .target = 0x1005, .next = 0x1005, .kind = PERF_BR_RET, .taken = 1};
	const struct pathprof_branch back = {
		.from = 0x1010, .target = 0x1000, .next = 0x1000, .kind = PERF_BR_COND, .taken = 1};

	lab_stream_init(s, one_function, NULL);
	for (size_t i = 0; i < 10000; i++) {
		lab_stream_add(s, &call, 4, 0);
		for (uint16_t turn = 0; turn < 16; turn++) {
			struct pathprof_branch loop = {.from = 0x2400,
						       .target = 0x2010,
						       .kind = PERF_BR_COND,
						       .taken = turn < 15};

			loop.next = loop.taken ? loop.target : 0x2402;
			lab_stream_add(s, &loop, 260, 0);
		}
		lab_stream_add(s, &ret, 9, 0);
		lab_stream_add(s, &back, 3, 0);
	}
	lab_stream_finish(s);
}

/* ---------------------------------------------------------------- measuring */

static void measure_mix(const struct lab_run *run, const struct lab_stream *const *streams,
			size_t cnt, struct result *r)
{
	for (size_t t = 0; t < ESTIMATE_TIMES; t++) {
		struct lab_mix mix;

		lab_mix_init(&mix, streams, cnt, estimate_times[t], ESTIMATE_HORIZON);
		estimate_overlap_measure(run, &mix, t, SEED, &r->overlap);
		/* Repetitions of pairs in modelled time tell nothing that programs do not. */
		if (cnt > 1 && t > 0 && lab_run_small(run))
			estimate_repeat_skip(t, &r->repeat);
		else
			estimate_repeat_measure(run, &mix, t, SEED + 1, &r->repeat);
		if (t == 0)
			estimate_cost_measure(run, &mix, SEED + 2, &r->cost);
		lab_mix_release(&mix);
	}
	r->measured = true;
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	struct lab_stream stream;
	const struct lab_stream *streams[1] = {&stream};
	struct result *r = result;

	read_stream(&stream, trace);
	snprintf(r->label, sizeof(r->label), "%s", program->name);
	measure_mix(run, streams, 1, r);
	lab_stream_release(&stream);
}

static bool is_selected(const struct lab_run *run, const char *name)
{
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		if (strcmp(lab_run_program(run, i)->name, name) == 0)
			return true;
	return false;
}

/* The programs' traces are there by now. */
static void measure_pair(struct lab_run *run, const struct lab_program *program,
			 const struct pathprof_trace *trace, void *result)
{
	struct lab_stream first, second;
	const struct lab_stream *streams[2] = {&first, &second};
	struct result *r = result;
	size_t pair = 0;

	while (pair < PAIR_CNT && strcmp(pairs[pair].first, program->name) != 0)
		pair++;
	if (pair == PAIR_CNT || (pairs[pair].second && !is_selected(run, pairs[pair].second)))
		return;
	read_stream(&first, trace);
	if (pairs[pair].second) {
		struct pathprof_trace *other = lab_run_trace(
			run, lab_program_find(pairs[pair].second), LAB_TRACE_BRANCHES);

		read_stream(&second, other);
		pathprof_trace_free(other);
	} else {
		make_straight(&second);
	}
	snprintf(r->label, sizeof(r->label), "%s + %s", program->name,
		 pairs[pair].second ? pairs[pair].second : "straight code");
	measure_mix(run, streams, 2, r);
	lab_stream_release(&first);
	lab_stream_release(&second);
}

/* ---------------------------------------------------------------- */

#define ROWS(part)                                                                                 \
	for (size_t i = 0; i < cnt; i++)                                                           \
		rows[i] = (struct estimate_row){measured[i]->label, &measured[i]->part};

static void write_all(struct lab_run *run, struct result *const *measured, size_t cnt,
		      size_t alone_cnt)
{
	struct estimate_row *rows = lab_alloc(cnt, sizeof(*rows));

	ROWS(overlap);
	estimate_overlap_write(run, rows, cnt);
	ROWS(repeat);
	estimate_repeat_write(run, rows, cnt);
	ROWS(cost);
	estimate_cost_write(run, rows, alone_cnt);
	free(rows);
}

static void run_estimate(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run), measured_cnt = 0;
	struct result *results = lab_alloc(2 * cnt, sizeof(*results));
	struct result **measured = lab_alloc(2 * cnt, sizeof(struct result *));

	lab_run_each_program(run, LAB_TRACE_BRANCHES, measure, results, sizeof(*results));
	lab_run_each_program(run, LAB_TRACE_BRANCHES, measure_pair, results + cnt,
			     sizeof(*results));
	for (size_t i = 0; i < 2 * cnt; i++)
		if (results[i].measured)
			measured[measured_cnt++] = &results[i];
	write_all(run, measured, measured_cnt, cnt);
	free(measured);
	free(results);
}

const struct lab_experiment exp_estimate = {"estimate",
					    "estimates of TIME and RUNS against the exact shares",
					    "Cochran 12.2", run_estimate};
