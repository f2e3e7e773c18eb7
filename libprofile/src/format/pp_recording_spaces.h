/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Where the processes of a recording have one binary mapped, at the time that has come: records are
 * in the order of time, so nothing is remembered of what went. A process without a mapping of the
 * binary is not kept at all.
 *
 * Workload: some thousand processes with one or two pieces each, asked for once a sample; place()
 * for both ends of each entry. A program that changes the protection of its text page by page has a
 * record for each page: pieces that continue one another in the file are one piece. All that is
 * kept takes at most PP_SPACE_BYTES_MAX, whatever a recording claims; what is beyond is refused.
 * The object owns all it hands out. One owner, no locking.
 */
#ifndef PP_RECORDING_SPACES_H
#define PP_RECORDING_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/search.h"

/* Of processes and pieces, each with what an allocation of it takes: 100,000 small processes. */
#define PP_SPACE_BYTES_MAX     (8u << 20)
#define PP_SPACE_PROCESS_BYTES 56
#define PP_SPACE_PIECE_BYTES   sizeof(struct pp_space_piece)
#define PP_SPACE_BUCKETS       16384

/* In place of a file offset: not of this binary. */
#define PP_PLACE_NONE UINT32_MAX

/* [start, end) is the file from offset on. */
struct pp_space_piece {
	uint64_t start, end, offset;
};

struct pp_recording_space {
	uint32_t pid;
	uint32_t next; /* number + 1 of the next of the bucket, or of those free; 0: the last */
	uint32_t piece_cnt, room;
	struct pp_space_piece *pieces; /* by address; no two overlap */
};

struct pp_recording_spaces {
	struct pp_recording_space *list;
	uint32_t cnt, room, free; /* free: number + 1 of the first of the chain */
	uint32_t bytes;           /* of PP_SPACE_BYTES_MAX */
	uint32_t buckets[PP_SPACE_BUCKETS];
};

/* s all zero is empty. */
void pp_recording_spaces_release(struct pp_recording_spaces *s);
/* NULL: the binary is not mapped there. Valid until the next call that changes something. */
const struct pp_recording_space *pp_recording_spaces_find(const struct pp_recording_spaces *s,
							  uint32_t pid);
/* -EINVAL: no such mapping can be; -E2BIG: there is no room for another piece; -ENOSPC: for another
 * process; -ENOMEM. */
int pp_recording_spaces_map(struct pp_recording_spaces *s, uint32_t pid,
			    const struct pp_space_piece *piece);
/*
 * Something else lies there now. -E2BIG, -ENOMEM: there was no room for what is left of a piece on
 * its far side, which is forgotten.
 */
int pp_recording_spaces_unmap(struct pp_recording_spaces *s, uint32_t pid, uint64_t start,
			      uint64_t end);
/* The child has what the parent had. -ENOSPC, -ENOMEM. */
int pp_recording_spaces_fork(struct pp_recording_spaces *s, uint32_t pid, uint32_t parent);
/* An exec or an exit. */
void pp_recording_spaces_forget(struct pp_recording_spaces *s, uint32_t pid);

/* The first piece that ends behind an address, or piece_cnt. */
static inline uint32_t pp_recording_space_at(const struct pp_recording_space *space,
					     uint64_t address)
{
	return (uint32_t)pp_first(i, 0, space->piece_cnt, space->pieces[i].end > address);
}

/* The file offset at an address, or PP_PLACE_NONE. */
static inline uint32_t pp_recording_space_place(const struct pp_recording_space *space,
						uint64_t address)
{
	uint32_t at = pp_recording_space_at(space, address);
	const struct pp_space_piece *p = &space->pieces[at];

	if (at == space->piece_cnt || address < p->start)
		return PP_PLACE_NONE;
	return (uint32_t)(address - p->start + p->offset);
}

#endif
