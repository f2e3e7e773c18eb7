// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl binaries: the code files seen. */
#include "ctl.h"

#include <inttypes.h>

#include "text.h"
#include "view.h"

static void add_cells(struct view_query *query, const struct pathprof_binary_row *row)
{
	char hex[PATHPROF_BUILD_ID_TEXT_LEN], when[32];

	table_row(query->table, row->id);
	view_share_cells(query, row->share, row->samples);
	table_cell(query->table, CTL_NAME, "%s", row->name);
	table_cell(query->table, CTL_PLAIN, "%s", pathprof_build_id_text(&row->binary_id, hex));
	table_cell(query->table, CTL_DIM, "%s", text_time(when, sizeof(when), row->first_seen_ns));
	table_cell(query->table, CTL_DIM, "%s", text_time(when, sizeof(when), row->last_seen_ns));
}

static void add_json(struct view_query *query, const struct pathprof_binary_row *row)
{
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	view_share_members(query, object, row->share, row->samples, row->weight);
	json_add_binary(object, "binary", &row->binary_id, row->name);
	json_add_ns(object, "first_seen_ns", row->first_seen_ns);
	json_add_ns(object, "last_seen_ns", row->last_seen_ns);
	json_rows_add(query->json, object);
}

static int add(void *context, const struct pathprof_binary_row *row)
{
	struct view_query *query = context;

	if (query->json)
		add_json(query, row);
	else
		add_cells(query, row);
	return 0;
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	return pathprof_store_binaries(query->store, &query->filter, add, query, error);
}

static const struct table_column columns[] = {
	VIEW_SHARE_COLUMNS,          {"BINARY", TABLE_SHRINK},   {"BUILD-ID", TABLE_SHRINK},
	{"FIRST SEEN", TABLE_SPARE}, {"LAST SEEN", TABLE_SPARE},
};

const struct view view_binaries = {
	.name = "binaries",
	.key = 'b',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.rows = rows,
};

int cmd_binaries(const struct ctl_options *options)
{
	return view_verb(&view_binaries, options, 0);
}
