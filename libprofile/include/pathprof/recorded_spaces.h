/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The processes of a recording: what each had mapped at the time that has come, and what it is
 * called. Records come in the order of time, so nothing is remembered of what went.
 *
 * A process is known by its *number*: another one after each exec. A number stays good until
 * pathprof_recorded_spaces_expire(), whoever has ended meanwhile, so that counts may be kept by it.
 * A process whose first thread has ended is known until its pid is given away or its room is
 * needed. The *generation* changes when other code lies where code was; a fork shares its parent's
 * until one of the two changes, as it shares the mappings.
 *
 * Which file a mapping belongs to, if any, is decided here for both `import` and
 * `export --recording`, by the rules of pathprof/mapped.h.
 *
 * Workload: some thousand processes, each with some hundred mappings; asked once a sample, and once
 * for each page of code that is new. All that is kept takes PATHPROF_RECORDED_SPACES_BYTES_MAX at
 * most, whatever a recording claims; what is beyond is left out and counted. One thread.
 */
#ifndef PATHPROF_RECORDED_SPACES_H
#define PATHPROF_RECORDED_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/space.h"
#include "pathprof/recording.h"

/* 100,000 processes that were forked, 20,000 with some mappings of their own. */
#define PATHPROF_RECORDED_SPACES_BYTES_MAX (14u << 20)

struct pathprof_recorded_space {
	uint32_t pid, exec_cnt;
	uint32_t next;       /* number + 1 of the next of the same bucket; 0: the last */
	uint32_t generation; /* of its mappings */
	uint64_t start_time; /* clock ticks; 0: it ran before the recording */
	struct pathprof_space *space;
	struct pathprof_mapped_file *exe;
	bool used;    /* something was counted of it */
	bool current; /* false: its pid is another process or program by now */
	bool ended;   /* its first thread did, and nothing was asked of the pid since */
	bool live;    /* the entry is taken */
	bool marked;  /* a file with a mark was mapped */
	char comm[16];
};

struct pathprof_recorded_spaces;

/* The place of an address. */
struct pathprof_space_place {
	const struct pathprof_mapped_file
		*file;       /* NULL: generated code, whose offset is its address */
	uint64_t start, end; /* of the mapping */
	uint64_t offset;     /* of start in the file */
};

/* Counts of what was left out. */
struct pathprof_recorded_spaces_left {
	uint64_t mappings;  /* beyond the bounds, or malformed */
	uint64_t processes; /* there was no room for */
};

/* -ENOMEM. */
int pathprof_recorded_spaces_new(struct pathprof_recorded_spaces **ret_spaces);
/* NULL-safe. */
void pathprof_recorded_spaces_free(struct pathprof_recorded_spaces *spaces);

/* mark: of the file, 0 for none; always the same for its name and build-id. -ENOMEM; -EINVAL and
 * -ENOSPC are counted. */
int pathprof_recorded_spaces_map(struct pathprof_recorded_spaces *spaces,
				 const struct pathprof_recorded_mapping *mapping, uint32_t mark);
/* -ENOMEM; -ENOSPC is counted. */
int pathprof_recorded_spaces_change(struct pathprof_recorded_spaces *spaces,
				    const struct pathprof_recorded_process *change);

/* The number pid has now, given out when it was not known. -ENOSPC, -ENOMEM. */
int pathprof_recorded_spaces_find(struct pathprof_recorded_spaces *spaces, uint32_t pid,
				  uint32_t *ret_number);
/* NULL: nothing is known of the pid. Valid until the next call that is no look-up. */
const struct pathprof_recorded_space *
pathprof_recorded_spaces_look(struct pathprof_recorded_spaces *spaces, uint32_t pid);
/* Valid until the next call that is no look-up. */
struct pathprof_recorded_space *pathprof_recorded_spaces_at(struct pathprof_recorded_spaces *spaces,
							    uint32_t number);
/* -ENOENT: nothing is known to lie there. */
int pathprof_recorded_spaces_place(const struct pathprof_recorded_spaces *spaces, uint32_t number,
				   uint64_t address, struct pathprof_space_place *ret_place);

/* Nothing is kept by the number of one that ended any more. */
void pathprof_recorded_spaces_expire(struct pathprof_recorded_spaces *spaces);

void pathprof_recorded_spaces_stats(const struct pathprof_recorded_spaces *spaces,
				    struct pathprof_recorded_spaces_left *ret_stats);

#endif
