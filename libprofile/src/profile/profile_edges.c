// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Edges and clock samples of a profile. Entries are found as profile.c says. */
#include "pp_profile.h"

#include <string.h>

#include "base/count.h"

/* ---------------------------------------------------------------- edges */

static uint64_t hash_edge(uint64_t seed, const struct pathprof_edge_count *e)
{
	uint64_t hash = pp_hash_mix(seed, (uint64_t)e->from_binary << 32 | e->to_binary);

	return pp_hash_mix(pp_hash_mix(pp_hash_mix(hash, e->process), e->from), e->to);
}

static bool same_edge(const struct pathprof_edge_count *a, const struct pathprof_edge_count *b)
{
	return a->from == b->from && a->to == b->to && a->process == b->process &&
	       a->from_binary == b->from_binary && a->to_binary == b->to_binary;
}

static struct pathprof_edge_count *find_edge(const struct pathprof_profile *p, uint64_t hash,
					     const struct pathprof_edge_count *edge)
{
	uint32_t entry =
		pp_table_find(&p->index->edges.table, hash, i, same_edge(&p->edges[i], edge));

	return entry == PP_TABLE_NONE ? NULL : &p->edges[entry];
}

static bool new_edge(struct pathprof_profile *p, uint64_t hash,
		     const struct pathprof_edge_count *edge)
{
	struct pp_profile_entries *entries = &p->index->edges;

	if (!pp_profile_make_room(p->index, (void **)&p->edges, sizeof(*p->edges), entries))
		return false;
	p->edges[p->edge_cnt] = *edge;
	if (pp_table_add(&entries->table, hash, i, hash_edge(p->index->seed, &p->edges[i])) < 0)
		return false;
	p->edge_cnt++;
	return true;
}

void pathprof_profile_add_edge(struct pathprof_profile *p, const struct pathprof_edge_count *add)
{
	if (add->process == PATHPROF_NO_INDEX || add->from_binary == PATHPROF_NO_INDEX ||
	    add->to_binary == PATHPROF_NO_INDEX)
		return;
	if (add->process >= p->process_cnt || add->from_binary >= p->binary_cnt ||
	    add->to_binary >= p->binary_cnt || !pp_profile_is_sum(add->weight)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	uint64_t hash = hash_edge(p->index->seed, add);
	struct pathprof_edge_count *entry = find_edge(p, hash, add);
	if (entry) {
		entry->count = pp_count_sum(entry->count, add->count);
		entry->mispredicted = pp_count_sum(entry->mispredicted, add->mispredicted);
		entry->weight += add->weight;
	} else if (!new_edge(p, hash, add)) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
	}
}

/* ---------------------------------------------------------------- clock samples */

static uint64_t hash_clock(uint64_t seed, const struct pathprof_clock_count *c)
{
	return pp_hash_mix(pp_hash_mix(seed, (uint64_t)c->process << 32 | c->binary), c->place);
}

static bool same_clock(const struct pathprof_clock_count *a, const struct pathprof_clock_count *b)
{
	return a->place == b->place && a->process == b->process && a->binary == b->binary;
}

static struct pathprof_clock_count *find_clock(const struct pathprof_profile *p, uint64_t hash,
					       const struct pathprof_clock_count *clock)
{
	uint32_t entry =
		pp_table_find(&p->index->clocks.table, hash, i, same_clock(&p->clocks[i], clock));

	return entry == PP_TABLE_NONE ? NULL : &p->clocks[entry];
}

static bool new_clock(struct pathprof_profile *p, uint64_t hash,
		      const struct pathprof_clock_count *clock)
{
	struct pp_profile_entries *entries = &p->index->clocks;

	if (!pp_profile_make_room(p->index, (void **)&p->clocks, sizeof(*p->clocks), entries))
		return false;
	p->clocks[p->clock_cnt] = *clock;
	if (pp_table_add(&entries->table, hash, i, hash_clock(p->index->seed, &p->clocks[i])) < 0)
		return false;
	p->clock_cnt++;
	return true;
}

bool pathprof_is_kernel(const struct pathprof_build_id *id, const char *name)
{
	return id->kind == PATHPROF_ID_JIT && !strcmp(name, PATHPROF_KERNEL_NAME);
}

static bool clock_is_sound(const struct pathprof_profile *p,
			   const struct pathprof_clock_count *clock)
{
	if (clock->process >= p->process_cnt)
		return false;
	if (clock->binary != PATHPROF_NO_INDEX)
		return clock->binary < p->binary_cnt;
	return clock->place == PATHPROF_PLACE_UNKNOWN || clock->place == PATHPROF_PLACE_KERNEL;
}

void pathprof_profile_add_clock(struct pathprof_profile *p, const struct pathprof_clock_count *add)
{
	if (add->process == PATHPROF_NO_INDEX)
		return;
	if (!clock_is_sound(p, add)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	uint64_t hash = hash_clock(p->index->seed, add);
	struct pathprof_clock_count *entry = find_clock(p, hash, add);
	if (entry) {
		entry->samples = pp_count_sum(entry->samples, add->samples);
	} else if (!new_clock(p, hash, add)) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return;
	}
	p->totals.clock_samples = pp_count_sum(p->totals.clock_samples, add->samples);
}
