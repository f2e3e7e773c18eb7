/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Where the processes of a recording have one binary mapped, at the time that has come: records are
 * in the order of time, so nothing is remembered of what went. A process without a mapping of the
 * binary is not kept at all.
 *
 * Workload: some thousand processes with one or two mappings each, asked for once a sample; place()
 * for both ends of each entry. Bounded by the constants below; what is beyond is refused. The
 * object owns all it hands out. One owner, no locking.
 */
#ifndef PP_RECORDING_SPACES_H
#define PP_RECORDING_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#define PP_SPACE_PROCESS_MAX 32768
#define PP_SPACE_PIECE_MAX   8
#define PP_SPACE_BUCKETS     4096

/* In place of a file offset: not of this binary. */
#define PP_PLACE_NONE UINT32_MAX

/* [start, end) is the file from offset on. */
struct pp_space_piece {
	uint64_t start, end, offset;
};

struct pp_recording_space {
	uint32_t pid;
	uint32_t next; /* number + 1 of the next of the bucket, or of those free; 0: the last */
	uint32_t piece_cnt;
	struct pp_space_piece pieces[PP_SPACE_PIECE_MAX];
};

struct pp_recording_spaces {
	struct pp_recording_space *list;
	uint32_t cnt, room, free; /* free: number + 1 of the first of the chain */
	uint32_t buckets[PP_SPACE_BUCKETS];
};

/* s all zero is empty. */
void pp_recording_spaces_release(struct pp_recording_spaces *s);
/* NULL: the binary is not mapped there. Valid until the next call that changes something. */
const struct pp_recording_space *pp_recording_spaces_find(const struct pp_recording_spaces *s,
							  uint32_t pid);
/* -EINVAL: no such mapping can be; -E2BIG: more mappings of a process than there is room for;
 * -ENOSPC: more processes; -ENOMEM. */
int pp_recording_spaces_map(struct pp_recording_spaces *s, uint32_t pid,
			    const struct pp_space_piece *piece);
/* Something else lies there now. -E2BIG: what was left of a piece on both sides was too much. */
int pp_recording_spaces_unmap(struct pp_recording_spaces *s, uint32_t pid, uint64_t start,
			      uint64_t end);
/* Is all of [start, end) the binary there? */
bool pp_recording_spaces_holds(const struct pp_recording_spaces *s, uint32_t pid, uint64_t start,
			       uint64_t end);
/* The child has what the parent had. -ENOSPC, -ENOMEM. */
int pp_recording_spaces_fork(struct pp_recording_spaces *s, uint32_t pid, uint32_t parent);
/* An exec or an exit. */
void pp_recording_spaces_forget(struct pp_recording_spaces *s, uint32_t pid);

/* The file offset at an address, or PP_PLACE_NONE. */
static inline uint32_t pp_recording_space_place(const struct pp_recording_space *space,
						uint64_t address)
{
	for (uint32_t i = 0; i < space->piece_cnt; i++) {
		const struct pp_space_piece *p = &space->pieces[i];

		if (address - p->start < p->end - p->start)
			return (uint32_t)(address - p->start + p->offset);
	}
	return PP_PLACE_NONE;
}

#endif
