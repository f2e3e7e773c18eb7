// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Items by key; see pp_keyed.h for workload and bounds. */
#include "pp_keyed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_ROOM 64

/* The slot that holds the key's item, or the free one where it belongs. */
static uint32_t slot_of(const struct pp_keyed *k, const void *key)
{
	uint32_t slot = (uint32_t)XXH3_64bits_withSeed(key, k->key_bytes, k->seed) & k->slot_mask;

	while (k->slots[slot] &&
	       memcmp(pp_keyed_item(k, k->slots[slot] - 1), key, k->key_bytes) != 0)
		slot = (slot + 1) & k->slot_mask;
	return slot;
}

static int grow(struct pp_keyed *k, uint32_t room)
{
	uint32_t *slots = calloc(2 * (size_t)room, sizeof(slots[0]));
	uint8_t *moved = reallocarray(k->items, room, k->item_bytes);

	if (moved)
		k->items = moved;
	if (!slots || !moved) {
		free(slots);
		return -ENOMEM;
	}
	free(k->slots);
	k->slots = slots;
	k->room = room;
	k->slot_mask = 2 * room - 1;
	for (uint32_t i = 0; i < k->cnt; i++)
		k->slots[slot_of(k, pp_keyed_item(k, i))] = i + 1;
	return 0;
}

int pp_keyed_init(struct pp_keyed *ret_keyed, size_t item_bytes, size_t key_bytes, uint32_t max,
		  uint64_t seed)
{
	struct pp_keyed k = {
		.item_bytes = item_bytes, .key_bytes = key_bytes, .max = max, .seed = seed};
	int r = grow(&k, FIRST_ROOM);

	if (r < 0)
		pp_keyed_release(&k);
	else
		*ret_keyed = k;
	return r;
}

void pp_keyed_release(struct pp_keyed *keyed)
{
	free(keyed->items);
	free(keyed->slots);
	memset(keyed, 0, sizeof(*keyed));
}

int pp_keyed_find(const struct pp_keyed *keyed, const void *key, uint32_t *ret_index)
{
	uint32_t slot = slot_of(keyed, key);

	if (!keyed->slots[slot])
		return -ENOENT;
	*ret_index = keyed->slots[slot] - 1;
	return 0;
}

int pp_keyed_at(struct pp_keyed *keyed, const void *key, uint32_t *ret_index)
{
	uint8_t *item;

	if (pp_keyed_find(keyed, key, ret_index) == 0)
		return 0;
	if (keyed->cnt >= keyed->max)
		return -ENOSPC;
	if (keyed->cnt == keyed->room && grow(keyed, 2 * keyed->room) < 0)
		return -ENOMEM;
	item = pp_keyed_item(keyed, keyed->cnt);
	memset(item, 0, keyed->item_bytes);
	memcpy(item, key, keyed->key_bytes);
	keyed->slots[slot_of(keyed, key)] = keyed->cnt + 1;
	*ret_index = keyed->cnt++;
	return 0;
}
