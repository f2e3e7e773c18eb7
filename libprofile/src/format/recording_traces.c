// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Counting traces; see pp_recording_traces.h. Linear probing, at most three quarters full.
 *
 * What is behind a call when a return led there: perf2bolt's rule (LLVM,
 * bolt/lib/Profile/DataAggregator.cpp).
 */
#include "pp_recording_traces.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "pp_branch_profile.h"
#include "pp_falls.h"

/* Where there is no graph of the code: AutoFDO's bound. */
#define RANGE_MAX_BYTES (1u << 20)

/* ---------------------------------------------------------------- life */

static int read_segments(struct pp_recording_traces *t, const struct pathprof_code *code)
{
	struct pathprof_code_segment segment;
	uint32_t cnt = 0;

	while (pathprof_code_segment(code, cnt, &segment) == 0)
		cnt++;
	t->segments = calloc((size_t)cnt + 1, sizeof(segment));
	if (!t->segments)
		return -ENOMEM;
	for (; t->segment_cnt < cnt; t->segment_cnt++)
		pathprof_code_segment(code, t->segment_cnt, &t->segments[t->segment_cnt]);
	return 0;
}

static void mark_pads(const struct pathprof_graph *g, uint8_t *pads)
{
	for (uint32_t e = 0; e < g->edge_cnt; e++)
		if (g->edges[e].kind == PATHPROF_EDGE_UNWIND && g->edges[e].to < g->block_cnt)
			pads[g->edges[e].to] = 1;
}

int pp_recording_traces_init(struct pp_recording_traces *t, const struct pathprof_code *code,
			     const struct pathprof_graph *graph,
			     struct pathprof_branch_profile *profile,
			     struct pathprof_recording_branches_stats *stats)
{
	*t = (struct pp_recording_traces){.graph = graph, .profile = profile, .stats = stats};
	t->slots = calloc(PP_TRACE_SLOTS, sizeof(*t->slots));
	t->pads = calloc((size_t)graph->block_cnt + 1, 1);
	if (!t->slots || !t->pads || read_segments(t, code) < 0) {
		pp_recording_traces_release(t);
		return -ENOMEM;
	}
	mark_pads(graph, t->pads);
	return 0;
}

void pp_recording_traces_release(struct pp_recording_traces *t)
{
	free(t->slots);
	free(t->pads);
	free(t->segments);
	*t = (struct pp_recording_traces){0};
}

uint32_t pp_recording_traces_at(const struct pp_recording_traces *t, uint64_t vaddr)
{
	for (uint32_t i = 0; i < t->segment_cnt; i++) {
		const struct pathprof_code_segment *s = &t->segments[i];

		if (vaddr - s->vaddr < s->len_bytes && s->offset < UINT32_MAX - s->len_bytes)
			return (uint32_t)(vaddr - s->vaddr + s->offset);
	}
	return PP_PLACE_NONE;
}

/* ---------------------------------------------------------------- what can have been run */

/* Behind it code runs on, but for a branch that was not taken. */
static bool runs_on(const struct pathprof_graph_block *block)
{
	return block->kind == 0 || block->kind == PERF_BR_COND;
}

bool pp_range_runs(const struct pathprof_graph *g, uint64_t start, uint64_t last)
{
	uint32_t b = pathprof_graph_block_at(g, start);

	if (start > last)
		return false;
	if (b == PATHPROF_GRAPH_NONE)
		return last - start <= RANGE_MAX_BYTES;
	while (g->blocks[b].end <= last) {
		if (!runs_on(&g->blocks[b]))
			return false;
		/* Most often the next one; not where code is jumped into in mid-instruction. */
		b = pathprof_graph_block_at(g, g->blocks[b].end);
		if (b == PATHPROF_GRAPH_NONE)
			return false;
	}
	return true;
}

static uint32_t function_at(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t b = offset == PATHPROF_OUTSIDE ? PATHPROF_GRAPH_NONE
						: pathprof_graph_block_at(g, offset);

	return b == PATHPROF_GRAPH_NONE ? PATHPROF_GRAPH_NONE : g->blocks[b].function;
}

static bool begins_function(const struct pathprof_graph *g, uint32_t b)
{
	return g->functions[g->blocks[b].function].entry == b;
}

/*
 * Did a call return to `start`? A branch from elsewhere to what is behind a call says so, if it is
 * a return, or if nothing but a return can lead there.
 */
static bool is_after_call(const struct pp_recording_traces *t, uint64_t from, uint64_t start)
{
	const struct pathprof_graph *g = t->graph;
	uint32_t b = pathprof_graph_block_at(g, start);

	if (b == PATHPROF_GRAPH_NONE || !b || g->blocks[b].start != start ||
	    g->blocks[b - 1].end != start || g->blocks[b - 1].function != g->blocks[b].function ||
	    (g->blocks[b - 1].kind != PERF_BR_CALL && g->blocks[b - 1].kind != PERF_BR_IND_CALL))
		return false;
	if (function_at(g, from) == g->blocks[b].function || begins_function(g, b))
		return false;
	return pp_is_return(g, from) || !t->pads[b];
}

/* ---------------------------------------------------------------- emptying the table */

static uint64_t offset_of(const struct pp_recording_traces *t, uint32_t place)
{
	for (uint32_t i = 0; place != PP_PLACE_NONE && i < t->segment_cnt; i++)
		if (place - t->segments[i].offset < t->segments[i].len_bytes)
			return place;
	return PATHPROF_OUTSIDE;
}

static int add_range(struct pp_recording_traces *t, uint64_t from, uint64_t start, uint64_t last,
		     uint64_t count)
{
	bool after_call = is_after_call(t, from, start);
	struct pp_branch_entry range = {.at = {start, last, after_call}, .count = count};
	struct pp_branch_entry trace = {.at = {from, start, last}, .count = count};
	int rc = pp_branch_add(t->profile, PP_ENTRY_RANGE, &range);

	/* A range behind a call says itself how it began. */
	if (rc || from == PATHPROF_OUTSIDE || after_call)
		return rc;
	return pp_branch_add(t->profile, PP_ENTRY_TRACE, &trace);
}

int pp_recording_traces_range(struct pp_recording_traces *t, uint64_t from, uint64_t start,
			      uint64_t last, uint64_t count)
{
	if (pp_range_runs(t->graph, start, last))
		return add_range(t, from, start, last, count);
	t->stats->left[PATHPROF_LEFT_RANGE] =
		pp_count_sum(t->stats->left[PATHPROF_LEFT_RANGE], count);
	return 0;
}

static int empty_slot(struct pp_recording_traces *t, const struct pp_trace_slot *slot)
{
	uint64_t *left_out = t->stats->ledger.left;
	uint64_t from = offset_of(t, slot->trace.from), to = offset_of(t, slot->trace.start);
	uint64_t last = offset_of(t, slot->trace.last);
	bool range = to != PATHPROF_OUTSIDE && last != PATHPROF_OUTSIDE;
	int rc;

	if (from == PATHPROF_OUTSIDE && to == PATHPROF_OUTSIDE) {
		left_out[PATHPROF_LEDGER_OUTSIDE] += slot->count;
		return 0;
	}
	if ((slot->trace.flags & PP_TRACE_REPEATS) &&
	    !(range && pp_range_runs(t->graph, to, last))) {
		left_out[PATHPROF_LEDGER_REPEATED] += slot->count;
		return 0;
	}
	t->stats->branches = pp_count_sum(t->stats->branches, slot->count);
	rc = pathprof_branch_profile_add_branch(t->profile, from, to, slot->count,
						slot->mispredicted);
	return rc || !range ? rc : pp_recording_traces_range(t, from, to, last, slot->count);
}

/* ---------------------------------------------------------------- counting */

static uint32_t slot_of(const struct pp_trace *trace)
{
	uint64_t hash = (uint64_t)trace->from << 32 | trace->start;

	hash ^= ((uint64_t)trace->last << 1 | trace->flags) * UINT64_C(0xbf58476d1ce4e5b9);
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 40) & (PP_TRACE_SLOTS - 1);
}

static bool is_same(const struct pp_trace *a, const struct pp_trace *b)
{
	return a->from == b->from && a->start == b->start && a->last == b->last &&
	       a->flags == b->flags;
}

static void count_one(struct pp_recording_traces *t, const struct pp_trace_waiting *w)
{
	uint32_t at = w->at;
	struct pp_trace_slot *slot;

	for (slot = &t->slots[at]; slot->count; slot = &t->slots[at]) {
		if (is_same(&slot->trace, &w->counted.trace)) {
			slot->count = pp_count_sum(slot->count, w->counted.count);
			slot->mispredicted =
				pp_count_sum(slot->mispredicted, w->counted.mispredicted);
			return;
		}
		at = (at + 1) & (PP_TRACE_SLOTS - 1);
	}
	*slot = w->counted;
	t->cnt++;
}

int pp_recording_traces_flush(struct pp_recording_traces *t)
{
	for (uint32_t i = 0; i < PP_TRACE_WAITING; i++) {
		if (t->waiting[i].counted.count)
			count_one(t, &t->waiting[i]);
		t->waiting[i].counted.count = 0;
	}
	for (uint32_t i = 0; t->cnt && i < PP_TRACE_SLOTS; i++) {
		int rc = t->slots[i].count ? empty_slot(t, &t->slots[i]) : 0;

		if (rc)
			return rc;
	}
	memset(t->slots, 0, PP_TRACE_SLOTS * sizeof(*t->slots));
	t->cnt = 0;
	return 0;
}

int pp_recording_traces_add(struct pp_recording_traces *t, const struct pp_trace *trace,
			    uint64_t count, uint64_t mispredicted)
{
	struct pp_trace_waiting *w = &t->waiting[t->next++ % PP_TRACE_WAITING];

	if (w->counted.count)
		count_one(t, w);
	*w = (struct pp_trace_waiting){{*trace, count, mispredicted}, slot_of(trace)};
	__builtin_prefetch(&t->slots[w->at], 1);
	return t->cnt < PP_TRACE_FULL ? 0 : pp_recording_traces_flush(t);
}
