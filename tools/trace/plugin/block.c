// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blocks of one process, each once however often it is translated: after a flush, or for
 * another way in, the emulator translates the same code again.
 *
 * Workload: up to a million, looked up once a translation; open addressing, at most half full.
 * Locking: plugin_lock(). Ownership: blocks live as long as the process, translated code points
 * at them.
 */
#include "plugin.h"

#include <stdlib.h>
#include <string.h>

#include "pathprof/trace_format.h"

#define SLAB_BLOCKS 1024

static struct block **table;
static size_t table_size, block_cnt;
static struct block *slab;
static size_t slab_left;

static size_t hash(const struct block *b)
{
	uint64_t h = b->as.start ^ (uint64_t)b->as.len_bytes << 48 ^ (uint64_t)b->as.module << 32;

	h *= 0x9e3779b97f4a7c15ull;
	return (size_t)(h ^ h >> 29);
}

static bool same(const struct block *x, const struct block *y)
{
	const struct pp_trace_block *a = &x->as, *b = &y->as;

	return a->start == b->start && a->len_bytes == b->len_bytes && a->kind == b->kind &&
	       a->target == b->target && a->module == b->module &&
	       a->last_offset == b->last_offset && a->insn_cnt == b->insn_cnt;
}

/* Returns the place of block, or the free place for it. The table always has a free place. */
static struct block **place_of(const struct block *block)
{
	size_t i = hash(block) & (table_size - 1);

	while (table[i] && !same(table[i], block))
		i = (i + 1) & (table_size - 1);
	return &table[i];
}

static bool grow(void)
{
	size_t old_size = table_size;
	struct block **old = table;

	table_size = old_size ? old_size * 2 : 1 << 14;
	table = calloc(table_size, sizeof(*table));
	if (!table) {
		table = old;
		table_size = old_size;
		return false;
	}
	for (size_t i = 0; i < old_size; i++)
		if (old[i])
			*place_of(old[i]) = old[i];
	free(old);
	return true;
}

static struct block *allocate(void)
{
	if (slab_left == 0) {
		slab = calloc(SLAB_BLOCKS, sizeof(*slab));
		if (!slab)
			return NULL;
		slab_left = SLAB_BLOCKS;
	}
	return &slab[--slab_left];
}

static void define(const struct block *block)
{
	const struct pp_trace_block *b = &block->as;
	struct pathprof_trace_block record = {
		.id = block->id,
		.module = b->module,
		.start = b->start,
		.target = b->target,
		.len_bytes = b->len_bytes,
		.last_offset = b->last_offset,
		.insn_cnt = b->insn_cnt,
		.kind = b->kind,
	};

	process_define(PATHPROF_TRACE_BLOCKS, &record, sizeof(record), NULL, 0);
}

/* The caller fills in all of *block but the id. */
struct block *block_intern(const struct block *block)
{
	struct block **place, *known, *made;

	if (block_cnt * 2 >= table_size && !grow())
		return NULL;
	place = place_of(block);
	known = *place;
	if (known)
		return known;
	made = allocate();
	if (!made)
		return NULL;
	*made = *block;
	made->as.is_handler = handler_is(made->as.start);
	made->id = __atomic_fetch_add(&plugin_share->next_block, 1, __ATOMIC_RELAXED);
	*place = made;
	block_cnt++;
	define(made);
	return made;
}

void block_mark_handler(uint64_t address)
{
	for (size_t i = 0; i < table_size; i++)
		if (table[i] && table[i]->as.start == address)
			table[i]->as.is_handler = true;
}

void block_forget_roots(void)
{
	for (size_t i = 0; i < table_size; i++)
		if (table[i])
			table[i]->root = 0;
}
