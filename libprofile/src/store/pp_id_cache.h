/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Row ids of keys seen lately, so that a window of known paths is written without looking each up
 * in its index.
 *
 * Workload: ten thousand look-ups a window, nearly all of them hits. Bounded: a fixed table of
 * 8-way sets, a full set forgets one entry; an entry forgotten costs one look-up in the database.
 * Entries lie in the order in which they came, and sets hold their numbers, so memory is taken by
 * what is kept: pages of room that no entry needed are never touched.
 *
 * Locking: none, one connection. Ownership: the tables belong to the cache.
 */
#ifndef PP_ID_CACHE_H
#define PP_ID_CACHE_H

#include <stdint.h>

#define PP_ID_CACHE_WAYS 8

struct pp_id_key {
	uint64_t word[4];
};

struct pp_id_entry {
	struct pp_id_key key;
	int64_t id;
	int64_t last_window; /* as stored in the row */
};

struct pp_id_cache {
	struct pp_id_entry *entries;
	uint32_t entry_cnt;
	uint32_t *numbers; /* 8 a set: of its entries, counted from 1; 0: free, as all behind it */
	uint32_t set_cnt;  /* a power of two */
	uint32_t victim;   /* the way that goes next from a full set */
};

/* Room for set_cnt * 8 entries; set_cnt a power of two. -ENOMEM, and then there is none. */
int pp_id_cache_init(struct pp_id_cache *cache, uint32_t set_cnt);
/* Forgets all. Needed after rows were removed and after a transaction was rolled back. */
void pp_id_cache_clear(struct pp_id_cache *cache);
void pp_id_cache_release(struct pp_id_cache *cache);
/* NULL when not there. Valid until the next add. */
struct pp_id_entry *pp_id_cache_find(const struct pp_id_cache *cache, const struct pp_id_key *key);
/* The key must not be there. */
void pp_id_cache_add(struct pp_id_cache *cache, const struct pp_id_key *key, int64_t id,
		     int64_t last_window);

#endif
