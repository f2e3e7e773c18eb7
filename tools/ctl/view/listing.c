// SPDX-License-Identifier: GPL-2.0-or-later
/* A list as a table or as JSON: see listing.h. */
#include "listing.h"

#include <stdio.h>
#include <stdlib.h>

#include "../text/cleanup.h"

void listing_begin(struct listing *listing)
{
	if (listing->json)
		json_rows_begin(&listing->rows, stdout);
}

void listing_end(struct listing *listing, const char *nothing)
{
	if (listing->json)
		json_rows_end(&listing->rows);
	else if (listing->table.row_cnt)
		table_print(&listing->table, stdout, false);
	else if (nothing)
		puts(nothing);
	if (!listing->json && listing->footer)
		printf("\n%s\n", listing->footer);
	free(listing->footer);
	table_release(&listing->table);
}

int listing_of_store(const struct listing_verb *verb, const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct listing listing = {.json = options->json};
	struct pathprof_error error = {""};
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	table_init(&listing.table, verb->columns, verb->column_cnt);
	listing_begin(&listing);
	r = verb->fill(&listing, store, &options->filter, &error);
	listing_end(&listing, r == 0 ? verb->nothing : NULL);
	return r < 0 ? ctl_fail_error(verb->name, r, &error) : CTL_OK;
}
