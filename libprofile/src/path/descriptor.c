// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Between a path's number and the descriptor that profiles hold of it: a start, a length, outcomes.
 *
 * Both ways walk the flow as the path stack steps (EOPP 5.2, table 5.1): a conditional takes its
 * outcome, a direct or an indirect jump is 1, blocks that fall through, calls and returns add
 * nothing. A path ends with a backward branch, taken or not, with an indirect jump and with a
 * return, and a jump forward into another function does not end it. One step is a *passage*: out
 * of a block by an edge or out of the function.
 *
 * Kept edges have no cycle, so each walk ends. Workload: the paths of a profile, some 10^5; linear
 * in a path's blocks. Pure; any thread.
 */
#include "pp_function_paths.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "base/search.h"

#define LENGTH_MAX 32

struct passage {
	uint32_t way; /* edge, or PP_LEAVES */
	bool is_branch, outcome;
	bool ends;     /* the path stack pops here */
	bool is_none;  /* nor ends nor goes on in any profile's path */
	uint64_t next; /* leaves and does not end: where it goes on */
};

struct walk {
	const struct pathprof_function_paths *paths;
	const struct pathprof_graph *graph;
	uint32_t node;
	uint64_t id; /* of the way so far; of the way ahead where that is what is known */
	uint32_t length, outcomes;
};

static const struct pathprof_graph_block *block_of(const struct walk *w)
{
	return &w->graph->blocks[w->paths->flow->nodes[w->node].block];
}

static bool is_branch(uint32_t kind)
{
	return kind == PERF_BR_COND || kind == PERF_BR_UNCOND || kind == PERF_BR_IND;
}

/* ---------------------------------------------------------------- passages */

/* Whether control takes an edge of this kind behind the last instruction's outcome. */
static bool is_taken_by(uint32_t edge_kind, uint32_t block_kind, bool outcome)
{
	switch (edge_kind) {
	case PATHPROF_EDGE_NOT_TAKEN:
		return !outcome;
	case PATHPROF_EDGE_TAKEN:
	case PATHPROF_EDGE_TAIL:
		return outcome || block_kind != PERF_BR_COND;
	case PATHPROF_EDGE_CALL:
	case PATHPROF_EDGE_UNWIND:
		return false;
	default:
		return true;
	}
}

static bool leads_out(const struct walk *w, const struct pathprof_edge *e)
{
	return e->kind == PATHPROF_EDGE_TAIL || e->to == PATHPROF_GRAPH_NONE ||
	       w->graph->blocks[e->to].function != w->paths->flow->function;
}

/* The edge of the graph that leaves the function with this outcome, or NULL. */
static const struct pathprof_edge *edge_out(const struct walk *w, bool outcome)
{
	const struct pathprof_graph_block *b = block_of(w);

	for (uint32_t e = b[0].first_edge; e < b[1].first_edge; e++)
		if (is_taken_by(w->graph->edges[e].kind, b->kind, outcome) &&
		    leads_out(w, &w->graph->edges[e]))
			return &w->graph->edges[e];
	return NULL;
}

/* Whether the direct branch at the block's end leads back. To where nothing is known it does not.
 */
static bool branches_back(const struct walk *w)
{
	const struct pathprof_graph_block *b = block_of(w);

	for (uint32_t i = b[0].first_edge; i < b[1].first_edge; i++) {
		const struct pathprof_edge *e = &w->graph->edges[i];

		if ((e->kind == PATHPROF_EDGE_TAKEN || e->kind == PATHPROF_EDGE_JUMP ||
		     e->kind == PATHPROF_EDGE_TAIL) &&
		    e->to != PATHPROF_GRAPH_NONE)
			return w->graph->blocks[e->to].start <= b->last;
	}
	return false;
}

/* Leaving the function here with this outcome. */
static struct passage leave(const struct walk *w, bool outcome)
{
	const struct pathprof_graph_block *b = block_of(w);
	const struct pathprof_edge *out = edge_out(w, outcome);
	struct passage p = {.way = PP_LEAVES,
			    .is_branch = is_branch(b->kind),
			    .outcome = outcome,
			    .next = UINT64_MAX};

	/* Without an edge: a return, a jump by a pointer, or code that never goes on. */
	p.ends = b->kind == PERF_BR_IND || (p.is_branch && branches_back(w)) || !out;
	/* An exception leads out of the function, and nothing else does. */
	p.is_none = !out &&
		    w->paths->flow->nodes[w->node].first_edge !=
			    w->paths->flow->nodes[w->node + 1].first_edge &&
		    b->kind != PERF_BR_RET && b->kind != PERF_BR_IND;
	if (out && out->to != PATHPROF_GRAPH_NONE)
		p.next = w->graph->blocks[out->to].start;
	return p;
}

static struct passage pass(const struct walk *w, uint32_t edge, bool outcome)
{
	return (struct passage){.way = edge,
				.is_branch = is_branch(block_of(w)->kind),
				.outcome = outcome,
				.ends = w->paths->cuts[edge] == PP_CUT_BY_RULE,
				.is_none =
					w->paths->cuts[edge] > PP_CUT_BY_RULE ||
					w->paths->flow->edges[edge].kind == PATHPROF_EDGE_UNWIND};
}

/* The passage of a way out of the node. */
static struct passage passage_of(const struct walk *w, uint32_t way)
{
	bool is_conditional = block_of(w)->kind == PERF_BR_COND;

	if (way != PP_LEAVES)
		return pass(w, way, w->paths->flow->edges[way].kind != PATHPROF_EDGE_NOT_TAKEN);
	/* A branch that leaves either way does so by being taken, as far as numbers tell. */
	return leave(w, !is_conditional || edge_out(w, true));
}

/* The passage with an outcome: the first edge, else out of the function. */
static int find_passage(const struct walk *w, bool outcome, struct passage *ret_passage)
{
	const struct pathprof_function_paths *p = w->paths;
	const struct pathprof_flow_node *node = &p->flow->nodes[w->node];

	for (uint32_t e = node[0].first_edge; e < node[1].first_edge; e++) {
		if (!is_taken_by(p->flow->edges[e].kind, block_of(w)->kind, outcome))
			continue;
		*ret_passage = pass(w, e, outcome);
		return 0;
	}
	if (!p->nodes[w->node].leaves)
		return -ENOENT;
	*ret_passage = leave(w, outcome);
	return 0;
}

/* ---------------------------------------------------------------- from a descriptor */

/* The block that begins at offset, or PATHPROF_GRAPH_NONE. */
static uint32_t block_from(const struct pathprof_graph *graph, uint64_t offset)
{
	uint32_t low = pp_first(i, 0, graph->block_cnt, graph->blocks[i].start >= offset);

	return low < graph->block_cnt && graph->blocks[low].start == offset ? low
									    : PATHPROF_GRAPH_NONE;
}

static int begin_at(struct walk *w, uint64_t offset)
{
	uint32_t block = block_from(w->graph, offset), node, start;

	if (block == PATHPROF_GRAPH_NONE)
		return -ENOENT;
	node = pathprof_flow_node_of(w->paths->flow, block);
	if (node == PATHPROF_GRAPH_NONE)
		return -ENOENT;
	start = pp_paths_start_at(w->paths, node);
	if (start == w->paths->start_cnt)
		return -ENOENT;
	w->node = node;
	w->id = w->paths->starts[start].weight;
	return 0;
}

/* The passage that the next of `length` outcomes says; those used are counted in w->length. */
static int next_passage(struct walk *w, uint32_t length, uint32_t outcomes, struct passage *ret)
{
	uint32_t kind = block_of(w)->kind;
	bool outcome = true;

	if (is_branch(kind)) {
		if (w->length == length)
			return -EBADMSG;
		outcome = outcomes >> w->length & 1;
		if (!outcome && kind != PERF_BR_COND)
			return -EBADMSG;
		w->length++;
	}
	return find_passage(w, outcome, ret);
}

/* Adds a passage to the number. 1: it was the path's last. */
static int follow(struct walk *w, const struct passage *p)
{
	if (p->is_none || (!p->ends && w->length == LENGTH_MAX))
		return -ENOENT;
	w->id += p->way == PP_LEAVES ? w->paths->nodes[w->node].leaving : w->paths->weights[p->way];
	if (p->ends || p->way == PP_LEAVES)
		return 1;
	w->node = w->paths->flow->edges[p->way].to;
	return 0;
}

static bool is_descriptor(uint32_t length, uint32_t outcomes)
{
	return length <= LENGTH_MAX && (length == LENGTH_MAX || !(outcomes >> length));
}

int pathprof_function_paths_split_descriptor(const struct pathprof_function_paths *paths,
					     const struct pathprof_graph *graph, uint64_t start,
					     uint32_t length, uint32_t outcomes, uint64_t *ret_id,
					     uint32_t *ret_length, uint64_t *ret_next)
{
	struct walk w = {.paths = paths, .graph = graph};
	struct passage p;
	int r;

	if (paths->cut != PATHPROF_CUT_BRANCHES || !is_descriptor(length, outcomes))
		return -EINVAL;
	r = begin_at(&w, start);
	while (r == 0) {
		r = next_passage(&w, length, outcomes, &p);
		if (r == 0)
			r = follow(&w, &p);
	}
	if (r < 0)
		return r;
	if (p.ends && w.length != length)
		return -EBADMSG;
	*ret_id = w.id;
	*ret_length = w.length;
	if (p.ends)
		return 0;
	*ret_next = p.next;
	return 1;
}

/* ---------------------------------------------------------------- to a descriptor */

/* One passage of the path whose number is w->id from here on. 1: the last. */
static int unfold(struct walk *w, struct passage *ret)
{
	*ret = passage_of(w, pp_paths_way_of(w->paths, w->node, w->id));
	if (ret->is_none)
		return -ENOENT;
	if (ret->is_branch) {
		if (w->length == LENGTH_MAX)
			return -EOVERFLOW;
		w->outcomes |= (uint32_t)ret->outcome << w->length++;
	}
	if (w->length == LENGTH_MAX && !(ret->is_branch && ret->ends))
		return -EOVERFLOW;
	if (ret->ends || ret->way == PP_LEAVES)
		return 1;
	w->id -= w->paths->weights[ret->way];
	w->node = w->paths->flow->edges[ret->way].to;
	return 0;
}

int pathprof_function_paths_descriptor(const struct pathprof_function_paths *paths,
				       const struct pathprof_graph *graph, uint64_t id,
				       uint64_t *ret_start, uint32_t *ret_length,
				       uint32_t *ret_outcomes)
{
	struct walk w = {.paths = paths, .graph = graph};
	const struct pp_paths_start *start;
	uint64_t offset;
	struct passage p;
	int r;

	if (paths->cut != PATHPROF_CUT_BRANCHES)
		return -EINVAL;
	if (id >= paths->cnt)
		return -ERANGE;
	start = &paths->starts[pp_paths_start_of(paths, id)];
	w.node = start->node;
	w.id = id - start->weight;
	offset = block_of(&w)->start;
	do
		r = unfold(&w, &p);
	while (r == 0);
	if (r < 0)
		return r;
	*ret_start = offset;
	*ret_length = w.length;
	*ret_outcomes = w.outcomes;
	return !p.ends;
}
