/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of one build-id whose code lies elsewhere in the file. Tools such as patchelf move a
 * program's code within its file and leave its build-id and its addresses as they are, and a store
 * has places as offsets in the file.
 *
 * Two such files that are at hand under the names that were recorded are found to differ, and a
 * place in one is told in the other by its address (layout_of). Where only one of them is at hand,
 * as after patchelf in place, paths that its code does not have are reported (fit_...).
 *
 * Workload: each binary of a profile once, then each of its places. One thread.
 */
#ifndef CTL_LAYOUT_H
#define CTL_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/store.h"
#include "symbols.h"

struct layout;

/*
 * The file of that name, if the first file of this build-id that was asked for in this run has its
 * code elsewhere; it is said once, and *ret_first is that file's name. Else NULL. Both live until
 * the program ends.
 */
const struct layout *layout_of(const struct pathprof_build_id *id, const char *name,
			       const char **ret_first);
/* The place in the first file of the code at offset; offset itself if layout is NULL or it is no
 * code. */
uint64_t layout_place(const struct layout *layout, uint64_t offset);

struct fit_binary;
/* Zeroed but for the symbols, which outlive it. */
struct fit {
	struct symbols *symbols; /* NULL: nothing is looked at */
	struct fit_binary *binaries;
	size_t binary_cnt;
};

/* To be called with the heaviest first: only so many of each binary whose code is available are
 * checked. */
void fit_path(struct fit *fit, const struct pathprof_path_row *row);
void fit_edge(struct fit *fit, const struct pathprof_edge_row *row);
/* The first binary with too many samples that do not fit its code, or NULL. */
const char *fit_misfit(const struct fit *fit);
/* Reports each such binary, once in a run. */
void fit_tell(const struct fit *fit);
void fit_release(struct fit *fit);

#endif
