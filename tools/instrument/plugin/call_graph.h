/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Direct calls among the functions that a unit defines.
 *
 * A component is a single function, or all functions on cycles of calls that meet.
 *
 * Source: Tarjan, Depth-First Search and Linear Graph Algorithms (1972).
 * Workload: 10^4 functions with 10^5 calls, once a unit.
 */
#ifndef CALL_GRAPH_H
#define CALL_GRAPH_H

#include "unit.h"

#define CALL_GRAPH_NONE UINT32_MAX

struct call_graph_function {
	LLVMValueRef function;
	uint32_t order; /* its number in the order of the module */
	uint32_t component;
	uint32_t first_callee; /* its callees end where the next function's begin */
};

struct call_graph {
	struct call_graph_function *functions; /* sorted by address; one more ends first_callee */
	uint32_t function_cnt;
	uint32_t *callees;
	uint32_t callee_cnt, callee_room;
};

void call_graph_init(struct call_graph *graph, LLVMModuleRef module);
void call_graph_release(struct call_graph *graph);
/* The function's index; CALL_GRAPH_NONE: the unit does not define it. */
uint32_t call_graph_find(const struct call_graph *graph, LLVMValueRef function);
/* The function that an instruction calls by name; CALL_GRAPH_NONE: it does not. */
uint32_t call_graph_callee(const struct call_graph *graph, LLVMValueRef instruction);

#endif
