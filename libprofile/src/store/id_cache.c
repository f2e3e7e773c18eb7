// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Row ids of keys seen lately: see pp_id_cache.h for workload, bound and ownership. */
#include "pp_id_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pp_id_cache_init(struct pp_id_cache *cache, uint32_t set_cnt)
{
	*cache = (struct pp_id_cache){.set_cnt = set_cnt};
	cache->entries = calloc((size_t)set_cnt * PP_ID_CACHE_WAYS, sizeof(*cache->entries));
	return cache->entries ? 0 : -ENOMEM;
}

void pp_id_cache_clear(struct pp_id_cache *cache)
{
	if (cache->filled)
		memset(cache->entries, 0,
		       (size_t)cache->set_cnt * PP_ID_CACHE_WAYS * sizeof(*cache->entries));
	cache->filled = false;
}

void pp_id_cache_release(struct pp_id_cache *cache)
{
	free(cache->entries);
	*cache = (struct pp_id_cache){0};
}

static struct pp_id_entry *set_of(const struct pp_id_cache *cache, const struct pp_id_key *key)
{
	uint64_t hash = 0;

	for (unsigned int i = 0; i < 4; i++) {
		hash = (hash ^ key->word[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return &cache->entries[(size_t)(hash & (cache->set_cnt - 1)) * PP_ID_CACHE_WAYS];
}

struct pp_id_entry *pp_id_cache_find(const struct pp_id_cache *cache, const struct pp_id_key *key)
{
	struct pp_id_entry *set = set_of(cache, key);

	for (unsigned int i = 0; i < PP_ID_CACHE_WAYS && set[i].id; i++)
		if (!memcmp(&set[i].key, key, sizeof(*key)))
			return &set[i];
	return NULL;
}

void pp_id_cache_add(struct pp_id_cache *cache, const struct pp_id_key *key, int64_t id,
		     int64_t last_window)
{
	struct pp_id_entry *set = set_of(cache, key);
	unsigned int way = 0;

	while (way < PP_ID_CACHE_WAYS && set[way].id)
		way++;
	if (way == PP_ID_CACHE_WAYS)
		way = cache->victim++ % PP_ID_CACHE_WAYS;
	cache->filled = true;
	set[way] = (struct pp_id_entry){.key = *key, .id = id, .last_window = last_window};
}
