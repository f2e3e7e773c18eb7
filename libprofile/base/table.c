// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Finding items by their key; see table.h. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "vector.h"

#define SLOTS_FIRST 64

static uint32_t slots_for(const struct pp_table *table, uint32_t cnt)
{
	uint32_t slot_cnt = table->slot_cnt ? table->slot_cnt : SLOTS_FIRST;

	while (slot_cnt / 2 < cnt)
		slot_cnt *= 2;
	return slot_cnt;
}

size_t pp_table_enlarge_bytes(const struct pp_table *table, uint32_t cnt)
{
	return (size_t)(slots_for(table, cnt) - table->slot_cnt) * sizeof(*table->slots);
}

int pp_table_enlarge(struct pp_table *table, uint32_t cnt)
{
	uint32_t slot_cnt, *slots;

	if (cnt <= table->slot_cnt / 2)
		return 0;
	if (cnt > PP_TABLE_MAX)
		return -ENOMEM;
	slot_cnt = slots_for(table, cnt);
	slots = calloc(slot_cnt, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->slot_cnt = slot_cnt;
	return 1;
}

void pp_table_clear(struct pp_table *table)
{
	if (table->cnt)
		memset(table->slots, 0, table->slot_cnt * sizeof(*table->slots));
	table->cnt = 0;
}

void pp_table_release(struct pp_table *table)
{
	free(table->slots);
	*table = (struct pp_table){0};
}

/* ---------------------------------------------------------------- words to numbers */

static uint32_t find_word(const struct pp_map *map, uint64_t key)
{
	return pp_table_find(&map->table, pp_hash_mix(0, key), i, map->entries[i].key == key);
}

int pp_map_put(struct pp_map *map, uint64_t key, uint32_t value)
{
	uint32_t at = find_word(map, key);

	if (at == PP_TABLE_NONE) {
		at = map->table.cnt;
		if (pp_grow(&map->entries, at, &map->room) < 0)
			return -ENOMEM;
		map->entries[at].key = key;
		if (pp_table_add(&map->table, pp_hash_mix(0, key), i,
				 pp_hash_mix(0, map->entries[i].key)) < 0)
			return -ENOMEM;
	}
	map->entries[at].value = value;
	return 0;
}

uint32_t pp_map_get(const struct pp_map *map, uint64_t key)
{
	uint32_t at = find_word(map, key);

	return at == PP_TABLE_NONE ? at : map->entries[at].value;
}

void pp_map_release(struct pp_map *map)
{
	free(map->entries);
	pp_table_release(&map->table);
	*map = (struct pp_map){0};
}

/* ---------------------------------------------------------------- texts */

static uint64_t hash_text(const struct pp_texts *texts, const char *text)
{
	return XXH3_64bits_withSeed(text, strlen(text), texts->seed);
}

/* Seeds the hash before the first text. If there are no random numbers, an address serves. */
static void choose_seed(struct pp_texts *texts)
{
	if (getrandom(&texts->seed, sizeof(texts->seed), GRND_NONBLOCK) != sizeof(texts->seed))
		texts->seed = (uintptr_t)texts;
}

uint32_t pp_texts_find(const struct pp_texts *texts, const char *text)
{
	return pp_table_find(&texts->table, hash_text(texts, text), i,
			     !strcmp(texts->texts[i], text));
}

int pp_texts_at(struct pp_texts *texts, const char *text, uint32_t *ret_number)
{
	uint32_t number;
	char *copy;

	if (!texts->table.cnt)
		choose_seed(texts);
	number = pp_texts_find(texts, text);
	if (number == PP_TABLE_NONE) {
		number = texts->table.cnt;
		if (pp_grow(&texts->texts, number, &texts->room) < 0)
			return -ENOMEM;
		copy = strdup(text);
		if (!copy || pp_table_add(&texts->table, hash_text(texts, text), i,
					  hash_text(texts, texts->texts[i])) < 0) {
			free(copy);
			return -ENOMEM;
		}
		texts->texts[number] = copy;
	}
	*ret_number = number;
	return 0;
}

void pp_texts_release(struct pp_texts *texts)
{
	for (uint32_t i = 0; i < texts->table.cnt; i++)
		free(texts->texts[i]);
	free(texts->texts);
	pp_table_release(&texts->table);
	*texts = (struct pp_texts){0};
}

/* ---------------------------------------------------------------- with their items */

void pp_keyed_init(struct pp_keyed *ret_keyed, size_t item_bytes, size_t key_bytes, uint32_t max,
		   uint64_t seed)
{
	*ret_keyed = (struct pp_keyed){
		.item_bytes = item_bytes, .key_bytes = key_bytes, .max = max, .seed = seed};
}

void pp_keyed_release(struct pp_keyed *keyed)
{
	free(keyed->items);
	pp_table_release(&keyed->table);
	*keyed = (struct pp_keyed){0};
}

static uint64_t hash_of(const struct pp_keyed *k, const void *key)
{
	return XXH3_64bits_withSeed(key, k->key_bytes, k->seed);
}

static uint32_t find(const struct pp_keyed *k, const void *key, uint64_t hash)
{
	return pp_table_find(&k->table, hash, i, !memcmp(pp_keyed_item(k, i), key, k->key_bytes));
}

int pp_keyed_find(const struct pp_keyed *keyed, const void *key, uint32_t *ret_index)
{
	uint32_t index = find(keyed, key, hash_of(keyed, key));

	if (index == PP_TABLE_NONE)
		return -ENOENT;
	*ret_index = index;
	return 0;
}

static int add(struct pp_keyed *k, const void *key, uint64_t hash)
{
	size_t room = k->room;
	void *items = k->items;
	int r = pp_array_reserve(&items, (size_t)k->cnt + 1, &room, UINT32_MAX, k->item_bytes);
	uint8_t *item;

	k->items = items;
	k->room = (uint32_t)room;
	if (r < 0)
		return r;
	item = pp_keyed_item(k, k->cnt);
	memset(item, 0, k->item_bytes);
	memcpy(item, key, k->key_bytes);
	r = pp_table_add(&k->table, hash, i, hash_of(k, pp_keyed_item(k, i)));
	k->cnt = k->table.cnt;
	return r;
}

int pp_keyed_at(struct pp_keyed *keyed, const void *key, uint32_t *ret_index)
{
	uint64_t hash = hash_of(keyed, key);
	uint32_t index = find(keyed, key, hash);

	if (index == PP_TABLE_NONE) {
		if (keyed->cnt >= keyed->max)
			return -ENOSPC;
		if (add(keyed, key, hash) < 0)
			return -ENOMEM;
		index = keyed->cnt - 1;
	}
	*ret_index = index;
	return 0;
}

void pp_keyed_cut(struct pp_keyed *keyed, uint32_t cnt)
{
	if (cnt >= keyed->cnt)
		return;
	pp_table_clear(&keyed->table);
	for (uint32_t i = 0; i < cnt; i++)
		pp_table_put(&keyed->table, (uint32_t)hash_of(keyed, pp_keyed_item(keyed, i)), i);
	keyed->table.cnt = keyed->cnt = cnt;
}
