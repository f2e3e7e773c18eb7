/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The window that an import fills: counts come by the number of their process
 * (pathprof/recorded_spaces.h) and by image addresses (pp_import_image.h), and go into a profile by
 * process, binary and file offset.
 *
 * Workload: some 10,000 counts a window. What has no place is counted in the profile's drops. One
 * thread; all but the profile is the import's.
 */
#ifndef PP_IMPORT_WINDOW_H
#define PP_IMPORT_WINDOW_H

#include "base/table.h"
#include "pathprof/import.h"
#include "pathprof/paths.h"
#include "pathprof/profile.h"
#include "pathprof/recorded_spaces.h"
#include "pp_import_image.h"

/* Code that ran straight on from `start`, where the branch at `from` led; by image addresses. */
struct pp_import_range {
	uint64_t from, start, last, cnt;
};

struct pp_import_window {
	struct pathprof_profile profile;
	bool has_binary;        /* of the image that was asked for last: its index there */
	uint32_t image, binary; /* most often it is asked for again */
	struct pp_import_range *ranges;
	uint32_t range_cnt, range_room;
	bool ranges_lost;                /* there was no memory for some */
	uint64_t seed;                   /* addresses are chosen by those who were profiled */
	struct pp_table range_table;     /* of their numbers */
	struct pathprof_ranges found;    /* what they are, once the window closes */
	struct pathprof_range_row *rows; /* of it */
	const struct pathprof_import_files *files;
	struct pp_import_images *images;
	struct pathprof_recorded_spaces *spaces;
};

void pp_import_window_add_edge(struct pp_import_window *window, uint32_t process, uint64_t from,
			       uint64_t to, uint64_t cnt, uint64_t mispredicted);
/* Seen so often, each time with the path's weight. */
void pp_import_window_add_path(struct pp_import_window *window, uint32_t process,
			       const struct pathprof_path_seen *path, uint64_t cnt);
/* The same of a segment. */
void pp_import_window_add_segment(struct pp_import_window *window, uint32_t process,
				  const struct pathprof_segment_seen *segment, uint64_t cnt);
void pp_import_window_add_range(struct pp_import_window *window, uint64_t from, uint64_t start,
				uint64_t last, uint64_t cnt);
/* Fills in `found`, which lasts until the window is cleared. -ENOMEM. */
int pp_import_window_find_ranges(struct pp_import_window *window);
/* For the next window. */
void pp_import_window_clear(struct pp_import_window *window);
void pp_import_window_release(struct pp_import_window *window);

#endif
