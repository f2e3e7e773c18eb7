// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hot path table with admission (TinyLFU: Einziger, Friedman, Manes 2017): an eighth of the state
 * is a sketch of four-bit counters of what came lately, halved at regular times. A new path takes
 * the place of the least of its set only when the sketch has seen it more often.
 */
#include "rivals.h"

#include <stdlib.h>

#include "cells.h"

#define WAYS         7
#define ROWS         4
#define COUNTER_BITS 4
#define COUNTER_MAX  15
#define HALVE        8 /* after so many events a counter */

struct tiny_lfu {
	struct lab_rival rival;
	struct lab_cells cells;
	uint8_t *counter;
	uint32_t counter_cnt, events;
};

static uint64_t sketch_bits(uint32_t counter_cnt)
{
	return (uint64_t)counter_cnt * COUNTER_BITS + LAB_COUNT_BITS;
}

static struct lab_rival *create(const struct lab_rival_config *config)
{
	struct tiny_lfu *t = lab_rival_alloc(1, sizeof(*t));

	t->rival.ops = &lab_rival_tiny_lfu;
	t->counter_cnt = config->state_bytes / COUNTER_BITS;
	t->counter_cnt += !t->counter_cnt;
	lab_cells_init(&t->cells, config, WAYS, sketch_bits(t->counter_cnt));
	t->counter = lab_rival_alloc(t->counter_cnt, 1);
	return &t->rival;
}

static uint8_t *counter_of(struct tiny_lfu *t, const struct lab_key *key, uint32_t row)
{
	return &t->counter[lab_hash_range(lab_key_hash(key, 2 + row), t->counter_cnt)];
}

static uint32_t estimate(struct tiny_lfu *t, const struct lab_key *key)
{
	uint32_t least = COUNTER_MAX;

	for (uint32_t i = 0; i < ROWS; i++)
		least = *counter_of(t, key, i) < least ? *counter_of(t, key, i) : least;
	return least;
}

static void note(struct tiny_lfu *t, const struct lab_key *key)
{
	uint32_t least = estimate(t, key);

	for (uint32_t i = 0; i < ROWS; i++) {
		uint8_t *counter = counter_of(t, key, i);

		if (*counter == least && least < COUNTER_MAX)
			(*counter)++;
	}
	if (++t->events < HALVE * t->counter_cnt)
		return;
	t->events = 0;
	for (uint32_t i = 0; i < t->counter_cnt; i++)
		t->counter[i] /= 2;
}

static void add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct tiny_lfu *t = (struct tiny_lfu *)rival;
	struct lab_cell *set = lab_cells_set(&t->cells, key);
	struct lab_cell *cell = lab_set_find(set, t->cells.way_cnt, key);

	note(t, key);
	if (cell) {
		cell->count += count;
		return;
	}
	cell = lab_set_least(set, t->cells.way_cnt);
	if (!cell->used || estimate(t, key) > estimate(t, &cell->key))
		lab_cell_set(cell, key, count);
}

static void drain(struct lab_rival *rival)
{
	struct tiny_lfu *t = (struct tiny_lfu *)rival;

	lab_cells_drain(&t->cells);
	for (uint32_t i = 0; i < t->counter_cnt; i++)
		t->counter[i] = 0;
	t->events = 0;
}

static uint64_t state_bits(const struct lab_rival *rival)
{
	const struct tiny_lfu *t = (const struct tiny_lfu *)rival;

	return lab_cells_bits(&t->cells) + sketch_bits(t->counter_cnt);
}

static void destroy(struct lab_rival *rival)
{
	struct tiny_lfu *t = (struct tiny_lfu *)rival;

	lab_cells_release(&t->cells);
	free(t->counter);
	free(rival);
}

const struct lab_rival_ops lab_rival_tiny_lfu = {
	"hpt-admit", "TinyLFU: Einziger 2017", create, add, drain, state_bits, destroy};
