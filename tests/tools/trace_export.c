// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exports the execution of one binary from an exact trace in a format of another tool: every taken
 * branch and every run of code between two of them, none estimated. The yardstick of profiles from
 * windows (tests/bench/pgo.sh).
 *
 *     trace_export TRACE BINARY FORMAT [--old-readers]
 *
 * Calls, signals and code of other files part runs as they do in a recording. Workload: some 10^8
 * events of all streams, one look-up a taken branch; 10^3 to 10^5 different runs. One owner.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace_events.h"
#include "pathprof/export.h"

#define TABLE (1u << 20)

/* A branch, and what ran behind it up to the next one. Offsets, or PATHPROF_OUTSIDE. */
struct run {
	uint64_t from, start, last;
	uint64_t cnt;
	bool by_return;
};

struct job {
	const struct pathprof_trace *trace;
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct run *table;
	uint32_t used;
	uint32_t process;
	struct pathprof_trace_module_info module; /* the executable part last met */
	struct run open;                          /* its end is to come; start OUTSIDE: none */
};

static void fail(const char *what)
{
	fprintf(stderr, "trace_export: %s\n", what);
	exit(1);
}

/* ---------------------------------------------------------------- counting */

/* Mostly the same module again, so it is kept. */
static uint64_t place(struct job *job, uint64_t address)
{
	const struct pathprof_trace_module_info *m = &job->module;

	if (!m->end || address < m->start || address >= m->end) {
		m = pathprof_trace_locate(job->trace, job->process, address);
		if (!m || !pathprof_build_id_equal(&m->build_id, &job->graph->build_id))
			return PATHPROF_OUTSIDE;
		job->module = *m;
	}
	return m->offset + (address - m->start);
}

static bool same(const struct run *a, const struct run *b)
{
	return a->from == b->from && a->start == b->start && a->last == b->last &&
	       a->by_return == b->by_return;
}

static void count(struct job *job, const struct run *run)
{
	uint64_t hash = (run->from * 0x9e3779b97f4a7c15u ^ run->start) * 0xbf58476d1ce4e5b9u +
			run->last * 0x94d049bb133111ebu;
	uint32_t slot = (uint32_t)(hash >> 40) & (TABLE - 1);

	while (job->table[slot].cnt && !same(&job->table[slot], run))
		slot = (slot + 1) & (TABLE - 1);
	if (!job->table[slot].cnt) {
		if (++job->used == TABLE / 2)
			fail("too many different runs");
		job->table[slot] = *run;
	}
	job->table[slot].cnt++;
}

static void forget(struct job *job)
{
	job->open = (struct run){.from = PATHPROF_OUTSIDE, .start = PATHPROF_OUTSIDE};
}

static void take_branch(struct job *job, const struct pathprof_branch *branch)
{
	uint64_t from = place(job, branch->from), to = place(job, branch->next);

	job->open.last = from;
	if (job->open.start != PATHPROF_OUTSIDE && from != PATHPROF_OUTSIDE)
		count(job, &job->open);
	/* Nothing of ours runs behind it, so it stands alone. */
	if (from != PATHPROF_OUTSIDE && to == PATHPROF_OUTSIDE)
		count(job, &(struct run){.from = from, .start = to, .last = to});
	job->open =
		(struct run){.from = from, .start = to, .by_return = branch->kind == PERF_BR_RET};
}

static void take(void *context, const struct pathprof_trace_event *event)
{
	struct job *job = context;

	if (trace_breaks(event))
		forget(job);
	else if (event->type == PATHPROF_TRACE_EVENT_BRANCH && event->branch.taken)
		take_branch(job, &event->branch);
}

static void read_stream(struct job *job, uint32_t stream)
{
	job->process = pathprof_trace_stream(job->trace, stream)->process;
	job->module.end = 0;
	forget(job);
	trace_each_event(job->trace, stream, take, job, fail);
}

/* ---------------------------------------------------------------- the profile */

static int add(struct pathprof_branch_profile *p, const struct run *run)
{
	bool known = run->from != PATHPROF_OUTSIDE;
	int rc = pathprof_branch_profile_add_branch(p, run->from, run->start, run->cnt, 0);

	if (rc || run->start == PATHPROF_OUTSIDE)
		return rc;
	if (known && !run->by_return)
		return pathprof_branch_profile_add_trace(p, run->from, run->start, run->last,
							 (double)run->cnt);
	return pathprof_branch_profile_add_range(p, run->start, run->last, run->by_return,
						 (double)run->cnt);
}

static int make_profile(struct job *job)
{
	const uint32_t streams = pathprof_trace_info(job->trace)->stream_cnt;
	int rc = pathprof_branch_profile_init(&job->profile, &job->graph->build_id);

	for (uint32_t i = 0; !rc && i < streams; i++)
		read_stream(job, i);
	for (uint32_t i = 0; !rc && i < TABLE; i++)
		if (job->table[i].cnt)
			rc = add(&job->profile, &job->table[i]);
	if (!rc)
		rc = pathprof_branch_profile_name(&job->profile, NULL, NULL, "exact");
	return rc ? rc : pathprof_branch_profile_settle(&job->profile);
}

int main(int argc, char **argv)
{
	struct pathprof_error error = {""};
	struct pathprof_trace *trace;
	struct pathprof_export_options options = {0};
	struct job job = {.table = calloc(TABLE, sizeof(*job.table))};

	if (argc != 4 && !(options.old_autofdo = argc == 5 && !strcmp(argv[4], "--old-readers")))
		fail("usage: trace_export TRACE BINARY FORMAT [--old-readers]");
	if (!job.table)
		fail("out of memory");
	if (pathprof_trace_open(&trace, argv[1], &error) < 0 ||
	    pathprof_code_open(&job.code, argv[2], NULL, &error) < 0 ||
	    pathprof_graph_build(&job.graph, job.code, NULL, NULL, &error) < 0)
		fail(error.text);
	job.trace = trace;
	if (make_profile(&job) < 0)
		fail("the profile is too large");
	if (pathprof_export(pathprof_format_named(argv[3]), &job.profile, job.code, job.graph,
			    &options, stdout, &error) < 0)
		fail(error.text);
	pathprof_branch_profile_release(&job.profile);
	pathprof_graph_free(job.graph);
	pathprof_code_free(job.code);
	pathprof_trace_free(trace);
	free(job.table);
	return fflush(stdout) ? 1 : 0;
}
