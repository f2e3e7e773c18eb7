// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Checks a graph: every index in a graph that passed may be followed. Linear; cc1 takes some ten
 * milliseconds.
 */
#include "pp_graph_cache.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>

static bool names_are_sound(const struct pathprof_graph *g)
{
	return g->names_bytes && !g->names[0] && !g->names[g->names_bytes - 1];
}

static bool edges_are_sound(const struct pathprof_graph *g, const struct pathprof_graph_block *b)
{
	for (uint32_t e = b[0].first_edge; e < b[1].first_edge; e++) {
		const struct pathprof_edge *edge = &g->edges[e];

		if (edge->kind >= PATHPROF_EDGE_KIND_CNT ||
		    (edge->to >= g->block_cnt && edge->to != PATHPROF_GRAPH_NONE))
			return false;
		if (e > b[0].first_edge &&
		    (edge[-1].kind > edge->kind ||
		     (edge[-1].kind == edge->kind && edge[-1].to > edge->to)))
			return false;
	}
	return true;
}

static bool block_is_sound(const struct pathprof_graph *g, uint32_t at)
{
	const struct pathprof_graph_block *b = &g->blocks[at];

	return b->start <= b->last && b->last < b->end && b->kind < PERF_BR_MAX &&
	       b->function < g->function_cnt && (!at || b[-1].start < b->start) &&
	       b[0].first_edge <= b[1].first_edge && b[1].first_edge <= g->edge_cnt &&
	       edges_are_sound(g, b);
}

static bool blocks_are_sound(const struct pathprof_graph *g)
{
	if (g->block_cnt == PATHPROF_GRAPH_NONE || g->blocks[0].first_edge ||
	    g->blocks[g->block_cnt].first_edge != g->edge_cnt)
		return false;
	for (uint32_t b = 0; b < g->block_cnt; b++)
		if (!block_is_sound(g, b))
			return false;
	return true;
}

/* seen[]: blocks of the parts checked before. */
static bool part_is_sound(const struct pathprof_graph *g, const struct pathprof_graph_part *part,
			  uint32_t function, bool *seen)
{
	if (part->start > part->end || part->first_block > g->block_cnt ||
	    part->block_cnt > g->block_cnt - part->first_block)
		return false;
	for (uint32_t i = 0; i < part->block_cnt; i++) {
		uint32_t b = part->first_block + i;

		if (seen[b] || g->blocks[b].function != function ||
		    g->blocks[b].start < part->start || g->blocks[b].start >= part->end)
			return false;
		seen[b] = true;
	}
	return true;
}

static bool function_is_sound(const struct pathprof_graph *g, uint32_t at, bool *seen)
{
	const struct pathprof_graph_function *f = &g->functions[at];

	if (f->name >= g->names_bytes || !f->part_cnt || f->first_part >= g->part_cnt ||
	    f->part_cnt > g->part_cnt - f->first_part)
		return false;
	if (f->entry != PATHPROF_GRAPH_NONE &&
	    (f->entry >= g->block_cnt || g->blocks[f->entry].function != at))
		return false;
	if (at && g->parts[f[-1].first_part].start > g->parts[f->first_part].start)
		return false;
	for (uint32_t p = 0; p < f->part_cnt; p++)
		if (!part_is_sound(g, &g->parts[f->first_part + p], at, seen))
			return false;
	return true;
}

/* Checks that each block is in exactly one part of its function. */
static bool functions_are_sound(const struct pathprof_graph *g, bool *seen)
{
	uint64_t part_cnt = 0;

	for (uint32_t f = 0; f < g->function_cnt; f++) {
		if (!function_is_sound(g, f, seen))
			return false;
		part_cnt += g->functions[f].part_cnt;
	}
	for (uint32_t b = 0; b < g->block_cnt; b++)
		if (!seen[b])
			return false;
	return part_cnt == g->part_cnt;
}

int pp_graph_check(const struct pathprof_graph *graph)
{
	bool *seen;
	int r;

	if (!names_are_sound(graph) || !blocks_are_sound(graph))
		return -EBADMSG;
	seen = calloc((size_t)graph->block_cnt + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	r = functions_are_sound(graph, seen) ? 0 : -EBADMSG;
	free(seen);
	return r;
}
