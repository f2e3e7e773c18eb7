// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hot path table with its tail sampled: what it replaces is neither lost (the thesis) nor spilled
 * message by message, but goes through a stratified sampler (RPS 3.2) by weight. A count of RATE
 * or more leaves as one exact message; a smaller one is added to the counter of its stratum, and
 * whoever carries the counter over RATE leaves with RATE. Counters start at a random phase, so
 * each path's count is unbiased, and table and messages together keep the total.
 *
 * Every HAND-th miss a hand that goes round takes the place of the rule, so what was hot once does
 * not stay for ever; since large counts leave whole, that takes few messages.
 *
 * hpt-tail replaces the least as the thesis does. hpt-admit-tail lets a new path in by chance, 1 in
 * the count of the least (RAP's rule), else the new path itself goes to the tail.
 */
#include "rivals.h"

#include <stdlib.h>

#include "cells.h"

#define WAYS         8
#define RATE         16 /* at most 2^STRATUM_BITS */
#define STRATA       128
#define STRATUM_BITS 4
#define HAND         16
#define HAND_BITS    8 /* of the counter of misses */
#define RANDOM_BITS  64

struct tail {
	struct lab_rival rival;
	struct lab_cells cells;
	uint64_t random;
	uint32_t stratum[STRATA]; /* below RATE */
	uint32_t miss_cnt;
	bool admits;
};

#define SIDE_BITS (RANDOM_BITS + HAND_BITS + STRATA * STRATUM_BITS)

static uint32_t draw(struct tail *t)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (uint32_t)((t->random * 0x2545F4914F6CDD1DULL) >> 32);
}

static void new_phase(struct tail *t)
{
	for (uint32_t i = 0; i < STRATA; i++)
		t->stratum[i] = lab_hash_range(draw(t), RATE);
}

static bool admitted(struct tail *t, uint64_t least, uint32_t count)
{
	return draw(t) * (double)(least + count) < count * 4294967296.0;
}

static struct tail *create(const struct lab_rival_config *config, const struct lab_rival_ops *ops)
{
	struct tail *t = lab_rival_alloc(1, sizeof(*t));

	t->rival.ops = ops;
	lab_cells_init(&t->cells, config, WAYS, SIDE_BITS);
	t->random = config->seed ? config->seed : 1;
	new_phase(t);
	return t;
}

static struct lab_rival *tail_create(const struct lab_rival_config *config)
{
	return &create(config, &lab_rival_hpt_tail)->rival;
}

static struct lab_rival *admit_create(const struct lab_rival_config *config)
{
	struct tail *t = create(config, &lab_rival_hpt_admit_tail);

	t->admits = true;
	return &t->rival;
}

/* A key leaves the table, or never came in. */
static void leave(struct tail *t, const struct lab_key *key, uint64_t count)
{
	uint32_t *stratum = &t->stratum[lab_hash_range(lab_key_hash(key, 1), STRATA)];

	if (count >= RATE) {
		lab_cells_emit(&t->cells, key, (double)count);
		return;
	}
	*stratum += (uint32_t)count;
	if (*stratum < RATE)
		return;
	*stratum -= RATE;
	lab_cells_emit(&t->cells, key, RATE);
}

/* The cell whose place is at stake; NULL when the new key is not let in. */
static struct lab_cell *choose(struct tail *t, struct lab_cell *set, uint32_t count)
{
	struct lab_cell *least;

	if (++t->miss_cnt % HAND == 0)
		return &set[t->miss_cnt / HAND % t->cells.way_cnt];
	least = lab_set_least(set, t->cells.way_cnt);
	return !t->admits || admitted(t, least->count, count) ? least : NULL;
}

static void replace(struct tail *t, struct lab_cell *set, const struct lab_key *key, uint32_t count)
{
	struct lab_cell *cell = choose(t, set, count);

	if (!cell) {
		leave(t, key, count);
		return;
	}
	leave(t, &cell->key, cell->count);
	lab_cell_set(cell, key, count);
}

static void add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct tail *t = (struct tail *)rival;
	struct lab_cell *set = lab_cells_set(&t->cells, key);
	struct lab_cell *cell = lab_set_find(set, t->cells.way_cnt, key);

	if (cell) {
		cell->count += count;
		return;
	}
	cell = lab_set_least(set, t->cells.way_cnt);
	if (cell->used)
		replace(t, set, key, count);
	else
		lab_cell_set(cell, key, count);
}

static void drain(struct lab_rival *rival)
{
	struct tail *t = (struct tail *)rival;

	lab_cells_drain(&t->cells);
	t->miss_cnt = 0;
	new_phase(t);
}

static uint64_t state_bits(const struct lab_rival *rival)
{
	return lab_cells_bits(&((const struct tail *)rival)->cells) + SIDE_BITS;
}

static void destroy(struct lab_rival *rival)
{
	lab_cells_release(&((struct tail *)rival)->cells);
	free(rival);
}

const struct lab_rival_ops lab_rival_hpt_tail = {"hpt-tail", "here",     tail_create, add,
						 drain,      state_bits, destroy};
const struct lab_rival_ops lab_rival_hpt_admit_tail = {
	"hpt-admit-tail", "here", admit_create, add, drain, state_bits, destroy};
