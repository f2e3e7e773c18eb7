/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of the module's chain, beside those that the same core makes of the same windows
 * here: each element of PATH, TUPLE and DEFINE is a line, and lines of a type must be equal one by
 * one.
 *
 * Workload: some ten thousand lines a CPU. One owner; memory for the whole run.
 */
#ifndef VM_LINES_H
#define VM_LINES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/kmod_abi.h"

#define LINES_MAX 65536 /* of a type and CPU */

struct line {
	uint64_t words[3];
};

struct lines {
	struct line *line; /* LINES_MAX */
	uint32_t cnt;
};

/* One side of one CPU. */
struct side {
	struct lines of[PATHPROF_RECORD_CNT];
};

static inline void line_add(struct side *side, uint32_t type, uint64_t a, uint64_t b, uint64_t c)
{
	struct lines *lines = &side->of[type];

	if (!lines->line)
		lines->line = calloc(LINES_MAX, sizeof(*lines->line));
	if (lines->line && lines->cnt < LINES_MAX)
		lines->line[lines->cnt++] = (struct line){{a, b, c}};
}

static inline void side_clear(struct side *side)
{
	for (uint32_t type = 0; type < PATHPROF_RECORD_CNT; type++)
		side->of[type].cnt = 0;
}

/* The counts of a PATH or TUPLE record. */
static inline void line_add_record(struct side *side, const struct pathprof_record *record)
{
	const uint64_t *words = (const void *)(record + 1);
	uint32_t cnt = (record->size_bytes - (uint32_t)sizeof(*record)) / 24;

	for (uint32_t i = 0; i < cnt; i++)
		line_add(side, record->type, words[3 * i], words[3 * i + 1], words[3 * i + 2]);
}

static inline uint64_t side_cnt(const struct side *side)
{
	uint64_t cnt = 0;

	for (uint32_t type = 0; type < PATHPROF_RECORD_CNT; type++)
		cnt += side->of[type].cnt;
	return cnt;
}

/* Lines that differ, missing ones included. The first few are printed when told so. */
static inline uint64_t side_differences(const struct side *made, const struct side *seen,
					int verbose)
{
	uint64_t cnt = 0;

	for (uint32_t type = 0; type < PATHPROF_RECORD_CNT; type++) {
		const struct lines *a = &made->of[type], *b = &seen->of[type];
		uint32_t both = a->cnt < b->cnt ? a->cnt : b->cnt;

		if (a->cnt != b->cnt && verbose)
			fprintf(stderr, "type %u: %u made, %u seen\n", type, a->cnt, b->cnt);
		cnt += a->cnt + b->cnt - 2 * (uint64_t)both;
		for (uint32_t i = 0; i < both; i++) {
			if (!memcmp(&a->line[i], &b->line[i], sizeof(a->line[i])))
				continue;
			if (verbose && cnt < 5)
				fprintf(stderr,
					"type %u line %u: %llx %llx %llu, seen %llx %llx %llu\n",
					type, i, (unsigned long long)a->line[i].words[0],
					(unsigned long long)a->line[i].words[1],
					(unsigned long long)a->line[i].words[2],
					(unsigned long long)b->line[i].words[0],
					(unsigned long long)b->line[i].words[1],
					(unsigned long long)b->line[i].words[2]);
			cnt++;
		}
	}
	return cnt;
}

#endif
