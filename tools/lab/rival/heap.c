// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"

#define NONE UINT32_MAX

struct node {
	struct lab_heap_entry entry; /* first: an entry's address is its node's */
	uint32_t next;               /* in its chain */
	uint32_t place;              /* in order[] */
};

struct lab_heap {
	uint32_t capacity, cnt, bucket_cnt;
	struct node *node;
	uint32_t *order; /* a binary heap of nodes, least count first */
	uint32_t *bucket;
};

struct lab_heap *lab_heap_new(uint32_t capacity)
{
	struct lab_heap *h = lab_rival_alloc(1, sizeof(*h));

	h->capacity = capacity;
	h->bucket_cnt = 2 * capacity;
	h->node = lab_rival_alloc(capacity, sizeof(*h->node));
	h->order = lab_rival_alloc(capacity, sizeof(*h->order));
	h->bucket = lab_rival_alloc(h->bucket_cnt, sizeof(*h->bucket));
	lab_heap_clear(h);
	return h;
}

void lab_heap_free(struct lab_heap *heap)
{
	free(heap->node);
	free(heap->order);
	free(heap->bucket);
	free(heap);
}

void lab_heap_clear(struct lab_heap *heap)
{
	heap->cnt = 0;
	for (uint32_t i = 0; i < heap->bucket_cnt; i++)
		heap->bucket[i] = NONE;
}

static uint32_t *bucket_of(struct lab_heap *h, const struct lab_key *key)
{
	return &h->bucket[lab_hash_range(lab_key_hash(key, 1), h->bucket_cnt)];
}

struct lab_heap_entry *lab_heap_find(struct lab_heap *heap, const struct lab_key *key)
{
	for (uint32_t i = *bucket_of(heap, key); i != NONE; i = heap->node[i].next)
		if (lab_key_same(&heap->node[i].entry.key, key))
			return &heap->node[i].entry;
	return NULL;
}

static uint64_t count_at(const struct lab_heap *h, uint32_t place)
{
	return h->node[h->order[place]].entry.count;
}

static void swap(struct lab_heap *h, uint32_t x, uint32_t y)
{
	uint32_t node = h->order[x];

	h->order[x] = h->order[y];
	h->order[y] = node;
	h->node[h->order[x]].place = x;
	h->node[h->order[y]].place = y;
}

static void sift_down(struct lab_heap *h, uint32_t place)
{
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= h->cnt)
			return;
		if (child + 1 < h->cnt && count_at(h, child + 1) < count_at(h, child))
			child++;
		if (count_at(h, place) <= count_at(h, child))
			return;
		swap(h, place, child);
		place = child;
	}
}

static void sift_up(struct lab_heap *h, uint32_t place)
{
	while (place && count_at(h, place) < count_at(h, (place - 1) / 2)) {
		swap(h, place, (place - 1) / 2);
		place = (place - 1) / 2;
	}
}

void lab_heap_raise(struct lab_heap *heap, struct lab_heap_entry *entry, uint64_t count)
{
	entry->count = count;
	sift_down(heap, ((struct node *)entry)->place);
}

const struct lab_heap_entry *lab_heap_least(const struct lab_heap *heap)
{
	return heap->cnt < heap->capacity ? NULL : &heap->node[heap->order[0]].entry;
}

static void unlink_node(struct lab_heap *h, uint32_t node)
{
	uint32_t *link = bucket_of(h, &h->node[node].entry.key);

	while (*link != node)
		link = &h->node[*link].next;
	*link = h->node[node].next;
}

static void link_node(struct lab_heap *h, uint32_t node, const struct lab_key *key, uint64_t count)
{
	uint32_t *bucket = bucket_of(h, key);

	h->node[node].entry = (struct lab_heap_entry){.key = *key, .count = count};
	h->node[node].next = *bucket;
	*bucket = node;
}

void lab_heap_put(struct lab_heap *heap, const struct lab_key *key, uint64_t count)
{
	uint32_t node = heap->cnt;

	if (heap->cnt == heap->capacity) {
		node = heap->order[0];
		unlink_node(heap, node);
		link_node(heap, node, key, count);
		sift_down(heap, 0);
		return;
	}
	link_node(heap, node, key, count);
	heap->order[heap->cnt] = node;
	heap->node[node].place = heap->cnt++;
	sift_up(heap, heap->node[node].place);
}

uint32_t lab_heap_cnt(const struct lab_heap *heap)
{
	return heap->cnt;
}

const struct lab_heap_entry *lab_heap_at(const struct lab_heap *heap, uint32_t index)
{
	return &heap->node[index].entry;
}
