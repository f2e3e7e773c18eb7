/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The memory of a graph: all its arrays in one piece, as the cache keeps them.
 *
 * The piece holds, without gaps: functions, parts, blocks and one more, edges, names. Everything in
 * it is 32 bits wide (names come last), so it has no padding, and the same file gives the same
 * bytes.
 *
 * Ownership: the graph owns the piece; pathprof_graph_free() gives it back, malloc'ed or mapped.
 */
#ifndef PP_GRAPH_H
#define PP_GRAPH_H

#include <stddef.h>

#include "pathprof/graph.h"

/* Raising this makes graphs cached by older builders invalid. */
#define PP_GRAPH_VERSION 7

struct pp_graph {
	struct pathprof_graph graph; /* first: what callers hold */
	void *memory;
	size_t mapped_bytes; /* memory is a mapping of so many; 0: it is malloc's */
};

/* The length of the piece by the graph's counts. They come from no file, or were checked. */
size_t pp_graph_bytes(const struct pathprof_graph *graph);
/*
 * A graph of these counts, stats and build-id, its piece zeroed: fill it through the arrays
 * (casting const away is the filler's right alone). -ENOMEM.
 */
int pp_graph_new(struct pp_graph **ret_graph, const struct pathprof_graph *counts);

#endif
