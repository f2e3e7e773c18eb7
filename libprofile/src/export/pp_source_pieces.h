/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Pieces of code by source position: neighbouring instructions that have the same position, inlined
 * functions included, and their counts. They go to viewers for people.
 *
 * Without debug information a piece has the symbol's name and no line; without a symbol binary and
 * offset of the function. Workload: once an export, in order of offset. Ownership: a piece is valid
 * in the callback; names are valid as long as the whole call.
 */
#ifndef PP_SOURCE_PIECES_H
#define PP_SOURCE_PIECES_H

#include "pathprof/inlines.h"
#include "pp_export.h"

#define PP_PIECE_FRAMES_MAX 64

struct pp_piece {
	uint64_t offset;
	const struct pathprof_source_frame *frames; /* the innermost first; at least one */
	uint32_t frame_cnt;
	uint64_t instructions; /* that ran */
	uint64_t branches, mispredicted;
	uint64_t time_ns; /* of CPU time, by the clock; 0 where none ran */
};

typedef int pp_piece_fn(void *context, const struct pp_piece *piece);
/* Pieces of which nothing ran, and that took no time, are passed over. -ENOMEM, or what fn returned
 * but 0. */
int pp_source_pieces_each(const struct pp_export *x, pp_piece_fn *fn, void *context);

#endif
