/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a recording: what each had mapped at the time that has come, and what it is
 * called. Records come in the order of time, so nothing is remembered of what went.
 *
 * A process is known by its *number*: another one after each exec. A number stays good until
 * pp_import_spaces_expire(), whoever has ended meanwhile, so that counts may be kept by it. The
 * *generation* changes when other code lies where code was; a fork shares its parent's until one of
 * the two changes, as it shares the mappings.
 *
 * Workload: some thousand processes, each with some hundred mappings; asked once a sample, and once
 * for each page of code that is new. Bounded by PP_IMPORT_PROCESS_MAX and the bounds of
 * track_space.h. One thread.
 */
#ifndef PP_IMPORT_SPACE_H
#define PP_IMPORT_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "../track/track_space.h"
#include "pathprof/recording.h"

#define PP_IMPORT_PROCESS_MAX 32768

struct pp_import_process {
	uint32_t pid, exec_cnt;
	uint32_t next;       /* number + 1 of the next of the same bucket; 0: the last */
	uint32_t generation; /* of its mappings */
	uint64_t start_time; /* clock ticks; 0: it ran before the recording */
	struct pp_space *space;
	struct pp_file *exe;
	bool used;    /* something was counted of it */
	bool current; /* false: it ended, or is another program by now */
	bool live;    /* the entry is taken */
	char comm[16];
};

struct pp_import_spaces;

/* Where an address lies. */
struct pp_import_place {
	const struct pp_file *file; /* NULL: generated code, whose offset is its address */
	uint64_t start, end;        /* of the mapping */
	uint64_t offset;            /* of start in the file */
};

/* What was left out. */
struct pp_import_space_stats {
	uint64_t mappings;  /* beyond the bounds, or malformed */
	uint64_t processes; /* there was no room for */
};

/* -ENOMEM. */
int pp_import_spaces_new(struct pp_import_spaces **ret_spaces);
/* NULL-safe. */
void pp_import_spaces_free(struct pp_import_spaces *spaces);

void pp_import_spaces_map(struct pp_import_spaces *spaces,
			  const struct pathprof_recorded_mapping *mapping);
void pp_import_spaces_change(struct pp_import_spaces *spaces,
			     const struct pathprof_recorded_process *change);

/* The number pid has now, given out when it was not known. -ENOSPC, -ENOMEM. */
int pp_import_spaces_find(struct pp_import_spaces *spaces, uint32_t pid, uint32_t *ret_number);
/* Valid until the next call that is no look-up. */
struct pp_import_process *pp_import_spaces_at(struct pp_import_spaces *spaces, uint32_t number);
/* -ENOENT: nothing is known to lie there. */
int pp_import_spaces_place(const struct pp_import_spaces *spaces, uint32_t number, uint64_t address,
			   struct pp_import_place *ret_place);

/* Nothing is kept by the number of one that ended any more. */
void pp_import_spaces_expire(struct pp_import_spaces *spaces);

void pp_import_spaces_stats(const struct pp_import_spaces *spaces,
			    struct pp_import_space_stats *ret_stats);

#endif
