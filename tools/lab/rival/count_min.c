// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Count-Min with conservative update (Cormode, Muthukrishnan 2005; Estan, Varghese 2002) and a heap
 * of the keys with the highest estimates. Half of the state is sketch: four rows of counters.
 */
#include "rivals.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "heap.h"

#define ROWS 4

struct count_min {
	struct lab_rival rival;
	struct lab_rival_config config;
	struct lab_heap *heap;
	uint32_t capacity, width;
	uint64_t *counter; /* ROWS of width */
};

static struct lab_rival *create(const struct lab_rival_config *config)
{
	struct count_min *c = lab_rival_alloc(1, sizeof(*c));

	c->rival.ops = &lab_rival_count_min;
	c->config = *config;
	c->width = config->state_bytes / 2 / (ROWS * LAB_COUNT_BITS / 8);
	c->width += !c->width;
	c->capacity = lab_cells_fit(config, (uint64_t)ROWS * c->width * LAB_COUNT_BITS);
	c->counter = lab_rival_alloc((size_t)ROWS * c->width, sizeof(*c->counter));
	c->heap = lab_heap_new(c->capacity);
	return &c->rival;
}

/* Adds, and returns the new estimate: only counters below it are raised. */
static uint64_t sketch_add(struct count_min *c, const struct lab_key *key, uint32_t count)
{
	uint64_t *counter[ROWS], estimate = UINT64_MAX;

	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t column = lab_hash_range(lab_key_hash(key, 2 + i), c->width);

		counter[i] = &c->counter[(size_t)i * c->width + column];
		estimate = *counter[i] < estimate ? *counter[i] : estimate;
	}
	estimate += count;
	for (uint32_t i = 0; i < ROWS; i++)
		*counter[i] = *counter[i] < estimate ? estimate : *counter[i];
	return estimate;
}

static void add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct count_min *c = (struct count_min *)rival;
	uint64_t estimate = sketch_add(c, key, count);
	struct lab_heap_entry *entry = lab_heap_find(c->heap, key);
	const struct lab_heap_entry *least;

	if (entry) {
		lab_heap_raise(c->heap, entry, entry->count + count);
		return;
	}
	least = lab_heap_least(c->heap);
	if (!least || estimate > least->count)
		lab_heap_put(c->heap, key, estimate);
}

static void drain(struct lab_rival *rival)
{
	struct count_min *c = (struct count_min *)rival;

	for (uint32_t i = 0; i < lab_heap_cnt(c->heap); i++) {
		const struct lab_heap_entry *entry = lab_heap_at(c->heap, i);

		c->config.emit(c->config.context, &entry->key, (double)entry->count);
	}
	lab_heap_clear(c->heap);
	memset(c->counter, 0, (size_t)ROWS * c->width * sizeof(*c->counter));
}

static uint64_t state_bits(const struct lab_rival *rival)
{
	const struct count_min *c = (const struct count_min *)rival;

	return (uint64_t)ROWS * c->width * LAB_COUNT_BITS +
	       (uint64_t)c->capacity * (c->config.key_bits + LAB_COUNT_BITS);
}

static void destroy(struct lab_rival *rival)
{
	struct count_min *c = (struct count_min *)rival;

	lab_heap_free(c->heap);
	free(c->counter);
	free(rival);
}

const struct lab_rival_ops lab_rival_count_min = {
	"count-min", "Cormode, Muthukrishnan 2005", create, add, drain, state_bits, destroy};
