/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinned baselines: profile files NAME.baseline in one directory, read when the directory changes.
 *
 * A binary's counts are those of the container asked for; where the file has the binary, but not in
 * this container, those of all its containers together. Where it has another build of that path
 * only, and carries the names of its paths, that build is compared by them.
 *
 * Workload: a few files of some hundred thousand counts, read now and then, asked for 200 times a
 * window. Files come from people: one that cannot be read is told once and passed over. One owner.
 */
#ifndef PP_PINNED_H
#define PP_PINNED_H

#include <stdint.h>
#include <sys/stat.h>

#include "../config/config.h"
#include "counts.h"
#include "portable.h"

#define PP_PINNED_MAX        8
#define PP_PINNED_EVENTS_MAX (1u << 20) /* of one file */

struct pp_pinned_part {
	struct pathprof_build_id id;
	uint64_t group;
	char *name;      /* of the binary */
	char *container; /* NULL: all together */
	struct pp_counts counts;
	/* Read when it is first asked for by another build, functions NULL when there are none. */
	struct pp_portable *portable;
};

struct pp_pinned_file {
	char name[PP_CONFIG_NAME_MAX];
	struct pp_pinned_part *parts;
	uint32_t part_cnt;
};

struct pp_pinned {
	char directory[PP_CONFIG_PATH_MAX];
	struct timespec read; /* time of change of the directory that was read; 0: none */
	enum pathprof_window_kind
		kind; /* those made of other windows are passed over; ANY: none is */
	struct pp_pinned_file files[PP_PINNED_MAX];
	uint32_t file_cnt;
};

/* Reads again what changed. */
void pp_pinned_refresh(struct pp_pinned *pinned);
/* The kind of the windows to come: the next refresh reads anew when it changes. */
void pp_pinned_set_kind(struct pp_pinned *pinned, enum pathprof_window_kind kind);
/*
 * Of this build (its group) or else of another one of that path, with portable names. NULL: no such
 * baseline, or neither is in it. Valid until the next refresh.
 */
const struct pp_pinned_part *pp_pinned_part(struct pp_pinned *pinned, const char *name,
					    uint64_t group, const char *binary,
					    const char *container);
void pp_pinned_release(struct pp_pinned *pinned);

#endif
