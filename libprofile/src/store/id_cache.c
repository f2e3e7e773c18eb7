// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Row ids of keys seen lately: see pp_id_cache.h for workload, bound and ownership. */
#include "pp_id_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pp_id_cache_init(struct pp_id_cache *cache, uint32_t set_cnt)
{
	size_t room = (size_t)set_cnt * PP_ID_CACHE_WAYS;

	*cache = (struct pp_id_cache){
		.set_cnt = set_cnt,
		.entries = calloc(room, sizeof(*cache->entries)),
		.numbers = calloc(room, sizeof(*cache->numbers)),
	};
	if (cache->entries && cache->numbers)
		return 0;
	pp_id_cache_release(cache);
	return -ENOMEM;
}

void pp_id_cache_clear(struct pp_id_cache *cache)
{
	if (cache->entry_cnt)
		memset(cache->numbers, 0,
		       (size_t)cache->set_cnt * PP_ID_CACHE_WAYS * sizeof(*cache->numbers));
	cache->entry_cnt = 0;
}

void pp_id_cache_release(struct pp_id_cache *cache)
{
	free(cache->entries);
	free(cache->numbers);
	*cache = (struct pp_id_cache){0};
}

static uint32_t *set_of(const struct pp_id_cache *cache, const struct pp_id_key *key)
{
	uint64_t hash = 0;

	for (unsigned int i = 0; i < 4; i++) {
		hash = (hash ^ key->word[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return &cache->numbers[(size_t)(hash & (cache->set_cnt - 1)) * PP_ID_CACHE_WAYS];
}

struct pp_id_entry *pp_id_cache_find(const struct pp_id_cache *cache, const struct pp_id_key *key)
{
	const uint32_t *set = set_of(cache, key);

	for (unsigned int way = 0; way < PP_ID_CACHE_WAYS && set[way]; way++) {
		struct pp_id_entry *entry = &cache->entries[set[way] - 1];

		if (!memcmp(&entry->key, key, sizeof(*key)))
			return entry;
	}
	return NULL;
}

void pp_id_cache_add(struct pp_id_cache *cache, const struct pp_id_key *key, int64_t id,
		     int64_t last_window)
{
	uint32_t *set = set_of(cache, key);
	unsigned int way = 0;

	while (way < PP_ID_CACHE_WAYS && set[way])
		way++;
	if (way == PP_ID_CACHE_WAYS)
		way = cache->victim++ % PP_ID_CACHE_WAYS;
	else
		set[way] = ++cache->entry_cnt;
	cache->entries[set[way] - 1] =
		(struct pp_id_entry){.key = *key, .id = id, .last_window = last_window};
}
