/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list that a verb prints: a table for people, or rows of JSON as they come. The caller sets the
 * table's columns (table_init) before it begins, and fills `table` or `rows` by `json`.
 */
#ifndef CTL_LISTING_H
#define CTL_LISTING_H

#include <stdbool.h>

#include "../text/table.h"
#include "json.h"

struct listing {
	struct table table;
	struct json_rows rows;
	bool json;
};

void listing_begin(struct listing *listing);
/* Prints what has not been printed, and releases it. `nothing` stands for an empty table, or NULL.
 */
void listing_end(struct listing *listing, const char *nothing);

#endif
