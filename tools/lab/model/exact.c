// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096u
/* Numbers are stored plus one in 32 bits. */
#define MOST_SLOTS (1u << 31)

/* Multiply and fold: addresses differ in few, low bits, slots are taken from the high ones. */
static uint32_t hash(const struct lab_key *key)
{
	uint64_t h = key->a * 0x9e3779b97f4a7c15u ^ (key->b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return (uint32_t)(h >> 32);
}

int lab_exact_init(struct lab_exact *table)
{
	struct lab_exact t = {.slot_mask = FIRST_SLOTS - 1};

	t.slots = calloc(FIRST_SLOTS, sizeof(*t.slots));
	t.entries = malloc(FIRST_SLOTS / 2 * sizeof(*t.entries));
	if (!t.slots || !t.entries) {
		lab_exact_release(&t);
		return -ENOMEM;
	}
	*table = t;
	return 0;
}

void lab_exact_release(struct lab_exact *table)
{
	free(table->slots);
	free(table->entries);
	*table = (struct lab_exact){0};
}

void lab_exact_clear(struct lab_exact *table)
{
	memset(table->slots, 0, ((size_t)table->slot_mask + 1) * sizeof(*table->slots));
	table->cnt = 0;
	table->total = 0;
}

/* The slot that holds the key, or the free one where it belongs. At least half are free. */
static uint32_t slot_of(const struct lab_exact *table, const struct lab_key *key)
{
	uint32_t slot = hash(key) & table->slot_mask;

	for (; table->slots[slot]; slot = (slot + 1) & table->slot_mask) {
		const struct lab_key *k = &table->entries[table->slots[slot] - 1].key;

		if (k->a == key->a && k->b == key->b)
			break;
	}
	return slot;
}

static int grow(struct lab_exact *table)
{
	uint32_t slot_cnt = (table->slot_mask + 1) * 2;
	struct lab_exact_entry *entries;
	uint32_t *slots;

	if (slot_cnt >= MOST_SLOTS)
		return -ENOMEM;
	entries = realloc(table->entries, slot_cnt / 2 * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	table->entries = entries;
	slots = calloc(slot_cnt, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->slot_mask = slot_cnt - 1;
	for (uint32_t i = 0; i < table->cnt; i++)
		slots[slot_of(table, &entries[i].key)] = i + 1;
	return 0;
}

int64_t lab_exact_add(struct lab_exact *table, const struct lab_key *key, uint64_t count)
{
	uint32_t slot = slot_of(table, key), number = table->slots[slot];

	if (!number) {
		if (table->cnt == (table->slot_mask + 1) / 2) {
			int r = grow(table);

			if (r < 0)
				return r;
			slot = slot_of(table, key);
		}
		number = table->slots[slot] = ++table->cnt;
		table->entries[number - 1] = (struct lab_exact_entry){.key = *key};
	}
	table->entries[number - 1].count += count;
	table->total += count;
	return number - 1;
}

int64_t lab_exact_find(const struct lab_exact *table, const struct lab_key *key)
{
	uint32_t number = table->slots[slot_of(table, key)];

	return number ? (int64_t)number - 1 : -ENOENT;
}

uint64_t lab_exact_count(const struct lab_exact *table, const struct lab_key *key)
{
	int64_t number = lab_exact_find(table, key);

	return number < 0 ? 0 : table->entries[number].count;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int hottest_first(const void *x, const void *y)
{
	const struct lab_exact_entry *a = x, *b = y;

	if (a->count != b->count)
		return ORDER(b->count, a->count);
	if (a->key.a != b->key.a)
		return ORDER(a->key.a, b->key.a);
	return ORDER(a->key.b, b->key.b);
}

void lab_exact_hottest(const struct lab_exact *table, struct lab_exact_entry *ret_entries)
{
	if (!table->cnt)
		return;
	memcpy(ret_entries, table->entries, table->cnt * sizeof(*ret_entries));
	qsort(ret_entries, table->cnt, sizeof(*ret_entries), hottest_first);
}

double lab_exact_overlap(const struct lab_exact *table, const struct lab_exact_entry *profile,
			 size_t profile_cnt)
{
	double sum = 0, overlap = 0;

	for (size_t i = 0; i < profile_cnt; i++)
		sum += (double)profile[i].count;
	if (sum == 0 || !table->total)
		return 0;
	for (size_t i = 0; i < profile_cnt; i++) {
		double q = (double)profile[i].count / sum;
		double p = (double)lab_exact_count(table, &profile[i].key) / (double)table->total;

		overlap += p < q ? p : q;
	}
	return overlap;
}
