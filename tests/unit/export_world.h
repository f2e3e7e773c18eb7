/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two functions (two_functions.h) as a file, its graph, and a branch profile of it. */
#ifndef EXPORT_WORLD_H
#define EXPORT_WORLD_H

#include <stdbool.h>

#include "pathprof/export.h"
#include "pprof.pb-c.h"

/* In the file; the text segment begins at this offset, its vaddr is WRITER_TEXT. */
#define EXPORT_WORLD_AT 0x1000

struct export_world {
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct pathprof_error error;
};

/* Symbols for both functions, for the first alone, for none. The others have a frame. */
enum export_world_names { EXPORT_WORLD_NAMED, EXPORT_WORLD_PARTLY_NAMED, EXPORT_WORLD_NAMELESS };

void export_world_begin(struct export_world *w);
void export_world_begin_as(struct export_world *w, enum export_world_names names);
void export_world_end(struct export_world *w);

/* By offsets in the text, or PATHPROF_OUTSIDE. */
void export_world_branch(struct export_world *w, uint64_t from, uint64_t to, uint64_t count,
			 uint64_t wrong);
void export_world_range(struct export_world *w, uint64_t start, uint64_t last, bool after_call,
			double weight);
void export_world_settle(struct export_world *w);
/* Begins, and settles: f called from outside, three times round, g called once. */
void export_world_fill(struct export_world *w);

/* The pprof profile that text is. Frees text; the caller frees the profile. */
PpPprof__Profile *export_world_pprof(char *text, size_t size);

#endif
