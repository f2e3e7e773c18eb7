// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Space-Saving (Metwally, Agrawal, El Abbadi 2005): a new key takes the place of the least one and
 * its count along, so the total is kept and no count is below the truth. Over one full set as
 * published, and over sets of four ways as a cache would have it.
 */
#include "rivals.h"

#include <stdlib.h>

#include "cells.h"
#include "heap.h"

/* ---------------------------------------------------------------- one full set */

struct full {
	struct lab_rival rival;
	struct lab_rival_config config;
	struct lab_heap *heap;
	uint32_t capacity;
};

static struct lab_rival *full_create(const struct lab_rival_config *config)
{
	struct full *f = lab_rival_alloc(1, sizeof(*f));

	f->rival.ops = &lab_rival_space_saving;
	f->config = *config;
	f->capacity = lab_cells_fit(config, 0);
	f->heap = lab_heap_new(f->capacity);
	return &f->rival;
}

static void full_add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct full *f = (struct full *)rival;
	struct lab_heap_entry *entry = lab_heap_find(f->heap, key);
	const struct lab_heap_entry *least;

	if (entry) {
		lab_heap_raise(f->heap, entry, entry->count + count);
		return;
	}
	least = lab_heap_least(f->heap);
	lab_heap_put(f->heap, key, (least ? least->count : 0) + count);
}

static void full_drain(struct lab_rival *rival)
{
	struct full *f = (struct full *)rival;

	for (uint32_t i = 0; i < lab_heap_cnt(f->heap); i++) {
		const struct lab_heap_entry *entry = lab_heap_at(f->heap, i);

		f->config.emit(f->config.context, &entry->key, (double)entry->count);
	}
	lab_heap_clear(f->heap);
}

static uint64_t full_state_bits(const struct lab_rival *rival)
{
	const struct full *f = (const struct full *)rival;

	return (uint64_t)f->capacity * (f->config.key_bits + LAB_COUNT_BITS);
}

static void full_destroy(struct lab_rival *rival)
{
	lab_heap_free(((struct full *)rival)->heap);
	free(rival);
}

const struct lab_rival_ops lab_rival_space_saving = {
	"space-saving", "Metwally 2005", full_create, full_add,
	full_drain,     full_state_bits, full_destroy};

/* ---------------------------------------------------------------- sets of four */

struct sets {
	struct lab_rival rival;
	struct lab_cells cells;
};

static struct lab_rival *sets_create(const struct lab_rival_config *config)
{
	struct sets *s = lab_rival_alloc(1, sizeof(*s));

	s->rival.ops = &lab_rival_space_saving_4;
	lab_cells_init(&s->cells, config, 4, 0);
	return &s->rival;
}

static void sets_add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct sets *s = (struct sets *)rival;
	struct lab_cell *set = lab_cells_set(&s->cells, key);
	struct lab_cell *cell = lab_set_find(set, s->cells.way_cnt, key);

	if (cell) {
		cell->count += count;
		return;
	}
	cell = lab_set_least(set, s->cells.way_cnt);
	lab_cell_set(cell, key, (cell->used ? cell->count : 0) + count);
}

static void sets_drain(struct lab_rival *rival)
{
	lab_cells_drain(&((struct sets *)rival)->cells);
}

static uint64_t sets_state_bits(const struct lab_rival *rival)
{
	return lab_cells_bits(&((const struct sets *)rival)->cells);
}

static void sets_destroy(struct lab_rival *rival)
{
	lab_cells_release(&((struct sets *)rival)->cells);
	free(rival);
}

const struct lab_rival_ops lab_rival_space_saving_4 = {
	"space-saving-4way", "Metwally 2005, in sets", sets_create, sets_add,
	sets_drain,          sets_state_bits,          sets_destroy};
