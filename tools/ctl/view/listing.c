// SPDX-License-Identifier: GPL-2.0-or-later
/* A list as a table or as JSON: see listing.h. */
#include "listing.h"

#include <stdio.h>

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
	table_release(&listing->table);
}
