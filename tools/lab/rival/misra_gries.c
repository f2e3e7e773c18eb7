// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Misra and Gries (1982) in sets of eight: a key that finds no room subtracts its count from all
 * others of the set, and a key with nothing left makes room. Old keys decay, so that phases are
 * followed. The sum of what was subtracted from all of a set is kept, and half of it is added to
 * each estimate, since an entry was there for part of the time only.
 */
#include "rivals.h"

#include <stdlib.h>

#include "cells.h"

#define WAYS 8

struct misra_gries {
	struct lab_rival rival;
	struct lab_cells cells;
	uint32_t *given; /* the sum subtracted from each cell of a set */
};

static struct lab_rival *create(const struct lab_rival_config *config)
{
	struct misra_gries *m = lab_rival_alloc(1, sizeof(*m));
	uint32_t sets = lab_cells_fit(config, 0) / WAYS + 1;

	m->rival.ops = &lab_rival_misra_gries;
	lab_cells_init(&m->cells, config, WAYS, (uint64_t)sets * LAB_COUNT_BITS);
	m->given = lab_rival_alloc(m->cells.set_cnt, sizeof(*m->given));
	return &m->rival;
}

static uint32_t smaller(uint64_t x, uint32_t y)
{
	return x < y ? (uint32_t)x : y;
}

static void decay(struct lab_cell *set, uint32_t way_cnt, uint32_t count)
{
	for (uint32_t i = 0; i < way_cnt; i++)
		set[i].count -= smaller(set[i].count, count);
}

static void add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct misra_gries *m = (struct misra_gries *)rival;
	struct lab_cell *set = lab_cells_set(&m->cells, key);
	struct lab_cell *cell = lab_set_find(set, m->cells.way_cnt, key);
	uint32_t paid;

	if (cell) {
		cell->count += count;
		return;
	}
	cell = lab_set_least(set, m->cells.way_cnt);
	paid = cell->used ? smaller(cell->count, count) : 0;
	decay(set, m->cells.way_cnt, paid);
	m->given[(size_t)(set - m->cells.cell) / m->cells.way_cnt] += paid;
	if (count > paid)
		lab_cell_set(cell, key, count - paid);
}

static void drain(struct lab_rival *rival)
{
	struct misra_gries *m = (struct misra_gries *)rival;

	for (size_t i = 0; i < (size_t)m->cells.set_cnt * m->cells.way_cnt; i++)
		m->cells.cell[i].count += m->given[i / m->cells.way_cnt] / 2;
	lab_cells_drain(&m->cells);
	for (uint32_t i = 0; i < m->cells.set_cnt; i++)
		m->given[i] = 0;
}

static uint64_t state_bits(const struct lab_rival *rival)
{
	const struct misra_gries *m = (const struct misra_gries *)rival;

	return lab_cells_bits(&m->cells) + (uint64_t)m->cells.set_cnt * LAB_COUNT_BITS;
}

static void destroy(struct lab_rival *rival)
{
	struct misra_gries *m = (struct misra_gries *)rival;

	lab_cells_release(&m->cells);
	free(m->given);
	free(rival);
}

const struct lab_rival_ops lab_rival_misra_gries = {"misra-gries", "Misra, Gries 1982", create, add,
						    drain,         state_bits,          destroy};
