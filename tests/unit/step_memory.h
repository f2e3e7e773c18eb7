/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Four pages of memory with machine code, as the planner of stops reads a target's.
 */
#ifndef STEP_MEMORY_H
#define STEP_MEMORY_H

#include <string.h>

#include "../../daemon/step/step_code.h"

#define BASE     0x400000ull
#define PAGE     PP_STEP_PAGE_BYTES
#define PAGE_CNT 4
#define DATA     (BASE + 3 * PAGE)

static uint8_t step_memory[PAGE_CNT * PAGE];
static uint32_t readable_cnt; /* pages */

static size_t read_bytes(void *context, uint64_t address, void *to, size_t len_bytes)
{
	uint64_t end = BASE + readable_cnt * PAGE;

	if (address < BASE || address >= end)
		return 0;
	if (len_bytes > end - address)
		len_bytes = end - address;
	memcpy(to, step_memory + (address - BASE), len_bytes);
	return len_bytes;
}

static void clear(void)
{
	memset(step_memory, 0xcc, sizeof(step_memory));
	readable_cnt = PAGE_CNT;
}

static void put(uint32_t at, const uint8_t *code, size_t len_bytes)
{
	memcpy(step_memory + at, code, len_bytes);
}

#define PUT(at, ...) put(at, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_word(uint64_t address, uint64_t word)
{
	memcpy(step_memory + (address - BASE), &word, sizeof(word));
}

#endif
