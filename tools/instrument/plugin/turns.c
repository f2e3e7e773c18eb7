// SPDX-License-Identifier: GPL-2.0-or-later
#include "turns.h"

#include <stdlib.h>

/* The code at a loop's end costs as much as so many counts of a turn. */
#define TURNS_LEAST 4

#define TURNS_FUNCTION "__pathprof_count_turns"

/* ---------------------------------------------------------------- which loops */

/* Debug intrinsics and the like neither leave the loop nor are interrupted by a longjmp(). */
static bool calls(const struct piece *piece)
{
	for (LLVMValueRef i = piece->first; i && i != piece->end; i = LLVMGetNextInstruction(i)) {
		LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;

		if (LLVMIsAInvokeInst(i) || LLVMIsACallBrInst(i))
			return true;
		if (LLVMIsACallInst(i) &&
		    (!callee || !LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee)))
			return true;
	}
	return false;
}

/* The edge from a node that stays in its loop; PATHPROF_GRAPH_NONE: not exactly one does, or no
 * code can be put on one that leaves it. */
static uint32_t way_on(const struct insertion *in, uint32_t node)
{
	const struct pathprof_flow *flow = in->flow;
	uint32_t loop = flow->nodes[node].loop, way = PATHPROF_GRAPH_NONE;

	for (uint32_t e = flow->nodes[node].first_edge; e < flow->nodes[node + 1].first_edge; e++) {
		if (flow->nodes[flow->edges[e].to].loop != loop) {
			if (in->shape->is_fixed && in->shape->is_fixed[e])
				return PATHPROF_GRAPH_NONE;
			continue;
		}
		if (way != PATHPROF_GRAPH_NONE)
			return PATHPROF_GRAPH_NONE;
		way = e;
	}
	return way;
}

static bool is_plain(const struct insertion *in, uint32_t node)
{
	const struct piece *piece = &in->shape->pieces[node];

	return !piece->cut && !in->flow->nodes[node].exits && !calls(piece);
}

/* Whether nothing is to be put on an edge within a loop. */
static bool is_bare(const struct insertion *in, uint32_t edge)
{
	const struct pathprof_increments *i = in->increments;

	return !pathprof_function_paths_cut_at(in->paths, edge) && !i->edge[edge] &&
	       !(i->edge_sets && i->edge_sets[edge]);
}

static bool counts(const struct insertion *in, uint32_t edge)
{
	const struct pathprof_increments *i = in->increments;

	return pathprof_function_paths_cut_at(in->paths, edge) &&
	       !(i->edge_silent && i->edge_silent[edge]);
}

/* Whether the loop, as far as it is known, turns so often that this is cheaper. */
static bool turns_often(const struct insertion *in, uint32_t closing)
{
	const struct pathprof_flow *flow = in->flow;
	uint64_t entries = 0;

	if (!in->frequency)
		return true;
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		if (flow->edges[e].to == flow->edges[closing].to && e != closing)
			entries += in->frequency[e];
	return in->frequency[closing] / TURNS_LEAST >= entries;
}

/* The edge that closes the loop, if it is of that kind; PATHPROF_GRAPH_NONE. */
static uint32_t closing_edge(const struct insertion *in, const struct pathprof_flow_loop *loop)
{
	uint32_t node = loop->header, cnt = 0, edge;

	do {
		edge = is_plain(in, node) ? way_on(in, node) : PATHPROF_GRAPH_NONE;
		if (edge == PATHPROF_GRAPH_NONE)
			return edge;
		node = in->flow->edges[edge].to;
		if (node != loop->header && !is_bare(in, edge))
			return PATHPROF_GRAPH_NONE;
	} while (++cnt < loop->node_cnt && node != loop->header);
	return node == loop->header && cnt == loop->node_cnt && counts(in, edge) &&
			       turns_often(in, edge)
		       ? edge
		       : PATHPROF_GRAPH_NONE;
}

void turns_init(struct turns *turns, const struct insertion *in)
{
	const struct pathprof_flow *flow = in->flow;
	bool defers = in->unit->defers_turns && (in->counting == PATHPROF_COUNTING_ARRAY ||
						 in->counting == PATHPROF_COUNTING_WARM);

	*turns = (struct turns){must_allocate(flow->loop_cnt + 1, sizeof(*turns->closing)),
				must_allocate(flow->edge_cnt + 1, sizeof(*turns->variable))};
	for (uint32_t l = 0; l < flow->loop_cnt; l++)
		turns->closing[l] = defers && flow->nodes[flow->loops[l].header].reached
					    ? closing_edge(in, &flow->loops[l])
					    : PATHPROF_GRAPH_NONE;
}

void turns_release(struct turns *turns)
{
	free(turns->closing);
	free(turns->variable);
}

uint32_t turns_of_edge(const struct turns *turns, const struct insertion *in, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &in->flow->edges[edge];
	uint32_t loop = in->flow->nodes[e->from].loop;
	uint32_t closing = loop == PATHPROF_GRAPH_NONE ? loop : turns->closing[loop];

	return closing == edge || in->flow->nodes[e->to].loop != loop ? closing
								      : PATHPROF_GRAPH_NONE;
}

/* ---------------------------------------------------------------- what is put */

static LLVMValueRef number(const struct unit *u, uint64_t value)
{
	return LLVMConstInt(u->i64, value, false);
}

/* Adds one at the beginning of the loop's header. */
static void put_header(const struct insertion *in, uint32_t header, LLVMValueRef variable)
{
	LLVMBuilderRef b = in->unit->builder;
	LLVMValueRef runs;

	LLVMPositionBuilderBefore(b, shape_first_place(in->shape->pieces[header].block));
	runs = LLVMBuildLoad2(b, in->unit->i64, variable, "");
	LLVMBuildStore(b, LLVMBuildAdd(b, runs, number(in->unit, 1), ""), variable);
}

void turns_put_variables(const struct turns *turns, const struct insertion *in)
{
	LLVMBuilderRef b = in->unit->builder;

	for (uint32_t l = 0; l < in->flow->loop_cnt; l++) {
		uint32_t closing = turns->closing[l];

		if (closing == PATHPROF_GRAPH_NONE)
			continue;
		turns->variable[closing] = LLVMBuildAlloca(b, in->unit->i64, "");
		LLVMBuildStore(b, number(in->unit, 0), turns->variable[closing]);
	}
	for (uint32_t l = 0; l < in->flow->loop_cnt; l++)
		if (turns->closing[l] != PATHPROF_GRAPH_NONE)
			put_header(in, in->flow->loops[l].header,
				   turns->variable[turns->closing[l]]);
}

/* RUNS: of the header. */
enum { FIRST, OTHERS, RUNS, ARGUMENTS };

static LLVMValueRef put_any(struct unit *u, LLVMValueRef runs)
{
	return LLVMBuildICmp(u->builder, LLVMIntUGT, runs, number(u, 1), "");
}

static LLVMTypeRef turns_type(const struct unit *u)
{
	LLVMTypeRef types[ARGUMENTS] = {u->pointer, u->pointer, u->i64};

	return LLVMFunctionType(LLVMVoidTypeInContext(u->context), types, ARGUMENTS, false);
}

static void fill(struct unit *u, LLVMValueRef function)
{
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef end = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMValueRef runs = LLVMGetParam(function, RUNS);
	LLVMBuilderRef b = u->builder;

	LLVMPositionBuilderAtEnd(b, entry);
	LLVMBuildCondBr(b, put_any(u, runs), some, end);
	LLVMPositionBuilderAtEnd(b, some);
	put_increment(u, LLVMGetParam(function, FIRST));
	put_addition(u, LLVMGetParam(function, OTHERS), LLVMBuildSub(b, runs, number(u, 2), ""));
	LLVMBuildBr(b, end);
	LLVMPositionBuilderAtEnd(b, end);
	LLVMBuildRetVoid(b);
}

LLVMValueRef turns_put_counts(const struct insertion *in, LLVMValueRef variable, LLVMValueRef first,
			      LLVMValueRef others)
{
	struct unit *u = in->unit;
	LLVMValueRef runs = LLVMBuildLoad2(u->builder, u->i64, variable, "");
	LLVMValueRef arguments[ARGUMENTS] = {first, others, runs};

	if (!u->counts_turns)
		u->counts_turns = make_inlined(u, TURNS_FUNCTION, turns_type(u), fill);
	LLVMBuildCall2(u->builder, turns_type(u), u->counts_turns, arguments, ARGUMENTS, "");
	LLVMBuildStore(u->builder, number(u, 0), variable);
	return put_any(u, runs);
}
