/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinned baselines (pathprof/judge.h): files NAME.baseline in one directory, read when the
 * directory changes.
 *
 * Workload: a few files of some hundred thousand counts, read now and then, asked for 200 times a
 * window. Files come from people: one that cannot be read is told once and passed over. One owner.
 */
#ifndef PP_PINNED_H
#define PP_PINNED_H

#include <stdint.h>
#include <sys/stat.h>

#include "../shared/config.h"
#include "../shared/log.h"
#include "pathprof/judge.h"

#define PP_PINNED_MAX 8

struct pp_pinned_file {
	char name[PP_CONFIG_NAME_MAX];
	struct pathprof_pinned pinned;
};

struct pp_pinned {
	char directory[PP_CONFIG_PATH_MAX];
	struct timespec read; /* time of change of the directory that was read; 0: none */
	enum pathprof_window_kind
		kind; /* those made of other windows are passed over; ANY: none is */
	struct pp_pinned_file files[PP_PINNED_MAX];
	uint32_t file_cnt;
	struct pp_log_seen trouble; /* with the directory */
};

/* Reads again what changed. */
void pp_pinned_refresh(struct pp_pinned *pinned);
/* The kind of the windows to come: the next refresh reads anew when it changes. */
void pp_pinned_set_kind(struct pp_pinned *pinned, enum pathprof_window_kind kind);
/* Calls pathprof_pinned_baseline() for the baseline called name. Valid until the next refresh. */
struct pathprof_baseline pp_pinned_baseline(struct pp_pinned *pinned, const char *name,
					    uint64_t group, const char *binary,
					    const char *container);
void pp_pinned_release(struct pp_pinned *pinned);

#endif
