// SPDX-License-Identifier: GPL-2.0-or-later
#include "ran.h"

#include <stdlib.h>
#include <string.h>

/* The kind of metadata, and the attribute of marked functions. */
#define RAN_NAME "pathprof-ran"

static unsigned int kind_of(const struct unit *unit)
{
	return LLVMGetMDKindIDInContext(unit->context, RAN_NAME, strlen(RAN_NAME));
}

/* ---------------------------------------------------------------- marks */

static uint64_t count_to(const struct shape *shape, const struct pathprof_flow *flow,
			 const uint64_t *by_edge, uint32_t from, LLVMBasicBlockRef block)
{
	uint32_t to = shape_block_of(shape, block)->first;

	for (uint32_t e = flow->nodes[from].first_edge; e < flow->nodes[from + 1].first_edge; e++)
		if (flow->edges[e].to == to)
			return by_edge[e];
	return 0;
}

static void mark_block(const struct unit *unit, const struct shape *shape,
		       const struct pathprof_flow *flow, const uint64_t *by_edge, uint32_t piece)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(shape->pieces[piece].block);
	unsigned int cnt = LLVMGetNumSuccessors(terminator);
	LLVMMetadataRef *counts, node;

	if (cnt < 2)
		return;
	counts = must_allocate(cnt, sizeof(LLVMMetadataRef));
	for (unsigned int i = 0; i < cnt; i++)
		counts[i] = LLVMValueAsMetadata(LLVMConstInt(
			unit->i64,
			count_to(shape, flow, by_edge, piece, LLVMGetSuccessor(terminator, i)),
			false));
	node = LLVMMDNodeInContext2(unit->context, counts, cnt);
	LLVMSetMetadata(terminator, kind_of(unit), LLVMMetadataAsValue(unit->context, node));
	free(counts);
}

void ran_mark(const struct unit *unit, LLVMValueRef function, const struct shape *shape,
	      const struct pathprof_flow *flow, const uint64_t *by_edge)
{
	LLVMAttributeRef mark =
		LLVMCreateStringAttribute(unit->context, RAN_NAME, strlen(RAN_NAME), "", 0);

	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, mark);
	for (uint32_t p = 0; p < shape->piece_cnt; p++)
		if (!shape_goes_on(shape, p))
			mark_block(unit, shape, flow, by_edge, p);
}

/* ---------------------------------------------------------------- reading the marks */

/* An arc without a count of its own runs as often as its source node. */
#define AS_BEFORE UINT64_MAX

/* Several successors that are the same block are one arc. */
static uint64_t heat_of(const struct unit *unit, const struct shape *shape,
			const struct pathprof_flow_arc *arc)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(shape->pieces[arc->from].block);
	LLVMValueRef node = LLVMGetMetadata(terminator, kind_of(unit)), *counts;
	unsigned int cnt = LLVMGetNumSuccessors(terminator);
	uint64_t heat = 0;

	if (shape_goes_on(shape, arc->from) || !node ||
	    (unsigned int)LLVMGetMDNodeNumOperands(node) != cnt)
		return AS_BEFORE;
	counts = must_allocate(cnt, sizeof(LLVMValueRef));
	LLVMGetMDNodeOperands(node, counts);
	for (unsigned int i = 0; i < cnt; i++)
		if (shape_block_of(shape, LLVMGetSuccessor(terminator, i))->first == arc->to)
			heat = LLVMConstIntGetZExtValue(counts[i]);
	free(counts);
	return heat;
}

/* One pass over the arcs: raises nodes to their hottest incoming arc; true: another is needed. */
static bool spread(const struct shape *shape, const uint64_t *own, uint64_t *heat,
		   uint64_t *by_node)
{
	bool further = false;

	for (uint32_t a = 0; a < shape->arc_cnt; a++) {
		const struct pathprof_flow_arc *arc = &shape->arcs[a];

		if (!by_node[arc->from])
			continue;
		heat[a] = own[a] == AS_BEFORE ? by_node[arc->from] : own[a];
		if (heat[a] <= by_node[arc->to])
			continue;
		by_node[arc->to] = heat[a];
		further = true;
	}
	return further;
}

uint64_t *ran_heat(const struct unit *unit, LLVMValueRef function, const struct shape *shape)
{
	uint64_t *own, *heat, *by_node;

	if (!LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, RAN_NAME,
					   strlen(RAN_NAME)))
		return NULL;
	own = must_allocate(shape->arc_cnt, sizeof(*own));
	heat = must_allocate(shape->arc_cnt, sizeof(*heat));
	by_node = must_allocate(shape->piece_cnt, sizeof(*by_node));
	for (uint32_t a = 0; a < shape->arc_cnt; a++)
		own[a] = heat_of(unit, shape, &shape->arcs[a]);
	by_node[0] = 1;
	while (spread(shape, own, heat, by_node))
		;
	free(own);
	free(by_node);
	return heat;
}
