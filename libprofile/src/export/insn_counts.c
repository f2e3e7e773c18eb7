// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A sweep over the code of the functions that ran; see pp_insn_counts.h. Ranges enter by start, in
 * the order they are in, and leave by their last instruction, in an order of its own.
 */
#include "pp_insn_counts.h"

#include <errno.h>
#include <stdlib.h>

#include "../code/pp_insn.h"

struct leave {
	uint64_t last, count;
};

struct sweep {
	const struct pp_export *x;
	struct leave *leaves; /* by last */
	uint32_t entered, left;
	unsigned __int128 running;
};

static int by_last(const void *a, const void *b)
{
	const struct leave *left = a, *right = b;

	return left->last < right->last ? -1 : left->last > right->last;
}

static uint64_t count_at(struct sweep *s, uint64_t offset)
{
	const struct pathprof_branch_profile *p = s->x->profile;

	for (; s->entered < p->range_cnt && p->ranges[s->entered].start <= offset; s->entered++)
		s->running += p->ranges[s->entered].count;
	for (; s->left < p->range_cnt && s->leaves[s->left].last < offset; s->left++)
		s->running -= s->leaves[s->left].count;
	return s->running > UINT64_MAX ? UINT64_MAX : (uint64_t)s->running;
}

/* Bytes that are no instruction are passed one at a time. */
static int sweep_part(struct sweep *s, const struct pathprof_graph_part *part, uint32_t function,
		      pp_insn_count_fn *fn, void *context)
{
	for (uint64_t at = part->start; at < part->end;) {
		struct pp_insn_count insn = {
			.offset = at,
			.len_bytes = pp_insn_length(s->x->code, at),
			.function = function,
			.count = count_at(s, at),
		};
		int r = insn.len_bytes ? fn(context, &insn) : 0;

		if (r)
			return r;
		at += insn.len_bytes ? insn.len_bytes : 1;
	}
	return 0;
}

/* A part, for the sweep in order of offset: parts of one function are apart. */
struct part {
	struct pathprof_graph_part part;
	uint32_t function;
};

static int by_start(const void *a, const void *b)
{
	const struct part *left = a, *right = b;

	return left->part.start < right->part.start ? -1 : left->part.start > right->part.start;
}

static void mark_functions(const struct pp_export *x, uint8_t *ran)
{
	for (uint32_t i = 0; i < x->profile->range_cnt; i++) {
		uint32_t b = pathprof_graph_block_at(x->graph, x->profile->ranges[i].start);

		if (b != PATHPROF_GRAPH_NONE)
			ran[x->graph->blocks[b].function] = 1;
	}
}

static uint32_t list_parts(const struct pathprof_graph *g, const uint8_t *ran, struct part *parts)
{
	uint32_t cnt = 0;

	for (uint32_t f = 0; f < g->function_cnt; f++)
		for (uint32_t i = 0; ran[f] && i < g->functions[f].part_cnt; i++)
			parts[cnt++] = (struct part){g->parts[g->functions[f].first_part + i], f};
	if (cnt)
		qsort(parts, cnt, sizeof(parts[0]), by_start);
	return cnt;
}

static void list_leaves(const struct pathprof_branch_profile *p, struct leave *leaves)
{
	for (uint32_t i = 0; i < p->range_cnt; i++)
		leaves[i] = (struct leave){p->ranges[i].last, p->ranges[i].count};
	if (p->range_cnt)
		qsort(leaves, p->range_cnt, sizeof(leaves[0]), by_last);
}

int pp_insn_counts_each(const struct pp_export *x, pp_insn_count_fn *fn, void *context)
{
	const struct pathprof_graph *g = x->graph;
	struct sweep sweep = {.x = x};
	struct part *parts = calloc((size_t)g->part_cnt + 1, sizeof(*parts));
	uint8_t *ran = calloc((size_t)g->function_cnt + 1, 1);
	uint32_t part_cnt;
	int r = -ENOMEM;

	sweep.leaves = calloc((size_t)x->profile->range_cnt + 1, sizeof(*sweep.leaves));
	if (!parts || !ran || !sweep.leaves)
		goto release;
	list_leaves(x->profile, sweep.leaves);
	mark_functions(x, ran);
	part_cnt = list_parts(g, ran, parts);
	r = 0;
	for (uint32_t i = 0; !r && i < part_cnt; i++)
		r = sweep_part(&sweep, &parts[i].part, parts[i].function, fn, context);
release:
	free(sweep.leaves);
	free(ran);
	free(parts);
	return r;
}
