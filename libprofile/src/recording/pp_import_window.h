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

#include "pathprof/import.h"
#include "pathprof/paths.h"
#include "pathprof/profile.h"
#include "pathprof/recorded_spaces.h"
#include "pp_import_image.h"

struct pp_import_window {
	struct pathprof_profile profile;
	const struct pathprof_import_files *files;
	struct pp_import_images *images;
	struct pathprof_recorded_spaces *spaces;
};

void pp_import_window_add_edge(struct pp_import_window *window, uint32_t process, uint64_t from,
			       uint64_t to, uint64_t cnt, uint64_t mispredicted);
/* Seen so often, each time with the path's weight. */
void pp_import_window_add_path(struct pp_import_window *window, uint32_t process,
			       const struct pathprof_path_seen *path, uint64_t cnt);

#endif
