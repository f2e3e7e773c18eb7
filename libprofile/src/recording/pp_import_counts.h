/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What was counted since the last time it was handed on: edges as they were recorded, with what
 * their addresses mean (pp_import_image.h), and paths. It stands between some ten million branches
 * a second and a profile that wants them one by one with names.
 *
 * Each is an array in the order things were met, of a fixed size, and an index over it with linear
 * probing, at most half full, that grows with what is there: a program's few thousand edges
 * then lie close together. Who adds asks for room first, and hands everything on when there is
 * none. An edge is found by process, generation of its mappings, and addresses, so that a hit tells
 * in one look-up where both ends lie. Paths are counted by the number that a walker gave them
 * (pathprof/walk.h); those few that have none are the owner's at once. base/table.h takes 4.3 ns
 * for a look-up among 3,000 edges where this takes 3.0 ns, in one run: hence tables of their own.
 *
 * Addresses are chosen by those who were profiled: the seed keeps them from choosing collisions.
 * One thread; the owner's memory.
 */
#ifndef PP_IMPORT_COUNTS_H
#define PP_IMPORT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/reconstruct.h"

/* Sizes of the tables; the first entry of each is unused. */
#define PP_IMPORT_EDGE_MAX    (1u << 16)
#define PP_IMPORT_NEXT_CNT    2
#define PP_IMPORT_PATH_MAX    (1u << 15)
#define PP_IMPORT_SEGMENT_MAX (1u << 16)
#define PP_IMPORT_SUM_MAX     (2 * PP_IMPORT_EDGE_MAX)
#define PP_IMPORT_SLOTS       (1u << 18)
#define PP_IMPORT_SLOTS_MIN   (1u << 11)

struct pp_import_edge {
	uint64_t from, to;           /* as recorded */
	uint64_t who;                /* process << 32 | generation; 0: of nobody */
	struct pathprof_taken image; /* the same as image addresses (pp_import_image.h) */
	uint64_t cnt, mispredicted;
	uint32_t branch; /* its number; 0: it has none */
	/* 1: code can run on from where it leads to where it left; 2: it cannot; 0: not asked yet
	 */
	uint16_t again;
	bool has_code; /* at both ends */
	/* The first two that code ran straight on to, and how often; NULL: none yet. */
	const struct pp_import_edge *next[PP_IMPORT_NEXT_CNT];
	uint64_t next_cnt[PP_IMPORT_NEXT_CNT];
};

/* Numbers of an array; 0: a free slot. */
struct pp_import_index {
	uint32_t slot_cnt; /* in use, a power of two */
	uint32_t shift;    /* 64 - log2 of it */
	uint32_t slots[PP_IMPORT_SLOTS];
};

/* Sums by two numbers of 32 bits; key 0: of nothing. */
struct pp_import_sum {
	uint64_t key, cnt;
	double weight;
};

struct pp_import_sums {
	uint32_t cnt;
	struct pp_import_index index;
	struct pp_import_sum list[PP_IMPORT_SUM_MAX + 1]; /* [1..cnt] */
};

struct pp_import_counts {
	uint64_t seed;
	uint32_t edge_max, edge_cnt;
	struct pp_import_index edge_index;
	struct pp_import_edge edges[PP_IMPORT_EDGE_MAX + 1]; /* [1..edge_cnt] */
	struct pp_import_sums walked; /* process << 32 | number of the path */
	/* edge << 32 | an edge that code ran straight on to, other than its first two */
	struct pp_import_sums straight;
	struct pp_import_sums segments; /* by pp_import_segment_key() */
	uint64_t segments_lost;         /* since they were handed on */
};

/* Room for edge_max edges, PP_IMPORT_EDGE_MAX at most, and twice as many pairs of them. -ENOMEM. */
int pp_import_counts_new(struct pp_import_counts **ret_counts, uint32_t edge_max);
/* NULL-safe. */
void pp_import_counts_free(struct pp_import_counts *counts);
void pp_import_counts_clear(struct pp_import_counts *counts);

/* There is room for it: counted so often as it has it. It can be found from now on. */
struct pp_import_edge *pp_import_counts_add_edge(struct pp_import_counts *counts,
						 const struct pp_import_edge *edge);
/* There is room for it, and it was not counted yet: counted not once. */
struct pp_import_sum *pp_import_sums_begin(struct pp_import_sums *sums, uint64_t seed,
					   uint64_t key);

/* Whether so many more of each will fit. */
static inline bool pp_import_counts_room(const struct pp_import_counts *counts, uint32_t edge_cnt,
					 uint32_t path_cnt)
{
	return counts->edge_cnt + edge_cnt <= counts->edge_max &&
	       counts->straight.cnt + edge_cnt <= 2 * counts->edge_max &&
	       counts->walked.cnt + path_cnt <= PP_IMPORT_PATH_MAX &&
	       counts->segments.cnt + path_cnt <= PP_IMPORT_SEGMENT_MAX;
}

/* Never 0. Pieces by the numbers that a walker gave them, which are 2^16 at most. */
static inline uint64_t pp_import_segment_key(uint32_t process, uint64_t first, uint64_t second)
{
	return ((uint64_t)process + 1) << 32 | (first - 1) << 16 | (second - 1);
}

static inline uint32_t pp_import_segment_process(uint64_t key)
{
	return (uint32_t)(key >> 32) - 1;
}

static inline uint32_t pp_import_segment_first(uint64_t key)
{
	return ((uint32_t)key >> 16) + 1;
}

static inline uint32_t pp_import_segment_second(uint64_t key)
{
	return ((uint32_t)key & 0xffff) + 1;
}

static inline uint64_t pp_import_counts_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* The hash salt of all edges of one process. */
static inline uint64_t pp_import_counts_salt(const struct pp_import_counts *counts, uint64_t who)
{
	return pp_import_counts_mix(counts->seed, who);
}

static inline uint64_t pp_import_counts_edge_hash(uint64_t salt, uint64_t from, uint64_t to)
{
	return ((from ^ salt) * UINT64_C(0xbf58476d1ce4e5b9) ^ to) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The look-up of one process's edges; to be set anew when one was added or all were removed. */
struct pp_import_finder {
	struct pp_import_edge *edges;
	const uint32_t *slots;
	uint64_t who, salt, slot_mask;
	uint32_t shift;
};

static inline void pp_import_counts_set_finder(struct pp_import_counts *counts, uint64_t who,
					       struct pp_import_finder *ret_finder)
{
	*ret_finder = (struct pp_import_finder){
		.edges = counts->edges,
		.slots = counts->edge_index.slots,
		.who = who,
		.salt = pp_import_counts_salt(counts, who),
		.slot_mask = counts->edge_index.slot_cnt - 1,
		.shift = counts->edge_index.shift,
	};
}

/* NULL: it was not counted yet. */
static inline struct pp_import_edge *pp_import_counts_edge(const struct pp_import_finder *finder,
							   uint64_t from, uint64_t to)
{
	uint64_t slot = pp_import_counts_edge_hash(finder->salt, from, to) >> finder->shift;

	for (;; slot = (slot + 1) & finder->slot_mask) {
		uint32_t number = finder->slots[slot];
		struct pp_import_edge *e = &finder->edges[number];

		if (e->from == from && e->to == to && e->who == finder->who)
			return e;
		if (!number)
			return NULL;
	}
}

static inline uint64_t pp_import_sums_hash(uint64_t seed, uint64_t key)
{
	return (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
}

/* There is room. */
static inline struct pp_import_sum *pp_import_sums_get(struct pp_import_sums *sums, uint64_t seed,
						       uint64_t key)
{
	const struct pp_import_index *index = &sums->index;
	uint64_t slot = pp_import_sums_hash(seed, key) >> index->shift;
	uint32_t number = index->slots[slot];

	while (sums->list[number].key != key) {
		if (!number)
			return pp_import_sums_begin(sums, seed, key);
		slot = (slot + 1) & (index->slot_cnt - 1);
		number = index->slots[slot];
	}
	return &sums->list[number];
}

/* There is room. Code ran straight on from where the one edge led, to the other. */
static inline void pp_import_counts_add_straight(struct pp_import_counts *counts,
						 struct pp_import_edge *led,
						 const struct pp_import_edge *left, uint64_t cnt)
{
	uint64_t key;

	for (int i = 0; i < PP_IMPORT_NEXT_CNT; i++) {
		if (led->next[i] == left) {
			led->next_cnt[i] += cnt;
			return;
		}
		if (!led->next[i]) {
			led->next[i] = left;
			led->next_cnt[i] = cnt;
			return;
		}
	}
	key = (uint64_t)(led - counts->edges) << 32 | (uint64_t)(left - counts->edges);
	pp_import_sums_get(&counts->straight, counts->seed, key)->cnt += cnt;
}

typedef void pp_import_straight_fn(void *context, const struct pp_import_edge *led,
				   const struct pp_import_edge *left, uint64_t cnt);
/* Each pair once. */
void pp_import_counts_straight(const struct pp_import_counts *counts, pp_import_straight_fn *fn,
			       void *context);

#endif
