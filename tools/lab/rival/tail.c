// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hot path table with its tail sampled: what it replaces is neither lost (the thesis) nor spilled
 * message by message, but goes through a stratified sampler (RPS 3.2) by weight. A count of the
 * rate or more leaves as one exact message; a smaller one is added to the counter of its stratum,
 * and whoever carries the counter over the rate leaves with it. Counters start at a random phase,
 * so each path's count is unbiased, and table and messages together keep the total.
 *
 * At every HAND-th miss a hand that goes round the set chooses the entry instead of the rule, so
 * entries that were hot once do not stay for ever; since large counts leave whole, that takes few
 * messages.
 *
 * hpt-tail replaces the least as the thesis does. hpt-admit-tail lets a new path in by chance, 1 in
 * the count of the least and one (RAP's rule), else the new path itself goes to the tail.
 */
#include "rivals.h"

#include <stdlib.h>

#include "cells.h"

#define WAYS        8
#define RATE        16
#define STRATA      128
#define HAND        16
#define HAND_BITS   8 /* of the counter of misses */
#define RANDOM_BITS 64

struct tail {
	struct lab_rival rival;
	struct lab_cells cells;
	uint64_t random;
	uint32_t rate, stratum_cnt;
	uint32_t *stratum; /* below rate */
	uint32_t miss_cnt;
	bool admits;
};

static uint64_t side_bits(const struct tail *t)
{
	uint32_t stratum_bits = 0;

	while (stratum_bits < 31 && 1u << stratum_bits < t->rate)
		stratum_bits++;
	return RANDOM_BITS + HAND_BITS + (uint64_t)t->stratum_cnt * stratum_bits;
}

static uint32_t draw(struct tail *t)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (uint32_t)((t->random * 0x2545F4914F6CDD1DULL) >> 32);
}

static void new_phase(struct tail *t)
{
	for (uint32_t i = 0; i < t->stratum_cnt; i++)
		t->stratum[i] = lab_hash_range(draw(t), t->rate);
}

static bool admitted(struct tail *t, uint64_t least, uint32_t count)
{
	return draw(t) * (double)(least + count) < count * 4294967296.0;
}

static struct tail *create(const struct lab_rival_config *config, const struct lab_rival_ops *ops)
{
	struct tail *t = lab_rival_alloc(1, sizeof(*t));

	t->rival.ops = ops;
	t->rate = config->tail_rate ? config->tail_rate : RATE;
	t->stratum_cnt = config->tail_strata ? config->tail_strata : STRATA;
	t->stratum = lab_rival_alloc(t->stratum_cnt, sizeof(*t->stratum));
	lab_cells_init(&t->cells, config, WAYS, side_bits(t));
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

/* Handles a key that leaves the table or was not let in. */
static void leave(struct tail *t, const struct lab_key *key, uint64_t count)
{
	uint32_t *stratum = &t->stratum[lab_hash_range(lab_key_hash(key, 1), t->stratum_cnt)];

	if (count >= t->rate) {
		lab_cells_emit(&t->cells, key, (double)count);
		return;
	}
	*stratum += (uint32_t)count;
	if (*stratum < t->rate)
		return;
	*stratum -= t->rate;
	lab_cells_emit(&t->cells, key, t->rate);
}

/* Returns the cell that the new key is to replace, or NULL when the new key is not let in. */
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
	const struct tail *t = (const struct tail *)rival;

	return lab_cells_bits(&t->cells) + side_bits(t);
}

static void destroy(struct lab_rival *rival)
{
	struct tail *t = (struct tail *)rival;

	lab_cells_release(&t->cells);
	free(t->stratum);
	free(t);
}

const struct lab_rival_ops lab_rival_hpt_tail = {"hpt-tail", "here",     tail_create, add,
						 drain,      state_bits, destroy};
const struct lab_rival_ops lab_rival_hpt_admit_tail = {
	"hpt-admit-tail", "here", admit_create, add, drain, state_bits, destroy};
