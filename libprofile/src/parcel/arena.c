// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Memory for one message: some large columns and some hundred small structs, freed all at once. The
 * bound is what keeps a small hostile message from becoming a large one in memory.
 */
#include "pp_parcel.h"

#include <stdalign.h>
#include <stdlib.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGN_BYTES alignof(max_align_t)

struct pp_arena_chunk {
	struct pp_arena_chunk *next;
	size_t used_bytes, size_bytes;
	alignas(max_align_t) uint8_t bytes[];
};

static struct pp_arena_chunk *add_chunk(struct pp_arena *arena, size_t bytes)
{
	size_t size_bytes = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct pp_arena_chunk *chunk;

	if (size_bytes > arena->max_bytes - arena->taken_bytes)
		return NULL;
	chunk = calloc(1, sizeof(*chunk) + size_bytes);
	if (!chunk)
		return NULL;
	chunk->size_bytes = size_bytes;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->taken_bytes += size_bytes;
	return chunk;
}

void *pp_arena_take(struct pp_arena *arena, size_t cnt, size_t size)
{
	struct pp_arena_chunk *chunk = arena->chunks;
	size_t bytes;
	void *taken;

	if (__builtin_mul_overflow(cnt, size, &bytes) || bytes > arena->max_bytes) {
		arena->failed = true;
		return NULL;
	}
	bytes = (bytes + ALIGN_BYTES) / ALIGN_BYTES * ALIGN_BYTES; /* nothing has an address, too */
	if (!chunk || bytes > chunk->size_bytes - chunk->used_bytes)
		chunk = add_chunk(arena, bytes);
	if (!chunk) {
		arena->failed = true;
		return NULL;
	}
	taken = chunk->bytes + chunk->used_bytes;
	chunk->used_bytes += bytes;
	return taken;
}

void pp_arena_release(struct pp_arena *arena)
{
	while (arena->chunks) {
		struct pp_arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
	arena->taken_bytes = 0;
}

static void *take(void *arena, size_t bytes)
{
	return pp_arena_take(arena, 1, bytes);
}

static void keep(void *arena, void *pointer)
{
}

ProtobufCAllocator pp_arena_allocator(struct pp_arena *arena)
{
	return (ProtobufCAllocator){.alloc = take, .free = keep, .allocator_data = arena};
}
