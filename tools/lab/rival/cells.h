/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of the set-associative rivals: sets of ways, with a key and a count in each. The
 * rivals differ in which way they replace, and when.
 *
 * Workload: once for each event, some hundred million a run. One owner, one thread. The program
 * ends when there is no memory (see lab.h).
 */
#ifndef LAB_CELLS_H
#define LAB_CELLS_H

#include "rival.h"

#include <stdbool.h>

#define LAB_COUNT_BITS 32 /* of a counter, as hardware would have it */

struct lab_cell {
	struct lab_key key;
	uint64_t count;
	bool used;
};

struct lab_cells {
	struct lab_rival_config config;
	uint32_t set_cnt, way_cnt;
	struct lab_cell *cell; /* of set 0, of set 1, ... */
};

void *lab_rival_alloc(size_t cnt, size_t size_bytes);
/* How many cells fit into the rival's bits beside side_bits for other purposes; at least one. */
uint32_t lab_cells_fit(const struct lab_rival_config *config, uint64_t side_bits);
/* Makes as many whole sets as fit; at least one. */
void lab_cells_init(struct lab_cells *cells, const struct lab_rival_config *config,
		    uint32_t way_cnt, uint64_t side_bits);
void lab_cells_release(struct lab_cells *cells);
uint64_t lab_cells_bits(const struct lab_cells *cells);
/* Emits every cell that has a count, and frees all. */
void lab_cells_drain(struct lab_cells *cells);

static inline bool lab_key_same(const struct lab_key *x, const struct lab_key *y)
{
	return x->a == y->a && x->b == y->b;
}

/* A hash of 32 bits; each salt gives another. */
static inline uint32_t lab_key_hash(const struct lab_key *key, uint64_t salt)
{
	uint64_t x = (key->a + salt) * 0x9E3779B97F4A7C15ULL ^ key->b;

	x = (x ^ x >> 32) * 0xD6E8FEB86659FD93ULL;
	return (uint32_t)(x >> 32 ^ x);
}

/* Spreads hashes evenly over 0..cnt-1. */
static inline uint32_t lab_hash_range(uint32_t hash, uint32_t cnt)
{
	return (uint32_t)((uint64_t)hash * cnt >> 32);
}

/* The set a key belongs to. */
static inline struct lab_cell *lab_cells_set(const struct lab_cells *c, const struct lab_key *key)
{
	return c->cell + (size_t)lab_hash_range(lab_key_hash(key, 0), c->set_cnt) * c->way_cnt;
}

/* The cell of the set that holds the key, NULL for none. */
static inline struct lab_cell *lab_set_find(struct lab_cell *set, uint32_t way_cnt,
					    const struct lab_key *key)
{
	for (uint32_t i = 0; i < way_cnt; i++)
		if (set[i].used && lab_key_same(&set[i].key, key))
			return &set[i];
	return NULL;
}

/* A free cell of the set, else the one with the least count; the lowest on a tie. */
static inline struct lab_cell *lab_set_least(struct lab_cell *set, uint32_t way_cnt)
{
	struct lab_cell *least = set;

	for (uint32_t i = 0; i < way_cnt; i++) {
		if (!set[i].used)
			return &set[i];
		if (set[i].count < least->count)
			least = &set[i];
	}
	return least;
}

static inline void lab_cell_set(struct lab_cell *cell, const struct lab_key *key, uint64_t count)
{
	*cell = (struct lab_cell){.key = *key, .count = count, .used = true};
}

static inline void lab_cells_emit(const struct lab_cells *c, const struct lab_key *key,
				  double count)
{
	c->config.emit(c->config.context, key, count);
}

#endif
