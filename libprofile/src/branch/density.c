// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Whether there are enough samples, as BOLT counts it (PrintProgramStats, --show-density), and
 * llvm-profgen likewise: bytes run through over size, of the functions by falling density until
 * they have the cutoff's share of all branches, the not taken ones between blocks included and
 * returns not.
 *
 * A function's parts count apart, as the functions that BOLT finds them to be. Workload: once an
 * export. The caller's memory.
 */
#include "pathprof/branch_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pp_branch_profile.h"
#include "pp_falls.h"

struct thickness {
	double density;
	uint64_t bytes, branches;
};

/* The part that holds offset; part_cnt: none, or one of the linker's stubs. */
static uint32_t part_at(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t b = offset == PATHPROF_OUTSIDE ? PATHPROF_GRAPH_NONE
						: pathprof_graph_block_at(g, offset);

	if (b == PATHPROF_GRAPH_NONE)
		return g->part_cnt;
	const struct pathprof_graph_function *f = &g->functions[g->blocks[b].function];

	if (f->flags & PATHPROF_FUNCTION_PLT)
		return g->part_cnt;
	for (uint32_t i = f->first_part; i < f->first_part + f->part_cnt; i++)
		if (offset >= g->parts[i].start && offset < g->parts[i].end)
			return i;
	return g->part_cnt;
}

static int by_density(const void *a, const void *b)
{
	const struct thickness *left = a, *right = b;

	if (left->density != right->density)
		return left->density > right->density ? -1 : 1;
	return left->branches < right->branches ? -1 : left->branches > right->branches;
}

static void measure(const struct pathprof_branch_profile *p, const struct pathprof_graph *g,
		    const struct pp_fall *falls, uint32_t fall_cnt, struct thickness *parts)
{
	for (uint32_t i = 0; i < p->range_cnt; i++) {
		const struct pathprof_range_count *r = &p->ranges[i];
		struct thickness *t = &parts[part_at(g, r->start)];
		uint64_t bytes;

		if (__builtin_mul_overflow(r->count, r->last - r->start, &bytes))
			bytes = UINT64_MAX;
		t->bytes = pp_count_sum(t->bytes, bytes);
	}
	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		struct thickness *t = &parts[part_at(g, p->branches[i].from)];

		if (!pp_is_return(g, p->branches[i].from))
			t->branches = pp_count_sum(t->branches, p->branches[i].count);
	}
	for (uint32_t i = 0; i < fall_cnt; i++) {
		struct thickness *t = &parts[part_at(g, falls[i].from)];

		t->branches = pp_count_sum(t->branches, falls[i].count);
	}
	for (uint32_t i = 0; i < g->part_cnt; i++)
		if (parts[i].bytes)
			parts[i].density = (double)parts[i].bytes /
					   (double)(g->parts[i].end - g->parts[i].start);
}

/* The thinnest of the densest that together have the cutoff's share of `all` branches. */
static void find_thinnest(const struct thickness *parts, uint32_t part_cnt, uint64_t all,
			  struct pathprof_density *d)
{
	uint64_t so_far = 0;

	d->hot = 0;
	for (uint32_t i = 0; i < part_cnt && (double)so_far < (double)all * PATHPROF_DENSITY_CUTOFF;
	     i++) {
		so_far = pp_count_sum(so_far, parts[i].branches);
		d->density = parts[i].density;
		d->hot++;
	}
}

/*
 * A function with branches and no range is as thin as can be: BOLT calls the whole profile empty
 * when such functions have more branches than the cutoff leaves. More samples do not help them
 * where only their ends are seen, so the others are judged without them then.
 */
static void judge(struct thickness *parts, uint32_t part_cnt, struct pathprof_density *d)
{
	uint64_t all = 0, with_ranges = 0;

	for (uint32_t i = 0; i < part_cnt; i++) {
		all = pp_count_sum(all, parts[i].branches);
		with_ranges = pp_count_sum(with_ranges, parts[i].bytes ? parts[i].branches : 0);
		d->bytes = pp_count_sum(d->bytes, parts[i].bytes);
		d->functions += parts[i].branches || parts[i].bytes;
		d->rangeless += parts[i].branches && !parts[i].bytes;
	}
	qsort(parts, part_cnt, sizeof(parts[0]), by_density);
	find_thinnest(parts, part_cnt, all, d);
	d->partial = !(d->density > 0) && with_ranges;
	if (d->partial)
		find_thinnest(parts, part_cnt, with_ranges, d);
	d->enough = d->density >= d->threshold;
	if (!d->enough)
		d->more = d->density > 0 ? d->threshold / d->density : INFINITY;
}

int pathprof_profile_density(const struct pathprof_branch_profile *p,
			     const struct pathprof_graph *graph,
			     struct pathprof_density *ret_density, struct pathprof_error *error)
{
	struct pathprof_density d = {.threshold = PATHPROF_DENSITY_THRESHOLD, .more = 1};
	struct thickness *parts;
	struct pp_fall *falls;
	uint32_t fall_cnt;
	int r;

	if (!p->settled)
		return pathprof_fail(error, -EINVAL, "the profile is not settled");
	r = pp_branch_check_id(p, &graph->build_id, "the control-flow graph", error);
	if (r)
		return r;
	parts = calloc((size_t)graph->part_cnt + 1, sizeof(*parts));
	r = parts ? pp_falls_find(p, graph, &falls, &fall_cnt) : -ENOMEM;
	if (r) {
		free(parts);
		return pathprof_fail(error, r, "density: %s", strerror(-r));
	}
	measure(p, graph, falls, fall_cnt, parts);
	judge(parts, graph->part_cnt, &d);
	free(falls);
	free(parts);
	*ret_density = d;
	return 0;
}
