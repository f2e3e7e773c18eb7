// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Counts of paths, split by callers: see pp_callers.h. */
#include "pp_callers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/search.h"

static int by_function(const void *a, const void *b)
{
	const struct pp_callers_share *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->chain > y->chain) - (x->chain < y->chain);
}

/* PATHPROF_GRAPH_NONE: the offset lies in none. */
static uint32_t function_at(const struct pp_export *x, uint64_t offset)
{
	uint32_t block = pathprof_graph_block_at(x->graph, offset);

	return block == PATHPROF_GRAPH_NONE ? PATHPROF_GRAPH_NONE
					    : x->graph->blocks[block].function;
}

static void merge(struct pp_callers *callers)
{
	size_t to = 0;

	qsort(callers->shares, callers->cnt, sizeof(callers->shares[0]), by_function);
	for (size_t i = 0; i < callers->cnt; i++) {
		if (to && !by_function(&callers->shares[to - 1], &callers->shares[i]))
			callers->shares[to - 1].weight += callers->shares[i].weight;
		else
			callers->shares[to++] = callers->shares[i];
	}
	callers->cnt = to;
}

int pp_callers_open(struct pp_callers *ret_callers, const struct pp_export *x)
{
	const struct pathprof_export_callers *known = x->options.callers;
	struct pp_callers callers = {.x = x};

	*ret_callers = callers;
	if (!known || !known->called_cnt)
		return 0;
	callers.shares = calloc(known->called_cnt, sizeof(callers.shares[0]));
	if (!callers.shares)
		return -ENOMEM;
	for (size_t i = 0; i < known->called_cnt; i++) {
		const struct pathprof_export_called *called = &known->called[i];
		uint32_t function = function_at(x, called->start);

		if ((called->chain >= known->chain_cnt && called->chain != PATHPROF_NO_CHAIN) ||
		    !(called->weight >= 0 && isfinite(called->weight))) {
			free(callers.shares);
			return -EINVAL;
		}
		if (function != PATHPROF_GRAPH_NONE && called->weight > 0)
			callers.shares[callers.cnt++] =
				(struct pp_callers_share){function, called->chain, called->weight};
	}
	merge(&callers);
	*ret_callers = callers;
	return 0;
}

void pp_callers_close(struct pp_callers *callers)
{
	free(callers->shares);
	callers->shares = NULL;
	callers->cnt = 0;
}

/* The part of count below a share of 0 to 1. */
static uint64_t below(uint64_t count, double share)
{
	double part = round((double)count * share);

	return share >= 1 || part >= (double)count ? count : (uint64_t)part;
}

static struct pp_piece part_of(const struct pp_piece *piece, double from, double to)
{
	struct pp_piece part = *piece;

	part.instructions = below(piece->instructions, to) - below(piece->instructions, from);
	part.branches = below(piece->branches, to) - below(piece->branches, from);
	part.mispredicted = below(piece->mispredicted, to) - below(piece->mispredicted, from);
	part.time_ns = below(piece->time_ns, to) - below(piece->time_ns, from);
	return part;
}

int pp_callers_split(const struct pp_callers *callers, const struct pp_piece *piece,
		     pp_callers_part_fn *fn, void *context)
{
	uint32_t function =
		callers->cnt ? function_at(callers->x, piece->offset) : PATHPROF_GRAPH_NONE;
	size_t first = pp_first(i, 0, callers->cnt, callers->shares[i].function >= function);
	size_t end = pp_first(i, first, callers->cnt, callers->shares[i].function > function);
	double whole = 0, sum = 0;
	int r = 0;

	for (size_t i = first; i < end; i++)
		whole += callers->shares[i].weight;
	if (!(whole > 0))
		return fn(context, piece, PATHPROF_NO_CHAIN);
	for (size_t i = first; i < end && !r; i++) {
		double next = i + 1 == end ? whole : sum + callers->shares[i].weight;
		struct pp_piece part = part_of(piece, sum / whole, next / whole);

		sum = next;
		if (part.instructions || part.branches || part.mispredicted || part.time_ns)
			r = fn(context, &part, callers->shares[i].chain);
	}
	return r;
}
