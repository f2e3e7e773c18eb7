// SPDX-License-Identifier: GPL-2.0-or-later
#include "call_graph.h"

#include <stdlib.h>

#include "base/vector.h"

static int by_address(const void *x, const void *y)
{
	const struct call_graph_function *a = x, *b = y;

	return (a->function > b->function) - (a->function < b->function);
}

uint32_t call_graph_find(const struct call_graph *graph, LLVMValueRef function)
{
	struct call_graph_function key = {.function = function}, *found;

	found = bsearch(&key, graph->functions, graph->function_cnt, sizeof(key), by_address);
	return found ? (uint32_t)(found - graph->functions) : CALL_GRAPH_NONE;
}

uint32_t call_graph_callee(const struct call_graph *graph, LLVMValueRef instruction)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
	LLVMValueRef callee;

	if (opcode != LLVMCall && opcode != LLVMInvoke)
		return CALL_GRAPH_NONE;
	callee = LLVMIsAFunction(LLVMGetCalledValue(instruction));
	/* A call with another type than the callee's counts as a call by pointer. */
	if (!callee || LLVMGetCalledFunctionType(instruction) != LLVMGlobalGetValueType(callee))
		return CALL_GRAPH_NONE;
	return call_graph_find(graph, callee);
}

/* ---------------------------------------------------------------- functions and calls */

static bool is_defined(LLVMValueRef function)
{
	return !LLVMIsDeclaration(function) &&
	       LLVMGetLinkage(function) != LLVMAvailableExternallyLinkage;
}

static void take_functions(struct call_graph *graph, LLVMModuleRef module)
{
	uint32_t cnt = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		cnt += is_defined(f);
	graph->functions = must_allocate((size_t)cnt + 1, sizeof(*graph->functions));
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (!is_defined(f))
			continue;
		graph->functions[graph->function_cnt] =
			(struct call_graph_function){.function = f, .order = graph->function_cnt};
		graph->function_cnt++;
	}
	qsort(graph->functions, cnt, sizeof(*graph->functions), by_address);
}

static void take_callee(struct call_graph *graph, uint32_t callee)
{
	if (callee == CALL_GRAPH_NONE)
		return;
	if (pp_grow(&graph->callees, graph->callee_cnt, &graph->callee_room) < 0)
		must_allocate(SIZE_MAX, 1);
	graph->callees[graph->callee_cnt++] = callee;
}

static void take_calls(struct call_graph *graph, LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			take_callee(graph, call_graph_callee(graph, i));
}

/* ---------------------------------------------------------------- components */

struct search {
	struct call_graph *graph;
	uint32_t *number; /* by function: its place in order of visiting, from 1; 0: none yet */
	uint32_t *low;    /* by function: the least number of an open function that it reaches */
	uint32_t *next;   /* by function: the next callee to visit */
	uint32_t *way;    /* the functions from the root to the current one */
	uint32_t *open;   /* the functions not yet in a component, in order of visiting */
	uint32_t way_cnt, open_cnt, met_cnt, component_cnt;
};

static void meet(struct search *s, uint32_t function)
{
	s->number[function] = s->low[function] = ++s->met_cnt;
	s->next[function] = s->graph->functions[function].first_callee;
	s->way[s->way_cnt++] = function;
	s->open[s->open_cnt++] = function;
	s->graph->functions[function].component = CALL_GRAPH_NONE;
}

static void lower(struct search *s, uint32_t function, uint32_t to)
{
	if (s->low[function] > to)
		s->low[function] = to;
}

/* The function is the first of its component: all open functions behind it belong to that too. */
static void close_component(struct search *s, uint32_t first)
{
	uint32_t function;

	do {
		function = s->open[--s->open_cnt];
		s->graph->functions[function].component = s->component_cnt;
	} while (function != first);
	s->component_cnt++;
}

static void leave(struct search *s, uint32_t function)
{
	s->way_cnt--;
	if (s->low[function] == s->number[function])
		close_component(s, function);
	if (s->way_cnt)
		lower(s, s->way[s->way_cnt - 1], s->low[function]);
}

static void search_from(struct search *s, uint32_t root)
{
	const struct call_graph_function *functions = s->graph->functions;

	meet(s, root);
	while (s->way_cnt) {
		uint32_t at = s->way[s->way_cnt - 1], callee;

		if (s->next[at] == functions[at + 1].first_callee) {
			leave(s, at);
			continue;
		}
		callee = s->graph->callees[s->next[at]++];
		if (!s->number[callee])
			meet(s, callee);
		else if (functions[callee].component == CALL_GRAPH_NONE)
			lower(s, at, s->number[callee]);
	}
}

static void find_components(struct call_graph *graph)
{
	size_t cnt = graph->function_cnt;
	uint32_t *memory = must_allocate(5 * cnt, sizeof(*memory));
	struct search s = {.graph = graph,
			   .number = memory,
			   .low = memory + cnt,
			   .next = memory + 2 * cnt,
			   .way = memory + 3 * cnt,
			   .open = memory + 4 * cnt};

	for (uint32_t f = 0; f < cnt; f++)
		if (!s.number[f])
			search_from(&s, f);
	free(memory);
}

void call_graph_init(struct call_graph *graph, LLVMModuleRef module)
{
	*graph = (struct call_graph){0};
	take_functions(graph, module);
	for (uint32_t f = 0; f < graph->function_cnt; f++) {
		graph->functions[f].first_callee = graph->callee_cnt;
		take_calls(graph, graph->functions[f].function);
	}
	graph->functions[graph->function_cnt].first_callee = graph->callee_cnt;
	find_components(graph);
}

void call_graph_release(struct call_graph *graph)
{
	free(graph->functions);
	free(graph->callees);
}
