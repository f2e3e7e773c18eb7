// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict.h"

#include <linux/perf_event.h>

/* More blocks than any straight run has: the bound of a walk over FALL edges. */
#define RUN_BLOCKS_MAX 65536

const char *lab_verdict_name(enum lab_verdict verdict)
{
	static const char *const names[LAB_VERDICT_CNT] = {
		[LAB_VERDICT_EDGE] = "edge",         [LAB_VERDICT_LEAVES] = "leaves",
		[LAB_VERDICT_GUESSED] = "guessed",   [LAB_VERDICT_OUTSIDE] = "outside",
		[LAB_VERDICT_UNKNOWN] = "unknown",   [LAB_VERDICT_BOUNDARY] = "boundary",
		[LAB_VERDICT_TARGET] = "target",     [LAB_VERDICT_SWITCH] = "switch",
		[LAB_VERDICT_CALL] = "call",         [LAB_VERDICT_ENTRY] = "entry",
		[LAB_VERDICT_NORETURN] = "noreturn", [LAB_VERDICT_RETURN] = "return",
		[LAB_VERDICT_FALL] = "fall",
	};

	return names[verdict];
}

/* ---------------------------------------------------------------- looking up */

/* The parts of a function need not be neighbours, so all are searched. This is slow, and only
 * needed for misses. */
uint32_t lab_graph_function_at(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t block = pathprof_graph_block_at(g, offset);

	if (block != PATHPROF_GRAPH_NONE)
		return g->blocks[block].function;
	for (uint32_t f = 0; f < g->function_cnt; f++)
		for (uint32_t i = 0; i < g->functions[f].part_cnt; i++) {
			const struct pathprof_graph_part *p =
				&g->parts[g->functions[f].first_part + i];

			if (offset >= p->start && offset < p->end)
				return f;
		}
	return PATHPROF_GRAPH_NONE;
}

/* The block that begins at offset; PATHPROF_GRAPH_NONE. */
static uint32_t block_from(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t block = pathprof_graph_block_at(g, offset);

	return block != PATHPROF_GRAPH_NONE && g->blocks[block].start == offset
		       ? block
		       : PATHPROF_GRAPH_NONE;
}

/* Whether an edge of one of these kinds (bits) leads to block; forgotten edges do not count. */
static bool has_edge(const struct pathprof_graph *g, uint32_t from, uint32_t to, uint32_t kinds,
		     uint32_t forget)
{
	if (to == PATHPROF_GRAPH_NONE)
		return false;
	for (uint32_t e = g->blocks[from].first_edge; e < g->blocks[from + 1].first_edge; e++)
		if ((kinds >> g->edges[e].kind & 1) && g->edges[e].to == to &&
		    !(forget && e % forget == forget - 1))
			return true;
	return false;
}

static bool has_kind(const struct pathprof_graph *g, uint32_t from, uint32_t kind)
{
	for (uint32_t e = g->blocks[from].first_edge; e < g->blocks[from + 1].first_edge; e++)
		if (g->edges[e].kind == kind)
			return true;
	return false;
}

#define BIT(kind) (1u << PATHPROF_EDGE_##kind)

/* ---------------------------------------------------------------- coming in */

/*
 * A block that ends with a call right before offset, found by its last byte. If the same bytes were
 * decoded in several ways, all those blocks end there.
 */
static uint32_t call_before(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t block = offset ? pathprof_graph_block_at(g, offset - 1) : PATHPROF_GRAPH_NONE;
	const struct pathprof_graph_block *b;

	if (block == PATHPROF_GRAPH_NONE)
		return PATHPROF_GRAPH_NONE;
	b = &g->blocks[block];
	if (b->end != offset || (b->kind != PERF_BR_CALL && b->kind != PERF_BR_IND_CALL))
		return PATHPROF_GRAPH_NONE;
	return block;
}

static bool is_landing_pad(const struct pathprof_graph *g, uint32_t block)
{
	uint32_t f = g->blocks[block].function;

	for (uint32_t i = 0; i < g->functions[f].part_cnt; i++) {
		const struct pathprof_graph_part *p = &g->parts[g->functions[f].first_part + i];

		for (uint32_t k = 0; k < p->block_cnt; k++)
			if (has_edge(g, p->first_block + k, block, BIT(UNWIND), 0))
				return true;
	}
	return false;
}

static bool is_entry(const struct pathprof_graph *g, uint32_t block)
{
	return g->functions[g->blocks[block].function].entry == block;
}

static bool is_stub(const struct pathprof_graph *g, uint32_t block)
{
	return g->functions[g->blocks[block].function].flags & PATHPROF_FUNCTION_PLT;
}

/* The verdict on coming back by a return, longjmp or an exception. */
static enum lab_verdict comes_back(const struct lab_graph_place *next, uint32_t forget)
{
	const struct pathprof_graph *g = next->graph;
	uint32_t call = call_before(g, next->offset), block = block_from(g, next->offset);

	if (block != PATHPROF_GRAPH_NONE && call != PATHPROF_GRAPH_NONE &&
	    has_edge(g, call, block, BIT(CONTINUE), forget))
		return LAB_VERDICT_EDGE;
	if (block != PATHPROF_GRAPH_NONE && (is_entry(g, block) || is_landing_pad(g, block)))
		return LAB_VERDICT_LEAVES;
	if (call != PATHPROF_GRAPH_NONE)
		return LAB_VERDICT_NORETURN;
	if (lab_graph_function_at(g, next->offset) == PATHPROF_GRAPH_NONE)
		return LAB_VERDICT_OUTSIDE;
	return block == PATHPROF_GRAPH_NONE ? LAB_VERDICT_ENTRY : LAB_VERDICT_RETURN;
}

/* The verdict on a call by pointer. Assembly functions may have second entries, so any block may be
 * called. */
static enum lab_verdict goes_in(const struct lab_graph_place *next)
{
	if (block_from(next->graph, next->offset) != PATHPROF_GRAPH_NONE)
		return LAB_VERDICT_LEAVES;
	if (lab_graph_function_at(next->graph, next->offset) == PATHPROF_GRAPH_NONE)
		return LAB_VERDICT_OUTSIDE;
	return LAB_VERDICT_ENTRY;
}

/* ---------------------------------------------------------------- going out */

/* The verdict on an indirect jump without an edge: a tail call by pointer, a stub, longjmp, the
 * unwinder. */
static enum lab_verdict jumps_out(const struct lab_graph_transfer *t, uint32_t block,
				  uint32_t forget, bool *ret_at_next)
{
	const struct pathprof_graph *g = t->from.graph;
	enum lab_verdict verdict;
	uint32_t to;

	if (!t->next.graph)
		return LAB_VERDICT_LEAVES;
	if (g == t->next.graph) {
		to = block_from(g, t->next.offset);
		/* A stub's edge says only where it leads at first, or by default. */
		if (has_kind(g, block, PATHPROF_EDGE_SWITCH) && !is_stub(g, block))
			return LAB_VERDICT_SWITCH;
		if (to != PATHPROF_GRAPH_NONE && is_entry(g, to))
			return LAB_VERDICT_LEAVES;
		if (lab_graph_function_at(g, t->next.offset) == g->blocks[block].function)
			return LAB_VERDICT_SWITCH;
	}
	verdict = comes_back(&t->next, forget);
	*ret_at_next = true;
	return verdict == LAB_VERDICT_EDGE ? LAB_VERDICT_LEAVES : verdict;
}

static enum lab_verdict indirect_jump(const struct lab_graph_transfer *t, uint32_t block,
				      uint32_t forget, bool *ret_at_next)
{
	const struct pathprof_graph *g = t->from.graph;
	uint32_t to;

	if (g == t->next.graph) {
		to = block_from(g, t->next.offset);
		if (has_edge(g, block, to, BIT(SWITCH), forget))
			return LAB_VERDICT_EDGE;
		if (has_edge(g, block, to, BIT(GUESSED), forget))
			return LAB_VERDICT_GUESSED;
	}
	return jumps_out(t, block, forget, ret_at_next);
}

static bool direct_edge(const struct lab_graph_transfer *t, uint32_t block, uint32_t kinds,
			uint32_t forget)
{
	uint32_t to = block_from(t->from.graph, t->next.offset);

	return t->from.graph == t->next.graph && has_edge(t->from.graph, block, to, kinds, forget);
}

/* The verdict on a branch that lies in block. */
static enum lab_verdict leave(const struct lab_graph_transfer *t, uint32_t block, uint32_t forget,
			      bool *ret_at_next)
{
	uint32_t kinds = BIT(JUMP) | BIT(TAIL);

	switch (t->kind) {
	case PERF_BR_COND:
		kinds = t->taken ? BIT(TAKEN) | BIT(TAIL) : BIT(NOT_TAKEN);
		return direct_edge(t, block, kinds, forget) ? LAB_VERDICT_EDGE : LAB_VERDICT_TARGET;
	case PERF_BR_UNCOND:
		return direct_edge(t, block, kinds, forget) ? LAB_VERDICT_EDGE : LAB_VERDICT_TARGET;
	case PERF_BR_CALL:
		return direct_edge(t, block, BIT(CALL), forget) ? LAB_VERDICT_EDGE
								: LAB_VERDICT_CALL;
	case PERF_BR_IND:
		return indirect_jump(t, block, forget, ret_at_next);
	default:
		break;
	}
	if (!t->next.graph)
		return LAB_VERDICT_LEAVES;
	*ret_at_next = true;
	return t->kind == PERF_BR_IND_CALL ? goes_in(&t->next) : comes_back(&t->next, forget);
}

enum lab_verdict lab_verdict_of_transfer(const struct lab_graph_transfer *t, uint32_t forget,
					 bool *ret_at_next)
{
	const struct pathprof_graph *g = t->from.graph;
	uint32_t block = pathprof_graph_block_at(g, t->from.offset);

	*ret_at_next = false;
	if (block == PATHPROF_GRAPH_NONE)
		return lab_graph_function_at(g, t->from.offset) == PATHPROF_GRAPH_NONE
			       ? LAB_VERDICT_OUTSIDE
			       : LAB_VERDICT_UNKNOWN;
	if (g->blocks[block].last != t->from.offset || g->blocks[block].kind != t->kind)
		return LAB_VERDICT_BOUNDARY;
	return leave(t, block, forget, ret_at_next);
}

/* ---------------------------------------------------------------- straight on */

/* The next block of a straight run; PATHPROF_GRAPH_NONE. */
static uint32_t fall(const struct pathprof_graph *g, uint32_t block, uint32_t forget)
{
	for (uint32_t e = g->blocks[block].first_edge; e < g->blocks[block + 1].first_edge; e++)
		if (g->edges[e].kind == PATHPROF_EDGE_FALL && !(forget && e % forget == forget - 1))
			return g->edges[e].to;
	return PATHPROF_GRAPH_NONE;
}

enum lab_verdict lab_verdict_of_run(const struct pathprof_graph *g, uint64_t start, uint64_t last,
				    uint32_t forget)
{
	uint32_t block = pathprof_graph_block_at(g, start);

	if (block == PATHPROF_GRAPH_NONE)
		return lab_graph_function_at(g, start) == PATHPROF_GRAPH_NONE ? LAB_VERDICT_OUTSIDE
									      : LAB_VERDICT_UNKNOWN;
	for (int i = 0; i < RUN_BLOCKS_MAX && block != PATHPROF_GRAPH_NONE; i++) {
		if (g->blocks[block].last == last)
			return LAB_VERDICT_EDGE;
		if (g->blocks[block].last > last)
			return LAB_VERDICT_FALL;
		block = fall(g, block, forget);
	}
	return LAB_VERDICT_FALL;
}
