/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Finding items of an array by their key: an open-addressing hash table of the items' numbers, with
 * linear probing, at most half full. The items stay where the owner has them, and are numbered 0,
 * 1, 2 and so on as they are added; none is removed. What an item's hash is, and whether it is the
 * one looked for, are expressions over its number i, a name that only they see:
 *
 *     number = pp_table_find(&table, hash, i, items[i].key == key);
 *     if (number == PP_TABLE_NONE &&
 *         pp_table_add(&table, hash, i, hash_of(items[i].key)) == 0)
 *             items[table.cnt - 1].key = key;
 *
 * Workload: 10 to 10^7 items, looked for far more often than added.
 *
 * The lower 32 bits of a hash are used, and the lowest choose the slot. If profiled programs choose
 * the keys, the hash needs a seed that they do not know.
 *
 * Locking: none, one owner. A zeroed table is an empty one.
 */
#ifndef PP_BASE_TABLE_H
#define PP_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define PP_TABLE_NONE UINT32_MAX
#define PP_TABLE_MAX  (1u << 30) /* items */

struct pp_table {
	uint32_t *slots;   /* number of an item, + 1; 0: free */
	uint32_t slot_cnt; /* a power of two, or 0 */
	uint32_t cnt;
};

/* The number of the item of this hash for which `same` holds, or PP_TABLE_NONE. */
#define pp_table_find(table, hash32, i, same)                                                      \
	({                                                                                         \
		const struct pp_table *table_ = (table);                                           \
		const uint32_t mask_ = table_->slot_cnt - 1;                                       \
		uint32_t found_ = PP_TABLE_NONE, at_ = (uint32_t)(hash32)&mask_;                   \
		for (; table_->slot_cnt && table_->slots[at_]; at_ = (at_ + 1) & mask_) {          \
			uint32_t i = table_->slots[at_] - 1;                                       \
			if (same) {                                                                \
				found_ = (i);                                                      \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		found_;                                                                            \
	})

/*
 * Enters the next item, of this hash; hash_of_i is that of any item entered before, for the table
 * may have to grow. -ENOMEM: no memory, or too many.
 */
#define pp_table_add(table, hash32, i, hash_of_i)                                                  \
	({                                                                                         \
		struct pp_table *table_ = (table);                                                 \
		int enlarged_ = table_->cnt < table_->slot_cnt / 2                                 \
					? 0                                                        \
					: pp_table_enlarge(table_, table_->cnt + 1);               \
		for (uint32_t i = 0; enlarged_ > 0 && (i) < table_->cnt; (i)++)                    \
			pp_table_put(table_, (hash_of_i), i);                                      \
		if (enlarged_ >= 0) {                                                              \
			pp_table_put(table_, (hash32), table_->cnt);                               \
			table_->cnt++;                                                             \
		}                                                                                  \
		enlarged_ < 0 ? enlarged_ : 0;                                                     \
	})

/*
 * Makes room for cnt items in all. 1: there are more slots now, and all of them are free, so that
 * items that are there have to be entered again; 0: there were enough; -ENOMEM.
 */
int pp_table_enlarge(struct pp_table *table, uint32_t cnt);
/* How many bytes more that would take. */
size_t pp_table_enlarge_bytes(const struct pp_table *table, uint32_t cnt);
/* Forgets all items, and keeps the memory. */
void pp_table_clear(struct pp_table *table);
void pp_table_release(struct pp_table *table);

static inline void pp_table_put(struct pp_table *table, uint32_t hash, uint32_t number)
{
	uint32_t mask = table->slot_cnt - 1, at = hash & mask;

	while (table->slots[at])
		at = (at + 1) & mask;
	table->slots[at] = number + 1;
}

/* The hash of one word more. */
static inline uint64_t pp_hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* From words to numbers. Locking and ownership as above. */
struct pp_map_entry {
	uint64_t key;
	uint32_t value;
};
struct pp_map {
	struct pp_map_entry *entries; /* [table.cnt] */
	uint32_t room;
	struct pp_table table;
};

/* Replaces what the key had. -ENOMEM. */
int pp_map_put(struct pp_map *map, uint64_t key, uint32_t value);
/* PP_TABLE_NONE: not there. */
uint32_t pp_map_get(const struct pp_map *map, uint64_t key);
void pp_map_release(struct pp_map *map);

/*
 * A set of texts, numbered as they came. Locking and ownership as above: texts are copied. Profiled
 * programs may choose the texts.
 */
struct pp_texts {
	char **texts; /* [table.cnt] */
	uint64_t seed;
	uint32_t room;
	struct pp_table table;
};

/* The number of this text, which is kept if it is new. -ENOMEM. */
int pp_texts_at(struct pp_texts *texts, const char *text, uint32_t *ret_number);
/* PP_TABLE_NONE: not there. */
uint32_t pp_texts_find(const struct pp_texts *texts, const char *text);
void pp_texts_release(struct pp_texts *texts);

/*
 * An array of items, in the order they came, each beginning with its key, and its table. An item
 * keeps its number, and its address until something is added. Only the last can be removed.
 */
struct pp_keyed {
	uint8_t *items;
	size_t item_bytes, key_bytes;
	uint32_t cnt, room, max;
	uint64_t seed;
	struct pp_table table;
};

/* Keys are compared byte by byte: no padding. max: 1..PP_TABLE_MAX. */
void pp_keyed_init(struct pp_keyed *ret_keyed, size_t item_bytes, size_t key_bytes, uint32_t max,
		   uint64_t seed);
void pp_keyed_release(struct pp_keyed *keyed);
/* The number of the item with this key; a new one is zero behind it. -ENOSPC: full; -ENOMEM. */
int pp_keyed_at(struct pp_keyed *keyed, const void *key, uint32_t *ret_index);
/* -ENOENT. */
int pp_keyed_find(const struct pp_keyed *keyed, const void *key, uint32_t *ret_index);

/* Removes all but the first cnt; the memory stays. */
void pp_keyed_cut(struct pp_keyed *keyed, uint32_t cnt);

static inline void *pp_keyed_item(const struct pp_keyed *keyed, uint32_t index)
{
	return keyed->items + index * keyed->item_bytes;
}

#endif
