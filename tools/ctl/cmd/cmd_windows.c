// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl windows: the profile windows stored, newest first, those of the future last. */
#include "../ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/future.h"
#include "../view/view.h"
#include "../view/window_text.h"

static void add_cells(struct view_query *query, const struct pathprof_window_row *row)
{
	const struct pathprof_totals *totals = &row->totals;
	_cleanup_free_ char *drops = window_drops_text(totals);
	char text[32];

	table_row(query->table, row->id);
	table_cell(query->table, CTL_PLAIN, "%" PRId64, row->id);
	table_cell(query->table, CTL_PLAIN, "%s", text_time(text, sizeof(text), row->begin_ns));
	table_cell(query->table, CTL_PLAIN, "%s",
		   text_duration(text, sizeof(text), row->end_ns - row->begin_ns));
	table_cell(query->table, CTL_PLAIN, "%s", window_source_name(row));
	table_cell(query->table, CTL_PLAIN, "%s", window_basis_name(row));
	table_cell(query->table, CTL_PLAIN, "%s", window_kind_name(row));
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->clock_samples);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->bursts);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->branches);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->paths);
	table_cell(query->table, CTL_PLAIN, "%.2f%%", 100 * window_held_ratio(row));
	table_cell(query->table, CTL_DIM, "%s", drops);
}

static int add(void *context, const struct pathprof_window_row *row)
{
	struct view_query *query = context;

	if (query->json)
		json_rows_add(query->json, window_json(row));
	else
		add_cells(query, row);
	return 0;
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	int r = pathprof_store_windows(query->store, &query->filter, add, query, error);

	if (r == 0)
		future_tell(query->store, &query->filter);
	return r;
}

static const struct table_column columns[] = {
	{"ID", TABLE_RIGHT},
	{"BEGIN", 0},
	{"LENGTH", TABLE_RIGHT},
	{"SOURCE", 0},
	{"BASIS", 0},
	{"KIND", 0},
	{"CLOCK", TABLE_RIGHT | TABLE_SPARE},
	{"BURSTS", TABLE_RIGHT},
	{"BRANCHES", TABLE_RIGHT},
	{"PATHS", TABLE_RIGHT},
	{"HELD", TABLE_RIGHT},
	{"DROPS", TABLE_SHRINK | TABLE_SPARE | TABLE_LIST},
};

const struct view view_windows = {
	.name = "windows",
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.mixes_kinds = true,
	.rows = rows,
};

int cmd_windows(const struct ctl_options *options)
{
	return view_verb(&view_windows, options, 0);
}
