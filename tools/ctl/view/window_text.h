/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts about a window, for `windows` and for parcels. */
#ifndef CTL_WINDOW_TEXT_H
#define CTL_WINDOW_TEXT_H

#include <jansson.h>

#include "pathprof/store.h"

/* "?" for a name that is not known. */
const char *window_source_name(const struct pathprof_window_row *row);
const char *window_basis_name(const struct pathprof_window_row *row);
const char *window_kind_name(const struct pathprof_window_row *row);

/* "budget:120 gone:5", "-" when nothing was dropped. Caller frees. */
char *window_drops_text(const struct pathprof_totals *totals);
/* The time that targets were held, as a share of the window's length on one CPU. */
double window_held_ratio(const struct pathprof_window_row *row);
json_t *window_json(const struct pathprof_window_row *row);

#endif
