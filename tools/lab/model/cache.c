// SPDX-License-Identifier: GPL-2.0-or-later
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 32
/* A run of instructions without a branch is shorter; more is a gap in the trace. */
#define FETCH_MAX_BYTES (1u << 20)

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

int lab_cache_init(struct lab_cache *cache, uint32_t size_bytes, uint32_t ways, uint32_t line_bytes)
{
	uint64_t *lines;

	if (!is_power(size_bytes) || !is_power(ways) || !is_power(line_bytes) ||
	    size_bytes / line_bytes < ways)
		return -EINVAL;
	lines = calloc(size_bytes / line_bytes, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	*cache = (struct lab_cache){.lines = lines,
				    .set_mask = size_bytes / line_bytes / ways - 1,
				    .ways = ways,
				    .line_shift = (uint32_t)__builtin_ctz(line_bytes)};
	return 0;
}

void lab_cache_release(struct lab_cache *cache)
{
	free(cache->lines);
	cache->lines = NULL;
}

bool lab_cache_access(struct lab_cache *cache, uint64_t address)
{
	uint64_t line = address >> cache->line_shift;
	uint64_t *set = &cache->lines[(line & cache->set_mask) * cache->ways];
	uint32_t way = 0;
	bool hit;

	while (way < cache->ways - 1 && set[way] != line + 1)
		way++;
	hit = set[way] == line + 1;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = line + 1;
	return hit;
}

int lab_memory_init(struct lab_memory *memory)
{
	struct lab_memory m = {0};

	if (lab_cache_init(&m.l1i, 32u << 10, 1, LINE_BYTES) < 0 ||
	    lab_cache_init(&m.l1d, 32u << 10, 1, LINE_BYTES) < 0 ||
	    lab_cache_init(&m.l2, 512u << 10, 4, LINE_BYTES) < 0) {
		lab_memory_release(&m);
		return -ENOMEM;
	}
	*memory = m;
	return 0;
}

void lab_memory_release(struct lab_memory *memory)
{
	lab_cache_release(&memory->l1i);
	lab_cache_release(&memory->l1d);
	lab_cache_release(&memory->l2);
}

static uint32_t touch(struct lab_memory *memory, struct lab_cache *l1, uint64_t first,
		      uint64_t last)
{
	uint32_t misses = 0;

	for (uint64_t line = first / LINE_BYTES; line <= last / LINE_BYTES; line++) {
		if (lab_cache_access(l1, line * LINE_BYTES))
			continue;
		memory->l1_misses++;
		misses += !lab_cache_access(&memory->l2, line * LINE_BYTES);
	}
	memory->l2_misses += misses;
	return misses;
}

uint32_t lab_memory_fetch(struct lab_memory *memory, uint64_t first, uint64_t last)
{
	if (last < first || last - first >= FETCH_MAX_BYTES)
		first = last;
	return touch(memory, &memory->l1i, first, last);
}

uint32_t lab_memory_access(struct lab_memory *memory, uint64_t address, uint32_t size_bytes)
{
	uint64_t last = address + (size_bytes ? size_bytes - 1 : 0);

	return touch(memory, &memory->l1d, address, last < address ? address : last);
}
