/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One path in full: for `show` and for the live screen. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include "../view/view.h"
#include "target.h"

/*
 * Writes path id as text, or as one JSON object when json. query's store, symbols and filter are
 * used. With options its Ball-Larus number too, which takes the graph of its binary and so may take
 * seconds; NULL: without. -ENOENT when there is no such path, error filled.
 */
int show_path(FILE *out, struct view_query *query, const struct ctl_options *options, int64_t id,
	      bool json, struct pathprof_error *error);
/* The same of a path that was not seen, by its number. -ERANGE: it has no such number. */
int show_unseen(FILE *out, struct view_query *query, const struct target *target, uint64_t number,
		bool json);

#endif
