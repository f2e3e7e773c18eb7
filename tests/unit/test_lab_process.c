// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces of several processes: addresses belong to the process whose stream the experiments read,
 * which is the busiest one's, and not to the first process.
 */
#include "../../tools/lab/collect/trace_pass.h"
#include "trace_writer.h"
#include "unit.h"

#include <stdio.h>

#define PROGRAM  "/bin/sh"
#define STARTS   0x1000u
#define DISTANCE 0x10000u /* between the program's places in the two processes */

static void add_processes(struct trace_writer *w)
{
	static const char command[] = PROGRAM;
	static const struct pathprof_trace_process processes[] = {
		{.pid = 77}, {.process = 1, .parent = 0, .pid = 78}};
	static const struct pathprof_trace_stream streams[] = {{.stream = 0},
							       {.stream = 1, .process = 1}};

	trace_writer_chunk(w, PATHPROF_TRACE_COMMAND, command, sizeof(command));
	trace_writer_chunk(w, PATHPROF_TRACE_PROCESSES, processes, sizeof(processes));
	trace_writer_chunk(w, PATHPROF_TRACE_STREAMS, streams, sizeof(streams));
}

static void add_module(struct trace_writer *w, uint32_t process)
{
	struct {
		struct pathprof_trace_module module;
		char name[8];
	} row = {.module = {.module = process,
			    .process = process,
			    .start = STARTS + process * DISTANCE,
			    .end = STARTS + process * DISTANCE + 0x5000,
			    .build_id = {1, 2, 3},
			    .build_id_len = 3,
			    .name_len = sizeof(PROGRAM) - 1},
		 .name = PROGRAM};

	trace_writer_chunk(w, PATHPROF_TRACE_MODULES, &row,
			   sizeof(row.module) + sizeof(PROGRAM) - 1);
}

/* The process in which `busy` words were run, the other had one. */
static struct pathprof_trace *make(uint32_t busy)
{
	static const uint32_t words[8] = {B_COND, B_COND, B_COND, B_COND,
					  B_COND, B_COND, B_COND, B_COND};
	struct pathprof_trace *trace = NULL;
	struct pathprof_error error = {""};
	struct trace_writer w;

	trace_writer_init(&w);
	add_processes(&w);
	add_module(&w, 0);
	add_module(&w, 1);
	trace_writer_chunk(&w, PATHPROF_TRACE_BLOCKS, &trace_program[1],
			   (B_PROGRAM_END - 1) * sizeof(trace_program[0]));
	trace_writer_words(&w, busy, words, 8);
	trace_writer_words(&w, !busy, words, 1);
	trace_writer_end(&w);
	if (pathprof_trace_open(&trace, trace_writer_save(&w, w.len_bytes), &error) < 0)
		printf("%s\n", error.text);
	trace_writer_release(&w);
	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	return trace;
}

static void test_busiest(void)
{
	for (uint32_t busy = 0; busy < 2; busy++) {
		struct pathprof_trace *trace = make(busy);
		struct lab_module module = {.start = 0};

		CU_ASSERT_EQUAL(lab_trace_process(trace), busy);
		CU_ASSERT(lab_pass_main_module(trace, &module));
		CU_ASSERT_EQUAL(module.start, STARTS + busy * DISTANCE);
		pathprof_trace_free(trace);
	}
}

static const struct unit_test tests[] = {
	{"the program lies where the process has it whose stream is read", test_busiest},
};
UNIT_SUITE(lab_process, tests)
