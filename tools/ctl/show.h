/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One path in full: for `show` and for the live screen. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include "view.h"

/*
 * Writes path id as text, or as one JSON object when json. query's store, symbols and filter are
 * used. -ENOENT when there is no such path, error filled.
 */
int show_path(FILE *out, struct view_query *query, int64_t id, bool json,
	      struct pathprof_error *error);

#endif
