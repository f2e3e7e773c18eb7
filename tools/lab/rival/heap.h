/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fully associative set of keys with counts, ordered by count, for the rivals that replace the
 * least of all keys. It is a binary heap, with a chained hash to find keys.
 *
 * Workload: once for each event. In hardware this is a content-addressed memory; only keys and
 * counts are charged as state, which favours whoever uses it. One owner, one thread.
 */
#ifndef LAB_HEAP_H
#define LAB_HEAP_H

#include "rival.h"

#include <stdbool.h>

struct lab_heap;

struct lab_heap_entry {
	struct lab_key key;
	uint64_t count;
};

struct lab_heap *lab_heap_new(uint32_t capacity);
void lab_heap_free(struct lab_heap *heap);
/* The count of a key may be raised in place by lab_heap_raise() only. NULL: not there. */
struct lab_heap_entry *lab_heap_find(struct lab_heap *heap, const struct lab_key *key);
/* entry: as found. count: not below what it had. */
void lab_heap_raise(struct lab_heap *heap, struct lab_heap_entry *entry, uint64_t count);
/* The entry with the least count; NULL while there is room. */
const struct lab_heap_entry *lab_heap_least(const struct lab_heap *heap);
/* key is not there. Takes the place of the least entry when there is no room. */
void lab_heap_put(struct lab_heap *heap, const struct lab_key *key, uint64_t count);
uint32_t lab_heap_cnt(const struct lab_heap *heap);
/* index < count; in no order. */
const struct lab_heap_entry *lab_heap_at(const struct lab_heap *heap, uint32_t index);
void lab_heap_clear(struct lab_heap *heap);

#endif
