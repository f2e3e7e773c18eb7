// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs with a known profile; see oracle_estimate.h. */
#include "oracle_estimate.h"

#include <linux/perf_event.h>
#include <string.h>

#define LOOP       0x1000ULL
#define CALL_BYTES 5

/* Within a step: its branch, its call, its end. */
#define STEP_BYTES 0x40
#define CALL_AT    0x20
#define END_AT     0x30

static uint64_t address(uint32_t function, uint32_t step)
{
	return 0x100000ULL * (function + 1) + step * STEP_BYTES;
}

static double draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(*state >> 33) / 2147483648.0;
}

void oracle_graph_random(struct oracle_graph *ret_graph, uint64_t seed)
{
	uint64_t state = seed * 2 + 1;

	memset(ret_graph, 0, sizeof(*ret_graph));
	ret_graph->cnt = 8;
	for (uint32_t f = 0; f < ret_graph->cnt; f++) {
		ret_graph->step_cnt[f] = 2 + (uint32_t)(draw(&state) * 4);
		for (uint32_t i = 0; i < ret_graph->step_cnt[f]; i++) {
			struct oracle_step *s = &ret_graph->steps[f][i];
			uint32_t later = ret_graph->cnt - f - 1;

			s->branches = draw(&state) < 0.7;
			s->chance = 0.2 + 0.6 * draw(&state);
			s->guards = draw(&state) < 0.4;
			s->callee = ORACLE_NO_CALL;
			if (later && draw(&state) < 0.7)
				s->callee = f + 1 + (uint32_t)(draw(&state) * later);
		}
	}
}

/* ---------------------------------------------------------------- running */

struct runner {
	const struct oracle_graph *graph;
	struct pathprof_branch *to;
	size_t cnt, max;
	uint64_t state;
};

static void record(struct runner *r, uint32_t kind, uint64_t from, uint64_t target, uint64_t next)
{
	if (r->cnt < r->max)
		r->to[r->cnt++] =
			(struct pathprof_branch){.from = from,
						 .target = target,
						 .next = next,
						 .kind = kind,
						 .taken = kind != PERF_BR_COND || next == target};
}

static void run_function(struct runner *r, uint32_t f, uint64_t back)
{
	bool taken = false;

	for (uint32_t i = 0; i < r->graph->step_cnt[f] && r->cnt < r->max; i++) {
		const struct oracle_step *s = &r->graph->steps[f][i];
		uint64_t at = address(f, i), target = at + (s->guards ? END_AT : CALL_AT);

		if (s->branches) {
			taken = s->tied ? taken : draw(&r->state) < s->chance;
			record(r, PERF_BR_COND, at, target, taken ? target : at + 2);
		}
		if (s->callee == ORACLE_NO_CALL || (s->branches && s->guards && taken))
			continue;
		record(r, PERF_BR_CALL, at + CALL_AT, address(s->callee, 0), address(s->callee, 0));
		run_function(r, s->callee, at + CALL_AT + CALL_BYTES);
	}
	record(r, PERF_BR_RET, address(f, r->graph->step_cnt[f]), back, back);
}

void oracle_graph_run(const struct oracle_graph *graph, struct pathprof_branch *branches,
		      size_t cnt, uint64_t seed)
{
	struct runner r = {.graph = graph, .to = branches, .max = cnt, .state = seed};

	while (r.cnt < cnt) {
		record(&r, PERF_BR_CALL, LOOP, address(0, 0), address(0, 0));
		run_function(&r, 0, LOOP + CALL_BYTES);
		record(&r, PERF_BR_UNCOND, LOOP + CALL_BYTES, LOOP, LOOP);
	}
}

/* ---------------------------------------------------------------- knowing */

/* How often each function runs, in turns of the loop. */
static void count_runs(const struct oracle_graph *g, double *ret_runs)
{
	for (uint32_t f = 0; f < g->cnt; f++)
		ret_runs[f] = f == 0;
	for (uint32_t f = 0; f < g->cnt; f++) {
		double chance = 0;

		for (uint32_t i = 0; i < g->step_cnt[f]; i++) {
			const struct oracle_step *s = &g->steps[f][i];

			if (s->branches && !s->tied)
				chance = s->chance;
			if (s->callee != ORACLE_NO_CALL)
				ret_runs[s->callee] +=
					ret_runs[f] * (s->branches && s->guards ? 1 - chance : 1);
		}
	}
}

/* The chance that a function's branches go as the bits say. */
static double chance_of(const struct oracle_graph *g, uint32_t f, uint32_t outcomes,
			uint32_t *ret_length)
{
	double chance = 1;
	uint32_t length = 0;

	for (uint32_t i = 0; i < g->step_cnt[f]; i++) {
		const struct oracle_step *s = &g->steps[f][i];
		bool taken = outcomes >> length & 1;

		if (!s->branches)
			continue;
		if (s->tied)
			chance *= length && (outcomes >> (length - 1) & 1) == taken;
		else
			chance *= taken ? s->chance : 1 - s->chance;
		length++;
	}
	*ret_length = length;
	return chance;
}

size_t oracle_graph_truth(const struct oracle_graph *graph, struct oracle_share *ret_shares,
			  size_t max)
{
	double runs[ORACLE_FUNCTIONS], sum = 1;
	size_t cnt = 0;

	count_runs(graph, runs);
	/* The loop's own path: a call, and a jump back. */
	ret_shares[cnt++] = (struct oracle_share){LOOP, 1, 1, 1};
	for (uint32_t f = 0; f < graph->cnt; f++) {
		uint32_t length;

		sum += runs[f];
		chance_of(graph, f, 0, &length);
		for (uint32_t outcomes = 0; outcomes < 1U << length && cnt < max; outcomes++) {
			double share = runs[f] * chance_of(graph, f, outcomes, &length);

			if (share > 0)
				ret_shares[cnt++] = (struct oracle_share){address(f, 0), length,
									  outcomes, share};
		}
	}
	for (size_t i = 0; i < cnt; i++)
		ret_shares[i].share /= sum;
	return cnt;
}
