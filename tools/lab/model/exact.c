// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vector.h"

static uint64_t hash(const struct lab_key *key)
{
	uint64_t h = key->a * 0x9e3779b97f4a7c15u ^ (key->b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93u >> 32;
}

void lab_exact_init(struct lab_exact *ret_table)
{
	*ret_table = (struct lab_exact){0};
}

void lab_exact_release(struct lab_exact *table)
{
	pp_table_release(&table->numbers);
	free(table->entries);
	*table = (struct lab_exact){0};
}

void lab_exact_clear(struct lab_exact *table)
{
	pp_table_clear(&table->numbers);
	table->cnt = 0;
	table->total = 0;
}

static uint32_t find(const struct lab_exact *table, const struct lab_key *key)
{
	return pp_table_find(&table->numbers, hash(key), i,
			     table->entries[i].key.a == key->a &&
				     table->entries[i].key.b == key->b);
}

int64_t lab_exact_add(struct lab_exact *table, const struct lab_key *key, uint64_t count)
{
	uint32_t number = find(table, key);

	if (number == PP_TABLE_NONE) {
		number = table->cnt;
		if (pp_grow(&table->entries, number, &table->room) < 0)
			return -ENOMEM;
		table->entries[number] = (struct lab_exact_entry){.key = *key};
		if (pp_table_add(&table->numbers, hash(key), i, hash(&table->entries[i].key)) < 0)
			return -ENOMEM;
		table->cnt++;
	}
	table->entries[number].count += count;
	table->total += count;
	return number;
}

int64_t lab_exact_find(const struct lab_exact *table, const struct lab_key *key)
{
	uint32_t number = find(table, key);

	return number == PP_TABLE_NONE ? -ENOENT : (int64_t)number;
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
