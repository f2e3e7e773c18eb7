// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Tables of what was counted: see pp_import_counts.h. */
#include "pp_import_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void set_slots(struct pp_import_index *index, uint32_t slot_cnt)
{
	index->slot_cnt = slot_cnt;
	index->shift = 64 - (uint32_t)__builtin_ctz(slot_cnt);
	memset(index->slots, 0, slot_cnt * sizeof(index->slots[0]));
}

int pp_import_counts_new(struct pp_import_counts **ret_counts, uint32_t edge_max)
{
	struct pp_import_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	counts->edge_max = edge_max;
	/* Early in boot there may be no entropy yet; then where it lies has to do. */
	if (getrandom(&counts->seed, sizeof(counts->seed), GRND_NONBLOCK) < 0)
		counts->seed = (uint64_t)(uintptr_t)counts;
	set_slots(&counts->edge_index, PP_IMPORT_SLOTS_MIN);
	set_slots(&counts->walked.index, PP_IMPORT_SLOTS_MIN);
	set_slots(&counts->straight.index, PP_IMPORT_SLOTS_MIN);
	set_slots(&counts->segments.index, PP_IMPORT_SLOTS_MIN);
	*ret_counts = counts;
	return 0;
}

void pp_import_counts_free(struct pp_import_counts *counts)
{
	free(counts);
}

/* Indices stay as large as they had to be: the same program mostly goes on. */
void pp_import_counts_clear(struct pp_import_counts *counts)
{
	set_slots(&counts->edge_index, counts->edge_index.slot_cnt);
	set_slots(&counts->walked.index, counts->walked.index.slot_cnt);
	set_slots(&counts->straight.index, counts->straight.index.slot_cnt);
	set_slots(&counts->segments.index, counts->segments.index.slot_cnt);
	counts->segments.cnt = 0;
	counts->segments_lost = 0;
	counts->edge_cnt = counts->walked.cnt = counts->straight.cnt = 0;
}

void pp_import_counts_straight(const struct pp_import_counts *counts, pp_import_straight_fn *fn,
			       void *context)
{
	const struct pp_import_edge *edges = counts->edges;

	for (uint32_t i = 1; i <= counts->edge_cnt; i++)
		for (int n = 0; n < PP_IMPORT_NEXT_CNT && edges[i].next[n]; n++)
			fn(context, &edges[i], edges[i].next[n], edges[i].next_cnt[n]);
	for (uint32_t i = 1; i <= counts->straight.cnt; i++) {
		const struct pp_import_sum *ran = &counts->straight.list[i];

		fn(context, &edges[ran->key >> 32], &edges[(uint32_t)ran->key], ran->cnt);
	}
}

static void enter(struct pp_import_index *index, uint64_t hash, uint32_t number)
{
	uint64_t slot = hash >> index->shift;

	while (index->slots[slot])
		slot = (slot + 1) & (index->slot_cnt - 1);
	index->slots[slot] = number;
}

static void enter_edge(struct pp_import_counts *counts, uint32_t number)
{
	const struct pp_import_edge *e = &counts->edges[number];
	uint64_t salt = pp_import_counts_salt(counts, e->who);

	enter(&counts->edge_index, pp_import_counts_edge_hash(salt, e->from, e->to), number);
}

static void enter_sum(struct pp_import_sums *sums, uint64_t seed, uint32_t number)
{
	enter(&sums->index, pp_import_sums_hash(seed, sums->list[number].key), number);
}

/* With one more there would be more than a quarter of it in use. */
static bool is_full(const struct pp_import_index *index, uint32_t cnt)
{
	return 4 * (cnt + 1) > index->slot_cnt && index->slot_cnt < PP_IMPORT_SLOTS;
}

struct pp_import_edge *pp_import_counts_add_edge(struct pp_import_counts *counts,
						 const struct pp_import_edge *edge)
{
	if (is_full(&counts->edge_index, counts->edge_cnt)) {
		set_slots(&counts->edge_index, 2 * counts->edge_index.slot_cnt);
		for (uint32_t i = 1; i <= counts->edge_cnt; i++)
			enter_edge(counts, i);
	}
	counts->edges[++counts->edge_cnt] = *edge;
	enter_edge(counts, counts->edge_cnt);
	return &counts->edges[counts->edge_cnt];
}

struct pp_import_sum *pp_import_sums_begin(struct pp_import_sums *sums, uint64_t seed, uint64_t key)
{
	if (is_full(&sums->index, sums->cnt)) {
		set_slots(&sums->index, 2 * sums->index.slot_cnt);
		for (uint32_t i = 1; i <= sums->cnt; i++)
			enter_sum(sums, seed, i);
	}
	sums->list[++sums->cnt] = (struct pp_import_sum){.key = key};
	enter_sum(sums, seed, sums->cnt);
	return &sums->list[sums->cnt];
}
