/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks executed control transfers against a graph: is a transfer one of its edges?
 *
 * Positions are file offsets. Read-only; any thread.
 */
#ifndef LAB_GRAPH_VERDICT_H
#define LAB_GRAPH_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/graph.h"

enum lab_verdict {
	LAB_VERDICT_EDGE,     /* as the graph has it */
	LAB_VERDICT_LEAVES,   /* an indirect jump or a return to where one may enter */
	LAB_VERDICT_GUESSED,  /* an edge that was a guess */
	LAB_VERDICT_OUTSIDE,  /* no function has that code */
	LAB_VERDICT_UNKNOWN,  /* the first miss: within a function, but no block there */
	LAB_VERDICT_BOUNDARY, /* no block ends with a branch of that kind there */
	LAB_VERDICT_TARGET,   /* a direct branch without that edge */
	LAB_VERDICT_SWITCH,   /* an indirect jump without that edge, nor does it leave */
	LAB_VERDICT_CALL,     /* a direct call without that edge */
	LAB_VERDICT_ENTRY,    /* entered where no block begins */
	LAB_VERDICT_NORETURN, /* a call came back that does not by the graph */
	LAB_VERDICT_RETURN,   /* a return to what is behind no call */
	LAB_VERDICT_FALL,     /* a straight run that the graph ends, or leads elsewhere */
	LAB_VERDICT_CNT,
};
#define LAB_VERDICT_MISS LAB_VERDICT_UNKNOWN

/* A place in a file; graph NULL: no file, or none that ran. */
struct lab_graph_place {
	const struct pathprof_graph *graph;
	uint64_t offset;
};

struct lab_graph_transfer {
	struct lab_graph_place from, next;
	uint32_t kind; /* PERF_BR_* */
	bool taken;
};

/* The verdict in one or two words, for tables. */
const char *lab_verdict_name(enum lab_verdict verdict);
/*
 * forget: every so many-th edge of a graph counts as missing, 0: none. *ret_at_next: what is wrong
 * lies where the transfer led, not where it came from.
 */
enum lab_verdict lab_verdict_of_transfer(const struct lab_graph_transfer *t, uint32_t forget,
					 bool *ret_at_next);
/* A straight run: no branch between start and the one at last. */
enum lab_verdict lab_verdict_of_run(const struct pathprof_graph *graph, uint64_t start,
				    uint64_t last, uint32_t forget);
/* The function whose part holds offset, block or not; PATHPROF_GRAPH_NONE. */
uint32_t lab_graph_function_at(const struct pathprof_graph *graph, uint64_t offset);

#endif
