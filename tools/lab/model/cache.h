/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caches of EOPP table 5.3: 32 KiB direct-mapped L1 for instructions and for data with lines of
 * 32 bytes, behind both a 512 KiB 4-way L2. They tell hits from misses and hold no data.
 *
 * Chosen where the thesis is silent: least recently used is replaced, stores allocate, lines that
 * are written back cost nothing, addresses are virtual, nothing is prefetched, and the L1 need not
 * be part of the L2.
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
/* true: a hit. Else the line is there afterwards. */
bool lab_cache_access(struct lab_cache *cache, uint64_t address);

struct lab_memory {
	struct lab_cache l1i, l1d, l2;
	uint64_t l1_misses, l2_misses;
};

/* -ENOMEM. */
int lab_memory_init(struct lab_memory *memory);
void lab_memory_release(struct lab_memory *memory);
/* Instructions from one address to another, both included. Returns the misses in the L2. */
uint32_t lab_memory_fetch(struct lab_memory *memory, uint64_t first, uint64_t last);
/* A load or store. Returns the misses in the L2, one for each line at most. */
uint32_t lab_memory_access(struct lab_memory *memory, uint64_t address, uint32_t size_bytes);

#endif
