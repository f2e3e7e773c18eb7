/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heaviest call chains that lead to a path: a part of `show`. */
#ifndef CTL_SHOW_CALLERS_H
#define CTL_SHOW_CALLERS_H

#include <stdio.h>

#include "../view/callers.h"
#include "../view/view.h"

#define SHOW_CALLERS_MAX 3

/* A line each; nothing where none is known. What cannot be read is told. */
void show_callers_print(FILE *out, struct view_query *query, const struct pathprof_path_row *path);
/* The same, an array of them with all their frames, from the caller outwards. */
json_t *show_callers_json(struct view_query *query, const struct pathprof_path_row *path);

#endif
