// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Counts of functions with many paths. Code counts in the function's cache, and calls this on a
 * miss: a free entry is taken for the path, or the path is counted in the thread's hash table (open
 * addressing, at most half full). Code with a table of interesting paths calls this for all other
 * paths, the residual ones.
 *
 * A signal handler may count in the middle of a count of its own thread. An entry is taken by an
 * atomic exchange of its first word and matches nothing until its second word is written; the
 * handler then takes another entry for the same path, and readers of the file add both up. Growing
 * blocks signals. A table that was replaced stays in the file, where nothing points to it. It knows
 * how much was copied out of it, so a count that a handler interrupted and that was added to it
 * afterwards is found, and counted again in the table that is in use.
 */
#include "counts.h"
#include "kernel.h"

#define FIRST_ENTRIES 1024

/* Callers keep values in their registers across these. */
__attribute__((preserve_most)) void __pathprof_count_hashed(const uint64_t *counter, uint64_t id);
__attribute__((preserve_most)) void __pathprof_count_residual(const uint64_t *counter, uint64_t id);

static uint64_t entries_of(const struct pathprof_counts_region *table)
{
	uint64_t room = (table->bytes - sizeof(*table)) / sizeof(struct pathprof_counts_entry);

	return 1ull << (63 - __builtin_clzll(room));
}

static uint64_t place_in(uint64_t entries, uint64_t counter, uint64_t id)
{
	uint64_t h = (id ^ counter * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;

	return (h ^ h >> 32) & (entries - 1);
}

/* The entry of a path, claimed if the path has none yet. The table has a free entry. */
static struct pathprof_counts_entry *entry_for(struct pathprof_counts_region *table,
					       uint64_t counter, uint64_t id)
{
	struct pathprof_counts_entry *entries = (struct pathprof_counts_entry *)(table + 1);
	uint64_t cnt = entries_of(table), at = place_in(cnt, counter, id);

	for (;; at = (at + 1) & (cnt - 1)) {
		struct pathprof_counts_entry *e = &entries[at];
		uint64_t none = 0;

		if (e->counter == counter && e->id == id)
			return e;
		if (e->counter || !__atomic_compare_exchange_n(&e->counter, &none, counter, false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&e->id, id, __ATOMIC_RELAXED);
		__atomic_fetch_add(&table->hash, 1, __ATOMIC_RELAXED);
		return e;
	}
}

static void copy_entries(struct pathprof_counts_region *to, struct pathprof_counts_region *from)
{
	struct pathprof_counts_entry *entries = (struct pathprof_counts_entry *)(from + 1);

	for (uint64_t i = 0, cnt = entries_of(from); i < cnt; i++)
		if (entries[i].counter && entries[i].id)
			entry_for(to, entries[i].counter, entries[i].id)->count += entries[i].count;
}

static uint64_t sum_of(const struct pathprof_counts_region *table)
{
	const struct pathprof_counts_entry *entries =
		(const struct pathprof_counts_entry *)(table + 1);
	uint64_t sum = 0;

	for (uint64_t i = 0, cnt = entries_of(table); i < cnt; i++)
		sum += entries[i].count;
	return sum;
}

/* Returns a table of twice the size, or the first one; if the file cannot grow, the old one. */
static struct pathprof_counts_region *grow(struct pathprof_counts_region *mine)
{
	uint64_t signals = counts_lock();
	struct pathprof_counts_region *old = mine->hash ? counts_region_at(mine->hash) : NULL;
	uint64_t entries = old ? 2 * entries_of(old) : FIRST_ENTRIES;
	struct pathprof_counts_region *table =
		counts_append(PATHPROF_COUNTS_HASH,
			      sizeof(*table) + entries * sizeof(struct pathprof_counts_entry));

	if (table && old) {
		copy_entries(table, old);
		old->call[0] = sum_of(old);
	}
	if (table)
		__atomic_store_n(&mine->hash, counts_place_of(table), __ATOMIC_RELEASE);
	counts_unlock(signals);
	return table ? table : old;
}

/* A table with a free entry; NULL: none can be had. */
static struct pathprof_counts_region *table_of(struct pathprof_counts_region *mine)
{
	struct pathprof_counts_region *table = mine->hash ? counts_region_at(mine->hash) : NULL;

	if (!table || table->hash >= entries_of(table) / 2)
		table = grow(mine);
	return table && table->hash < entries_of(table) - 1 ? table : NULL;
}

/* A handler that interrupts this may take the entry for its own path first. */
static bool count_in_cache(struct pathprof_counts_region *mine, uint64_t counter, uint64_t id)
{
	uint64_t *cache = (uint64_t *)((char *)(mine + 1) + counter - 1);
	uint64_t *entry = cache + 2 * pathprof_cache_entry(id - 1), key = 0;

	if (!*entry)
		__atomic_compare_exchange_n(entry, &key, id, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	if (*entry != id)
		return false;
	entry[1]++;
	return true;
}

/* Whether a count was added to the table after a handler had copied what it held. */
static bool is_left_behind(const struct pathprof_counts_region *mine,
			   struct pathprof_counts_region *table)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (mine->hash == counts_place_of(table) || sum_of(table) == table->call[0])
		return false;
	table->call[0]++;
	return true;
}

static void count_in_table(struct pathprof_counts_region *mine, uint64_t counter, uint64_t id)
{
	struct pathprof_counts_region *table = mine ? table_of(mine) : NULL;

	for (; table; table = table_of(mine)) {
		entry_for(table, counter, id)->count++;
		if (!is_left_behind(mine, table))
			return;
	}
	counts_lose();
}

static uint64_t distance_of(const uint64_t *counter)
{
	return (uint64_t)((const char *)counter - (const char *)__start_pathprof_counters) + 1;
}

static __attribute__((noinline)) void count(uint64_t counter, uint64_t id)
{
	struct pathprof_counts_region *mine;

	counts_attach();
	mine = counts_mine();
	if (!mine || !count_in_cache(mine, counter, id))
		count_in_table(mine, counter, id);
}

static __attribute__((noinline)) void count_residual(uint64_t counter, uint64_t id)
{
	counts_attach();
	count_in_table(counts_mine(), counter, id);
}

void __pathprof_count_hashed(const uint64_t *counter, uint64_t id)
{
	count(distance_of(counter), id + 1);
}

void __pathprof_count_residual(const uint64_t *counter, uint64_t id)
{
	count_residual(distance_of(counter), id + 1);
}
