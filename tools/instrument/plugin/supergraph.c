// SPDX-License-Identifier: GPL-2.0-or-later
#include "supergraph.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "call_graph.h"
#include "crossing.h"
#include "graph.h"
#include "inlining.h"
#include "promote.h"
#include "ran.h"

#define CALLEE_BLOCKS_MAX 200
#define GROWTH_MAX        4
#define ROUNDS_MAX        16

/* A call that was executed. */
struct site {
	LLVMValueRef call;
	uint64_t count;
	uint32_t caller, callee;
	uint32_t order; /* of the call in the module */
	uint32_t next_of_caller,
		next_of_callee; /* the next followed call of either, from 1; 0: none */
};

struct function {
	uint32_t blocks, most; /* with inlined code, and the limit of that */
	uint32_t own_blocks;
	uint32_t above,
		below; /* nesting depth of followed calls: down to this function, and from it on */
	uint32_t out, in; /* first followed call it has, and first to it; as in a site */
	bool goes_round;  /* it runs so many paths per call that nearly all are its own loops' */
};

struct making {
	struct unit *unit;
	struct call_graph calls;
	struct function *functions; /* indexed like calls.functions */
	struct site *sites;
	uint32_t site_cnt, site_room;
	unsigned int no_inline, optnone;
};

static LLVMValueRef value_of(const struct making *m, uint32_t function)
{
	return m->calls.functions[function].function;
}

/* ---------------------------------------------------------------- what can be inlined */

static bool have_the_same(LLVMValueRef a, LLVMValueRef b, const char *name)
{
	unsigned int bytes = (unsigned int)strlen(name);
	LLVMAttributeIndex at = LLVMAttributeFunctionIndex;

	return LLVMGetStringAttributeAtIndex(a, at, name, bytes) ==
	       LLVMGetStringAttributeAtIndex(b, at, name, bytes);
}

/* Another definition may take the place of this one when the program is linked or loaded. */
static bool may_be_replaced(const struct unit *unit, LLVMValueRef function)
{
	static const char interposition[] = "SemanticInterposition";

	switch (LLVMGetLinkage(function)) {
	case LLVMInternalLinkage:
	case LLVMPrivateLinkage:
		return false;
	case LLVMExternalLinkage:
	case LLVMLinkOnceODRLinkage:
	case LLVMWeakODRLinkage:
		return LLVMGetVisibility(function) == LLVMDefaultVisibility &&
		       LLVMGetModuleFlag(unit->module, interposition, strlen(interposition));
	default:
		return true;
	}
}

static bool is_inlinable(const struct making *m, LLVMValueRef caller, LLVMValueRef callee)
{
	return !unit_leaves_out(m->unit, callee) && !may_be_replaced(m->unit, callee) &&
	       !unit_has_attribute(callee, m->no_inline) &&
	       !unit_has_attribute(callee, m->optnone) &&
	       have_the_same(caller, callee, "target-cpu") &&
	       have_the_same(caller, callee, "target-features");
}

static bool has_call_attribute(LLVMValueRef call, unsigned int kind)
{
	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) != NULL;
}

static bool can_be_followed(const struct making *m, const struct site *site)
{
	const struct call_graph_function *functions = m->calls.functions;

	if (has_call_attribute(site->call, m->no_inline) ||
	    (LLVMIsACallInst(site->call) &&
	     LLVMGetTailCallKind(site->call) == LLVMTailCallKindMustTail))
		return false;
	return functions[site->caller].component != functions[site->callee].component &&
	       m->functions[site->callee].own_blocks <= CALLEE_BLOCKS_MAX &&
	       !m->functions[site->callee].goes_round &&
	       is_inlinable(m, value_of(m, site->caller), value_of(m, site->callee));
}

/* ---------------------------------------------------------------- executed calls */

static void take_site(struct making *m, uint32_t caller, LLVMValueRef call, uint64_t count)
{
	struct site site = {.call = call, .count = count, .caller = caller};

	site.callee = call_graph_callee(&m->calls, call);
	site.order = m->site_cnt;
	if (site.callee == CALL_GRAPH_NONE)
		return;
	if (pp_grow(&m->sites, m->site_cnt, &m->site_room) < 0)
		must_allocate(SIZE_MAX, 1);
	m->sites[m->site_cnt++] = site;
}

static void take_piece(struct making *m, uint32_t caller, const struct piece *piece, uint64_t count)
{
	for (LLVMValueRef i = piece->first; i && i != piece->end; i = LLVMGetNextInstruction(i))
		take_site(m, caller, i, count);
}

static uint64_t sum_of(const struct pathprof_interesting_path *paths, size_t cnt)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += paths[i].count;
	return sum;
}

/* Counts the executions of each node and edge; paths[cnt] are the paths that ran. */
static void count_paths(const struct graph *graph, const struct pathprof_interesting_path *paths,
			size_t cnt, uint64_t *by_node, uint64_t *by_edge)
{
	for (size_t i = 0; i < cnt; i++)
		if (pathprof_function_paths_count_edges(graph->paths, paths[i].id, paths[i].count,
							by_edge) == 0)
			by_node[0] += graph_is_entry(graph, paths[i].id) ? paths[i].count : 0;
	for (uint32_t e = 0; e < graph->flow.edge_cnt; e++)
		by_node[graph->flow.edges[e].to] += by_edge[e];
}

/* Removes pointer comparisons that rarely match. */
static void drop_rare(const struct making *m, const struct graph *graph, const uint64_t *by_edge)
{
	uint64_t calls = 0;

	for (uint32_t v = 0; v < graph->shape.piece_cnt; v++) {
		uint32_t e = graph->flow.nodes[v].first_edge;

		if (graph->flow.nodes[v + 1].first_edge == e + 2)
			promote_drop_if_rare(m->unit, graph->shape.pieces[v].block, by_edge[e],
					     by_edge[e + 1], &calls);
	}
}

static void take_paths(struct making *m, uint32_t caller, const struct graph *graph,
		       const struct pathprof_interesting_path *paths, size_t cnt)
{
	uint64_t *by_edge = must_allocate(graph->flow.edge_cnt, sizeof(*by_edge));
	uint64_t *by_node = must_allocate(graph->flow.node_cnt, sizeof(*by_node));

	count_paths(graph, paths, cnt, by_node, by_edge);
	m->functions[caller].goes_round = sum_of(paths, cnt) / ROUNDS_MAX > by_node[0];
	for (uint32_t v = 0; v < graph->shape.piece_cnt; v++)
		if (by_node[v])
			take_piece(m, caller, &graph->shape.pieces[v], by_node[v]);
	drop_rare(m, graph, by_edge);
	ran_mark(m->unit, value_of(m, caller), &graph->shape, &graph->flow, by_edge);
	free(by_node);
	free(by_edge);
}

static void take_sites(struct making *m, uint32_t caller)
{
	const struct pathprof_interesting_path *paths;
	LLVMValueRef function = value_of(m, caller);
	struct graph graph;
	bool is_changed;
	size_t cnt;

	if (unit_leaves_out(m->unit, function) || graph_init(&graph, m->unit, function) < 0)
		return;
	paths = graph_known_paths(&graph, m->unit, m->unit->ran, function, &cnt, &is_changed);
	m->unit->misfit_cnt += is_changed;
	if (cnt)
		take_paths(m, caller, &graph, paths, cnt);
	graph_release(&graph);
}

/* ---------------------------------------------------------------- which are followed */

static int hottest_first(const void *x, const void *y)
{
	const struct site *a = x, *b = y;

	if (a->count != b->count)
		return (a->count < b->count) - (a->count > b->count);
	return (a->order > b->order) - (a->order < b->order);
}

/*
 * Adds blocks to the function and to all that it is inlined in. False: one of them exceeds its
 * limit. Recurses once per copy of the function, so no more often than there are blocks.
 */
static bool grow(struct making *m, uint32_t function, uint32_t blocks)
{
	struct function *f = &m->functions[function];
	bool fits;

	f->blocks += blocks;
	fits = f->blocks <= f->most;
	for (uint32_t s = f->in; s; s = m->sites[s - 1].next_of_callee)
		fits &= grow(m, m->sites[s - 1].caller, blocks);
	return fits;
}

static void shrink(struct making *m, uint32_t function, uint32_t blocks)
{
	m->functions[function].blocks -= blocks;
	for (uint32_t s = m->functions[function].in; s; s = m->sites[s - 1].next_of_callee)
		shrink(m, m->sites[s - 1].caller, blocks);
}

static void raise_above(struct making *m, uint32_t function, uint32_t calls)
{
	if (m->functions[function].above >= calls)
		return;
	m->functions[function].above = calls;
	for (uint32_t s = m->functions[function].out; s; s = m->sites[s - 1].next_of_caller)
		raise_above(m, m->sites[s - 1].callee, calls + 1);
}

static void raise_below(struct making *m, uint32_t function, uint32_t calls)
{
	if (m->functions[function].below >= calls)
		return;
	m->functions[function].below = calls;
	for (uint32_t s = m->functions[function].in; s; s = m->sites[s - 1].next_of_callee)
		raise_below(m, m->sites[s - 1].caller, calls + 1);
}

static bool choose(struct making *m, uint32_t s)
{
	struct site *site = &m->sites[s];
	struct function *caller = &m->functions[site->caller];
	struct function *callee = &m->functions[site->callee];

	if (caller->above + 1 + callee->below > m->unit->depth || !can_be_followed(m, site))
		return false;
	if (!grow(m, site->caller, callee->blocks)) {
		shrink(m, site->caller, callee->blocks);
		return false;
	}
	site->next_of_caller = caller->out;
	site->next_of_callee = callee->in;
	caller->out = callee->in = s + 1;
	raise_above(m, site->callee, caller->above + 1);
	raise_below(m, site->caller, callee->below + 1);
	return true;
}

static void follow(struct making *m, const struct site *site)
{
	const struct call_graph_function *functions = m->calls.functions;

	crossing_put_around(m->unit, site->call, functions[site->caller].order,
			    functions[site->callee].order);
	inlining_ask(m->unit, site->call);
}

/* ---------------------------------------------------------------- inlining */

/* LLVM did not inline it: some functions cannot be inlined. */
static void give_up(const struct making *m, LLVMValueRef instruction)
{
	if ((!LLVMIsACallInst(instruction) && !LLVMIsAInvokeInst(instruction)) ||
	    !inlining_is_asked(m->unit, instruction) ||
	    !crossing_is(m->unit, LLVMGetPreviousInstruction(instruction)))
		return;
	inlining_give_up(m->unit, instruction);
	crossing_remove_around(m->unit, instruction);
}

static void give_up_rest(const struct making *m, LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			give_up(m, i);
}

static void inline_all(struct making *m)
{
	inlining_run(m->unit);
	for (uint32_t f = 0; f < m->calls.function_cnt; f++)
		give_up_rest(m, value_of(m, f));
}

/* A local function all of whose calls were inlined has no paths of its own. */
static bool remove_if_unused(const struct making *m, uint32_t f)
{
	LLVMValueRef function = value_of(m, f);

	if (!function || !m->functions[f].in || !unit_is_local(function) ||
	    LLVMGetFirstUse(function))
		return false;
	LLVMDeleteFunction(function);
	m->calls.functions[f].function = NULL;
	return true;
}

/* Repeats until no function is removed: a removed caller may free its callees. */
static void remove_unused(const struct making *m)
{
	bool removed = true;

	while (removed) {
		removed = false;
		for (uint32_t f = 0; f < m->calls.function_cnt; f++)
			removed |= remove_if_unused(m, f);
	}
}

/* ---------------------------------------------------------------- all of it */

static void take_functions(struct making *m)
{
	struct unit *unit = m->unit;

	m->functions = must_allocate(m->calls.function_cnt, sizeof(*m->functions));
	unit->name_cnt = m->calls.function_cnt;
	unit->names = must_allocate(unit->name_cnt, sizeof(*unit->names));
	for (uint32_t f = 0; f < unit->name_cnt; f++) {
		uint32_t blocks = LLVMCountBasicBlocks(value_of(m, f));
		uint32_t most = GROWTH_MAX * blocks;

		if (most < CALLEE_BLOCKS_MAX)
			most = CALLEE_BLOCKS_MAX;
		m->functions[f] =
			(struct function){.blocks = blocks, .own_blocks = blocks, .most = most};
		unit->names[m->calls.functions[f].order] = unit_name_of(value_of(m, f));
	}
}

/* In the order of the module, not of addresses, so that builds are reproducible. */
static void take_all_sites(struct making *m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->unit->module); f;
	     f = LLVMGetNextFunction(f)) {
		uint32_t caller = call_graph_find(&m->calls, f);

		if (caller != CALL_GRAPH_NONE)
			take_sites(m, caller);
	}
	if (m->site_cnt)
		qsort(m->sites, m->site_cnt, sizeof(*m->sites), hottest_first);
}

static unsigned int attribute(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

void supergraph_make(struct unit *unit)
{
	struct making m = {
		.unit = unit, .no_inline = attribute("noinline"), .optnone = attribute("optnone")};

	call_graph_init(&m.calls, unit->module);
	take_functions(&m);
	take_all_sites(&m);
	for (uint32_t s = 0; s < m.site_cnt; s++)
		if (choose(&m, s))
			follow(&m, &m.sites[s]);
	inline_all(&m);
	remove_unused(&m);
	free(m.functions);
	free(m.sites);
	call_graph_release(&m.calls);
}
