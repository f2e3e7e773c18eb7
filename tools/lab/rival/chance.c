// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two rivals that decide by chance whether a new key takes the place of the least of its set:
 *
 *   rap           with probability count / (least + count), and the least one's count along with
 *                 it: unbiased where Space-Saving overestimates (Ben Basat and others 2017)
 *   heavy-keeper  the least one loses 1 with probability 1.08^-least, and its place with its last
 *                 (Gong and others 2018, HeavyKeeper; here in the table itself)
 */
#include "rivals.h"

#include <math.h>
#include <stdlib.h>

#include "cells.h"

#define WAYS        8
#define RANDOM_BITS 64
#define DECAY       1.08
#define DECAY_ZERO  256 /* from here on the chance is 0 */

struct chance {
	struct lab_rival rival;
	struct lab_cells cells;
	uint64_t random;                /* xorshift64*, never 0 */
	uint32_t threshold[DECAY_ZERO]; /* 2^32 times the chance to decay, by count */
};

static struct chance *create(const struct lab_rival_config *config, const struct lab_rival_ops *ops)
{
	struct chance *c = lab_rival_alloc(1, sizeof(*c));

	c->rival.ops = ops;
	lab_cells_init(&c->cells, config, WAYS, RANDOM_BITS);
	c->random = config->seed ? config->seed : 1;
	for (uint32_t i = 0; i < DECAY_ZERO; i++)
		c->threshold[i] = (uint32_t)(UINT32_MAX * pow(DECAY, -(double)i));
	return c;
}

static struct lab_rival *rap_create(const struct lab_rival_config *config)
{
	return &create(config, &lab_rival_rap)->rival;
}

static struct lab_rival *keeper_create(const struct lab_rival_config *config)
{
	return &create(config, &lab_rival_heavy_keeper)->rival;
}

static uint32_t draw(struct chance *c)
{
	c->random ^= c->random >> 12;
	c->random ^= c->random << 25;
	c->random ^= c->random >> 27;
	return (uint32_t)((c->random * 0x2545F4914F6CDD1DULL) >> 32);
}

/* Returns the cell to decide about, or NULL when the key was there or found a free cell. */
static struct lab_cell *settle(struct chance *c, const struct lab_key *key, uint32_t count)
{
	struct lab_cell *set = lab_cells_set(&c->cells, key);
	struct lab_cell *cell = lab_set_find(set, c->cells.way_cnt, key);

	if (cell) {
		cell->count += count;
		return NULL;
	}
	cell = lab_set_least(set, c->cells.way_cnt);
	if (cell->used)
		return cell;
	lab_cell_set(cell, key, count);
	return NULL;
}

static void rap_add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct chance *c = (struct chance *)rival;
	struct lab_cell *cell = settle(c, key, count);

	if (cell && draw(c) * (double)(cell->count + count) < count * 4294967296.0)
		lab_cell_set(cell, key, cell->count + count);
}

static void keeper_add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct chance *c = (struct chance *)rival;
	struct lab_cell *cell = settle(c, key, count);

	for (; cell && count; count--) {
		if (cell->count >= DECAY_ZERO || draw(c) > c->threshold[cell->count])
			continue;
		if (--cell->count)
			continue;
		lab_cell_set(cell, key, count);
		return;
	}
}

static void drain(struct lab_rival *rival)
{
	lab_cells_drain(&((struct chance *)rival)->cells);
}

static uint64_t state_bits(const struct lab_rival *rival)
{
	return lab_cells_bits(&((const struct chance *)rival)->cells) + RANDOM_BITS;
}

static void destroy(struct lab_rival *rival)
{
	lab_cells_release(&((struct chance *)rival)->cells);
	free(rival);
}

const struct lab_rival_ops lab_rival_rap = {"rap", "Ben Basat 2017", rap_create, rap_add,
					    drain, state_bits,       destroy};
const struct lab_rival_ops lab_rival_heavy_keeper = {
	"heavy-keeper", "Gong 2018", keeper_create, keeper_add, drain, state_bits, destroy};
