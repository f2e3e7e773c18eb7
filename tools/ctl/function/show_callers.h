/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heaviest call chains that lead to a path: a part of `show`. */
#ifndef CTL_SHOW_CALLERS_H
#define CTL_SHOW_CALLERS_H

#include <stdio.h>

#include "../view/callers.h"
#include "../view/view.h"

#define SHOW_CALLERS_MAX 3

/* One line for each chain, nothing if none is known. Errors are printed. */
void show_callers_print(FILE *out, struct view_query *query, const struct pathprof_path_row *path);
/* The same as an array of chains with all their frames, the nearest caller first. */
json_t *show_callers_json(struct view_query *query, const struct pathprof_path_row *path);

#endif
