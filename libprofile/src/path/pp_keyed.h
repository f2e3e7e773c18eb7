/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Items by key: an array of items in the order they came, each beginning with its key, and a hash
 * table with linear probing over it, at most half full. Nothing is removed; what is found keeps its
 * number, and its address until something is added.
 *
 * Workload: some 10^6 look-ups among 10^4 to 10^6 items. Bounded by `max`. Keys come from those who
 * are profiled: the seed keeps them from choosing collisions. Locking: none, one owner.
 */
#ifndef PP_KEYED_H
#define PP_KEYED_H

#include <stddef.h>
#include <stdint.h>

struct pp_keyed {
	uint8_t *items;
	uint32_t *slots; /* 1 + number of an item; 0: free */
	size_t item_bytes, key_bytes;
	uint32_t cnt, room, max;
	uint32_t slot_mask; /* slot_mask + 1 = 2 * room */
	uint64_t seed;
};

/* Keys are compared byte by byte: no padding. max: 1..2^30. -ENOMEM. */
int pp_keyed_init(struct pp_keyed *ret_keyed, size_t item_bytes, size_t key_bytes, uint32_t max,
		  uint64_t seed);
void pp_keyed_release(struct pp_keyed *keyed);
/* The number of the item with this key; a new one is zero behind it. -ENOSPC: full; -ENOMEM. */
int pp_keyed_at(struct pp_keyed *keyed, const void *key, uint32_t *ret_index);
/* -ENOENT. */
int pp_keyed_find(const struct pp_keyed *keyed, const void *key, uint32_t *ret_index);

static inline void *pp_keyed_item(const struct pp_keyed *keyed, uint32_t index)
{
	return keyed->items + index * keyed->item_bytes;
}

#endif
