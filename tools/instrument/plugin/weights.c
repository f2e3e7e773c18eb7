// SPDX-License-Identifier: GPL-2.0-or-later
#include "weights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/spread.h"

#define NAME(text) text, strlen(text)

struct words {
	LLVMValueRef *values;
	unsigned int cnt;
};

static struct words words_of(LLVMValueRef node)
{
	struct words w = {.cnt = (unsigned int)LLVMGetMDNodeNumOperands(node)};

	w.values = must_allocate(w.cnt, sizeof(LLVMValueRef));
	LLVMGetMDNodeOperands(node, w.values);
	return w;
}

static bool is_text(LLVMValueRef value, const char *text)
{
	unsigned int bytes;
	const char *have = value && LLVMIsAMDString(value) ? LLVMGetMDString(value, &bytes) : NULL;

	return have && bytes == strlen(text) && memcmp(have, text, bytes) == 0;
}

static bool take_number(LLVMValueRef value, uint64_t *ret_number)
{
	if (!value || !LLVMIsAConstantInt(value))
		return false;
	*ret_number = LLVMConstIntGetZExtValue(value);
	return true;
}

/* ---------------------------------------------------------------- functions and the module */

static bool take_entries(const struct unit *unit, LLVMMetadataRef node, uint64_t *ret_entries)
{
	struct words w = words_of(LLVMMetadataAsValue(unit->context, node));
	bool has = w.cnt > 1 && is_text(w.values[0], "function_entry_count") &&
		   take_number(w.values[1], ret_entries);

	free(w.values);
	return has;
}

/* An entry count of UINT64_MAX stands for a function that the profile does not have. */
static bool entries_of(const struct unit *unit, LLVMValueRef function, uint64_t *ret_entries)
{
	unsigned int prof = LLVMGetMDKindIDInContext(unit->context, NAME("prof"));
	size_t cnt;
	LLVMValueMetadataEntry *all = LLVMGlobalCopyAllMetadata(function, &cnt);
	bool has = false;

	for (unsigned int i = 0; i < cnt && !has; i++)
		has = LLVMValueMetadataEntriesGetKind(all, i) == prof &&
		      take_entries(unit, LLVMValueMetadataEntriesGetMetadata(all, i), ret_entries);
	LLVMDisposeValueMetadataEntries(all);
	return has && *ret_entries != UINT64_MAX;
}

/* A summary is a list of name and number pairs, and other items. */
static bool take_total(LLVMValueRef pair, uint64_t *ret_total)
{
	struct words w;
	bool has;

	if (!pair || !LLVMIsAMDNode(pair))
		return false;
	w = words_of(pair);
	has = w.cnt == 2 && is_text(w.values[0], "TotalCount") &&
	      take_number(w.values[1], ret_total);
	free(w.values);
	return has;
}

uint64_t weights_total(const struct unit *unit)
{
	LLVMMetadataRef flag = LLVMGetModuleFlag(unit->module, NAME("ProfileSummary"));
	uint64_t total = 0;
	struct words w;

	if (!flag)
		return 0;
	w = words_of(LLVMMetadataAsValue(unit->context, flag));
	for (unsigned int i = 0; i < w.cnt && !take_total(w.values[i], &total); i++)
		;
	free(w.values);
	return total;
}

/* ---------------------------------------------------------------- shares of successors */

/* Fills a weight for each successor; false: the terminator has no weights. */
static bool take_weights(const struct unit *unit, LLVMValueRef terminator, uint64_t *weights,
			 unsigned int cnt)
{
	LLVMValueRef node =
		LLVMGetMetadata(terminator, LLVMGetMDKindIDInContext(unit->context, NAME("prof")));
	struct words w;
	unsigned int first;
	bool has;

	if (!node)
		return false;
	w = words_of(node);
	/* A second string says that the weights come from __builtin_expect. */
	first = w.cnt > 1 && LLVMIsAMDString(w.values[1]) ? 2 : 1;
	has = w.cnt == first + cnt && is_text(w.values[0], "branch_weights");
	for (unsigned int i = 0; has && i < cnt; i++)
		has = take_number(w.values[first + i], &weights[i]);
	free(w.values);
	return has;
}

/* An exception is hardly ever thrown; other successors are taken to be alike. */
static void guess_weights(LLVMValueRef terminator, uint64_t *weights, unsigned int cnt)
{
	bool throws = LLVMGetInstructionOpcode(terminator) == LLVMInvoke;

	for (unsigned int i = 0; i < cnt; i++)
		weights[i] =
			throws && LLVMGetSuccessor(terminator, i) == LLVMGetUnwindDest(terminator)
				? 0
				: 1;
}

/* Several successors that are the same block are one edge. */
static void share_out(const struct unit *unit, const struct shape *shape,
		      const struct pathprof_flow *flow, uint32_t node, double *share)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(shape->pieces[node].block);
	unsigned int cnt = LLVMGetNumSuccessors(terminator);
	uint64_t *weights = must_allocate(cnt, sizeof(*weights));
	double all = 0;

	if (!take_weights(unit, terminator, weights, cnt))
		guess_weights(terminator, weights, cnt);
	for (unsigned int i = 0; i < cnt; i++)
		all += (double)weights[i];
	for (unsigned int i = 0; all > 0 && i < cnt; i++) {
		uint32_t to = shape_block_of(shape, LLVMGetSuccessor(terminator, i))->first;

		for (uint32_t e = flow->nodes[node].first_edge;
		     e < flow->nodes[node + 1].first_edge; e++)
			share[e] += flow->edges[e].to == to ? (double)weights[i] / all : 0;
	}
	free(weights);
}

static void share_all(const struct unit *unit, const struct shape *shape,
		      const struct pathprof_flow *flow, double *share)
{
	for (uint32_t v = 0; v < flow->node_cnt; v++) {
		if (shape_goes_on(shape, v))
			share[flow->nodes[v].first_edge] = 1;
		else
			share_out(unit, shape, flow, v, share);
	}
}

bool weights_take(const struct unit *unit, LLVMValueRef function, const struct shape *shape,
		  const struct pathprof_flow *flow, uint64_t *ret_entries, uint64_t *ret_counts)
{
	double *share;
	int r;

	if (!entries_of(unit, function, ret_entries))
		return false;
	share = must_allocate(flow->edge_cnt, sizeof(*share));
	share_all(unit, shape, flow, share);
	r = pathprof_spread(flow, share, *ret_entries, ret_counts);
	free(share);
	if (r == -ENOMEM)
		must_allocate(SIZE_MAX, 1);
	return r == 0;
}

/* ---------------------------------------------------------------- weights for the optimiser */

/* Several successors that are the same block are one edge, and share it equally. */
static uint64_t share_of_edge(uint64_t frequency, LLVMValueRef terminator, LLVMBasicBlockRef to)
{
	unsigned int ways = 0;

	for (unsigned int i = 0; i < LLVMGetNumSuccessors(terminator); i++)
		ways += LLVMGetSuccessor(terminator, i) == to;
	return ways ? frequency / ways + (frequency % ways != 0) : 0;
}

/* Fills a weight for each successor. Returns the largest. */
static uint64_t find_weights(const struct shape *shape, const struct pathprof_flow *flow,
			     uint32_t node, const uint64_t *frequency, uint64_t *weights)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(shape->pieces[node].block);
	uint64_t most = 0;

	for (unsigned int i = 0; i < LLVMGetNumSuccessors(terminator); i++) {
		LLVMBasicBlockRef block = LLVMGetSuccessor(terminator, i);
		uint32_t to = shape_block_of(shape, block)->first;

		for (uint32_t e = flow->nodes[node].first_edge;
		     e < flow->nodes[node + 1].first_edge; e++)
			if (flow->edges[e].to == to)
				weights[i] = share_of_edge(frequency[e], terminator, block);
		most = weights[i] > most ? weights[i] : most;
	}
	return most;
}

/* LLVM's weights have 32 bits. */
static void put_weights(const struct unit *unit, LLVMValueRef terminator, const uint64_t *weights,
			unsigned int cnt, uint64_t scale)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(unit->context);
	LLVMMetadataRef *words = must_allocate(cnt + 1, sizeof(LLVMMetadataRef)), node;

	words[0] = LLVMMDStringInContext2(unit->context, NAME("branch_weights"));
	for (unsigned int i = 0; i < cnt; i++)
		words[i + 1] = LLVMValueAsMetadata(LLVMConstInt(i32, weights[i] / scale, false));
	node = LLVMMDNodeInContext2(unit->context, words, cnt + 1);
	LLVMSetMetadata(terminator, LLVMGetMDKindIDInContext(unit->context, NAME("prof")),
			LLVMMetadataAsValue(unit->context, node));
	free(words);
}

static void give_weights(const struct unit *unit, const struct shape *shape,
			 const struct pathprof_flow *flow, uint32_t node, const uint64_t *frequency)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(shape->pieces[node].block);
	unsigned int cnt = LLVMGetNumSuccessors(terminator);
	uint64_t *weights, most;

	if (cnt < 2 ||
	    LLVMGetMetadata(terminator, LLVMGetMDKindIDInContext(unit->context, NAME("prof"))))
		return;
	weights = must_allocate(cnt, sizeof(*weights));
	most = find_weights(shape, flow, node, frequency, weights);
	if (most)
		put_weights(unit, terminator, weights, cnt, most / UINT32_MAX + 1);
	free(weights);
}

void weights_give(const struct unit *unit, const struct shape *shape,
		  const struct pathprof_flow *flow, const uint64_t *frequency)
{
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		if (!shape_goes_on(shape, v))
			give_weights(unit, shape, flow, v, frequency);
}
