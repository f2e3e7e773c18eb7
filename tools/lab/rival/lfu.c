// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thesis' Hot Path Table: four ways, the least frequently used is replaced. It loses what it
 * replaces, or spills it as a message. With the same index and the same ties as pp_hpt.h.
 */
#include "rivals.h"

#include <stdlib.h>

#include "cells.h"

#define WAYS 4

struct lfu {
	struct lab_rival rival;
	struct lab_cells cells;
	uint32_t bits; /* log2 of sets */
	bool spill;
};

static struct lfu *create(const struct lab_rival_config *config, const struct lab_rival_ops *ops)
{
	struct lfu *l = lab_rival_alloc(1, sizeof(*l));

	l->rival.ops = ops;
	lab_cells_init(&l->cells, config, WAYS, 0);
	while (2u << l->bits <= l->cells.set_cnt)
		l->bits++;
	l->cells.set_cnt = 1u << l->bits;
	return l;
}

static struct lab_rival *create_losing(const struct lab_rival_config *config)
{
	return &create(config, &lab_rival_hpt_lfu)->rival;
}

static struct lab_rival *create_spilling(const struct lab_rival_config *config)
{
	struct lfu *l = create(config, &lab_rival_hpt_spill);

	l->spill = true;
	return &l->rival;
}

static uint64_t fold(uint64_t x, uint32_t bits)
{
	uint64_t folded = 0;

	for (; bits && x; x >>= bits)
		folded ^= x & ((1ULL << bits) - 1);
	return folded;
}

static void add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct lfu *l = (struct lfu *)rival;
	uint64_t index = fold(key->a ^ key->b >> 32 ^ (uint32_t)key->b, l->bits);
	struct lab_cell *set = l->cells.cell + index * l->cells.way_cnt;
	struct lab_cell *cell = lab_set_find(set, l->cells.way_cnt, key);

	if (cell) {
		cell->count += count;
		return;
	}
	cell = lab_set_least(set, l->cells.way_cnt);
	if (cell->used && l->spill)
		lab_cells_emit(&l->cells, &cell->key, (double)cell->count);
	lab_cell_set(cell, key, count);
}

static void drain(struct lab_rival *rival)
{
	lab_cells_drain(&((struct lfu *)rival)->cells);
}

static uint64_t state_bits(const struct lab_rival *rival)
{
	return lab_cells_bits(&((const struct lfu *)rival)->cells);
}

static void destroy(struct lab_rival *rival)
{
	lab_cells_release(&((struct lfu *)rival)->cells);
	free(rival);
}

const struct lab_rival_ops lab_rival_hpt_lfu = {"hpt-lfu", "Vaswani 2007, 5.4", create_losing, add,
						drain,     state_bits,          destroy};
const struct lab_rival_ops lab_rival_hpt_spill = {
	"hpt-spill", "Vaswani 2007, 5.4", create_spilling, add, drain, state_bits, destroy};
