/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The yardstick: an unbounded table that counts every key exactly. A key is two words, as in
 * rival/rival.h. Keys are numbered from 0 in the order they first came, so that whoever counts
 * several things at once keeps arrays beside it.
 *
 * Workload: tens of millions of additions, thousands to a few million distinct keys; one cache miss
 * for a cold key, none for a hot one. Not shared between threads. Memory is the table's; entries
 * move when it grows.
 */
#ifndef LAB_EXACT_H
#define LAB_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "../rival/rival.h"

struct lab_exact_entry {
	struct lab_key key;
	uint64_t count;
};

struct lab_exact {
	struct lab_exact_entry *entries; /* [cnt], by number */
	uint64_t total;                  /* of all counts */
	uint32_t cnt, room;
	struct pp_table numbers;
};

void lab_exact_init(struct lab_exact *ret_table);
void lab_exact_release(struct lab_exact *table);
/* Forgets keys and counts, keeps the memory. */
void lab_exact_clear(struct lab_exact *table);

/* Adds count (0 is allowed: the key is entered). The key's number, or -ENOMEM. */
int64_t lab_exact_add(struct lab_exact *table, const struct lab_key *key, uint64_t count);
/* The key's number, or -ENOENT. */
int64_t lab_exact_find(const struct lab_exact *table, const struct lab_key *key);
/* The count of a key, 0 when it never came. */
uint64_t lab_exact_count(const struct lab_exact *table, const struct lab_key *key);

/* Copies the entries to ret_entries[cnt], highest count first, then by key. */
void lab_exact_hottest(const struct lab_exact *table, struct lab_exact_entry *ret_entries);

/*
 * Overlap of a profile with the exact one: the sum of min(p, q) over both normalised, 0..1 (EOPP
 * 5.5). Keys of the profile are distinct. 0 when either is empty.
 */
double lab_exact_overlap(const struct lab_exact *table, const struct lab_exact_entry *profile,
			 size_t profile_cnt);

#endif
