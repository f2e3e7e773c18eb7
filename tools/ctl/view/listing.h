/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list that a verb prints: a table for people, or rows of JSON as they come. The caller sets the
 * table's columns (table_init) before it begins, and fills `table` or `rows` by `json`.
 * listing_of_store() is a whole verb that has no operands.
 */
#ifndef CTL_LISTING_H
#define CTL_LISTING_H

#include <stdbool.h>

#include "../ctl.h"
#include "../text/table.h"
#include "json.h"

struct listing {
	struct table table;
	struct json_rows rows;
	char *footer; /* below the table, from malloc, the listing's; NULL: none */
	bool json;
};

void listing_begin(struct listing *listing);
/* Prints what has not been printed, and releases it. `nothing` stands for an empty table, or NULL.
 */
void listing_end(struct listing *listing, const char *nothing);

struct listing_verb {
	const char *name;
	const struct table_column *columns;
	size_t column_cnt;
	/* Adds all rows: 0 or a negative errno. */
	int (*fill)(struct listing *listing, struct pathprof_store *store,
		    const struct pathprof_filter *filter, struct pathprof_error *error);
	const char *nothing; /* printed if there is no row */
};
/* Opens the database of the options and prints the list. Returns CTL_OK, or a status after a
 * message. */
int listing_of_store(const struct listing_verb *verb, const struct ctl_options *options);

#endif
