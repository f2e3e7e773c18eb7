/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The way between two taken branches, read from the code: from where one led to, straight on to the
 * next one. Conditional branches on it were not taken.
 *
 * Workload: once for every new pair, a few instructions each; the longest allowed is 64 KB.
 * Locking: none, one owner. Ownership: places stay those of who locates them.
 */
#ifndef PP_WAY_H
#define PP_WAY_H

#include <Zydis/Zydis.h>
#include <stdint.h>

#include "pathprof/reconstruct.h"

#define PP_WAY_BYTES_MAX 65536

/* A reader of ways, with the mapping that the last instruction was found in. */
struct pp_way_reader {
	pathprof_locate_fn *locate;
	void *context;
	struct pathprof_mapping_place place; /* start == end: none */
	ZydisDecoder decoder;
};

struct pp_way {
	struct pathprof_branch branches[PATHPROF_BURST_MAX]; /* those not taken */
	uint32_t cnt;
	uint32_t kind;   /* PERF_BR_* of the branch at its end */
	uint64_t target; /* of that one, when it is direct; else 0 */
};

void pp_way_reader_init(struct pp_way_reader *ret_reader, pathprof_locate_fn *locate,
			void *context);
/* Mappings have changed. */
void pp_way_reader_forget(struct pp_way_reader *reader);
/*
 * The way from the instruction at start to the branch at from, which may be the same. 0, or an enum
 * pathprof_refusal; *ret_way is filled only with 0.
 */
int pp_way_read(struct pp_way_reader *reader, uint64_t start, uint64_t from,
		struct pp_way *ret_way);

#endif
