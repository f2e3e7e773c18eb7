// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments by their names, in an open hash table; see vmsegments.h.
 *
 * Workload: some thousand segments, met ten times each.
 */
#include "vmsegments.h"

#define KEY_MAX 65536u /* a power of two */

struct key *key_of(struct keys *keys, uint64_t start, uint64_t desc)
{
	uint64_t at = (start ^ desc * 31) * 0x9E3779B97F4A7C15ull >> 48;
	struct key *key;

	if (!keys->key)
		keys->key = calloc(KEY_MAX, sizeof(*keys->key));
	if (!keys->key || keys->cnt > KEY_MAX / 2) {
		fprintf(stderr, "vmsegments: too many segments\n");
		exit(1);
	}
	for (;; at++) {
		key = &keys->key[at % KEY_MAX];
		if (key->start == start && key->desc == desc)
			return key;
		if (!key->desc)
			break;
	}
	keys->cnt++;
	key->start = start;
	key->desc = desc;
	return key;
}

bool keys_add(struct keys *keys, uint64_t start, uint64_t desc)
{
	uint32_t cnt = keys->cnt;

	key_of(keys, start, desc);
	return keys->cnt != cnt;
}

void keys_clear(struct keys *keys)
{
	if (keys->key)
		memset(keys->key, 0, KEY_MAX * sizeof(*keys->key));
	keys->cnt = 0;
}

struct totals keys_totals(const struct keys *profile)
{
	struct totals totals = {0};

	if (!profile->key)
		return totals;
	for (uint32_t i = 0; i < KEY_MAX; i++) {
		totals.truth += profile->key[i].truth;
		totals.told += profile->key[i].told;
	}
	if (!(totals.truth > 0 && totals.told > 0))
		return totals;
	for (uint32_t i = 0; i < KEY_MAX; i++) {
		double a = profile->key[i].truth / totals.truth;
		double b = profile->key[i].told / totals.told;

		totals.overlap += a < b ? a : b;
	}
	return totals;
}
