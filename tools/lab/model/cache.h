/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caches of EOPP table 5.3: two direct-mapped L1 caches of 32 KiB with lines of 32 bytes, one
 * for instructions and one for data, and a shared 4-way L2 of 512 KiB. The model tells hits from
 * misses and holds no data.
 *
 * The thesis leaves these open; we chose: the least recently used line is replaced, stores
 * allocate, writing a line back costs nothing, addresses are virtual, nothing is prefetched, and a
 * line of the L1 need not be in the L2.
 *
 * Workload: one look-up for each load and store and each line of instructions. One owner.
 */
#ifndef LAB_CACHE_H
#define LAB_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct lab_cache {
	uint64_t *lines; /* [sets][ways], most recent first; line number + 1, 0 is empty */
	uint32_t set_mask;
	uint32_t ways;
	uint32_t line_shift; /* log2 of a line's bytes */
};

/* All three are powers of two and size >= ways * line. -EINVAL, -ENOMEM. */
int lab_cache_init(struct lab_cache *cache, uint32_t size_bytes, uint32_t ways,
		   uint32_t line_bytes);
void lab_cache_release(struct lab_cache *cache);
/* Returns true for a hit. After a miss the line is in the cache. */
bool lab_cache_access(struct lab_cache *cache, uint64_t address);

struct lab_memory {
	struct lab_cache l1i, l1d, l2;
	uint64_t l1_misses, l2_misses;
};

/* -ENOMEM. */
int lab_memory_init(struct lab_memory *memory);
void lab_memory_release(struct lab_memory *memory);
/* Fetches the instructions from first to last, both included. Returns the misses in the L2. */
uint32_t lab_memory_fetch(struct lab_memory *memory, uint64_t first, uint64_t last);
/* Makes a load or store. Returns the misses in the L2, at most one for each line. */
uint32_t lab_memory_access(struct lab_memory *memory, uint64_t address, uint32_t size_bytes);

#endif
