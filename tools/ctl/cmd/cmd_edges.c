// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl edges: branch edges for converters, `BUILDID FROM TO COUNT MISPREDICTED` with file
 * offsets in hex and no title line into a pipe. BUILDID is the one of FROM; a TO in another binary
 * is written BUILDID:OFFSET. The live screen shows the same edges with names. Windows of exact
 * counts (a trace, programs that count themselves) hold only paths, and a note says so.
 */
#include "../ctl.h"

#include <inttypes.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/view.h"

static void add_json(struct view_query *query, const struct pathprof_edge_row *row)
{
	json_t *object = json_object();

	json_add_binary(object, "from_binary", &row->from_id, row->from_name);
	json_add_hex(object, "from", row->from);
	json_add_binary(object, "to_binary", &row->to_id, row->to_name);
	json_add_hex(object, "to", row->to);
	json_add_count(object, "count", row->count);
	json_add_count(object, "mispredicted", row->mispredicted);
	json_add_real(object, "share", row->share);
	measure_members(&query->measure, object);
	json_rows_add(query->json, object);
}

static void add_line(struct view_query *query, const struct pathprof_edge_row *row)
{
	char from[PATHPROF_BUILD_ID_TEXT_LEN], to[PATHPROF_BUILD_ID_TEXT_LEN];

	table_row(query->table, 0);
	table_cell(query->table, CTL_DIM, "%s", pathprof_build_id_text(&row->from_id, from));
	table_cell(query->table, CTL_PLAIN, "0x%" PRIx64, row->from);
	if (pathprof_build_id_equal(&row->from_id, &row->to_id))
		table_cell(query->table, CTL_PLAIN, "0x%" PRIx64, row->to);
	else
		table_cell(query->table, CTL_PLAIN, "%s:0x%" PRIx64,
			   pathprof_build_id_text(&row->to_id, to), row->to);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, row->count);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, row->mispredicted);
}

static int add(void *context, const struct pathprof_edge_row *row)
{
	struct view_query *query = context;

	if (query->json)
		add_json(query, row);
	else
		add_line(query, row);
	return 0;
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	return pathprof_store_edges(query->store, &query->filter, add, query, error);
}

static const struct table_column columns[] = {
	{"BUILDID", TABLE_SHRINK},          {"FROM", TABLE_RIGHT},
	{"TO", TABLE_RIGHT | TABLE_SHRINK}, {"COUNT", TABLE_RIGHT},
	{"MISPREDICTED", TABLE_RIGHT},
};

const struct view view_edges_plain = {
	.name = "edges",
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.rows = rows,
	.bare_in_pipe = true,
	.nothing = nothing_branches_text,
};

static int add_named(void *context, const struct pathprof_edge_row *row)
{
	struct view_query *query = context;
	_cleanup_free_ char *from = NULL, *to = NULL;

	fit_edge(&query->fit, row);
	if (query->json) {
		add_json(query, row);
		return 0;
	}
	from = symbols_label(query->symbols, &row->from_id, row->from_name, row->from);
	to = symbols_label(query->symbols, &row->to_id, row->to_name, row->to);
	table_row(query->table, 0);
	table_cell(query->table, ctl_share_style(row->share), "%.2f%%", 100 * row->share);
	view_bar_cell(query, row->share);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, row->count);
	table_cell(query->table, CTL_NAME, "%s", from);
	table_cell(query->table, CTL_NAME, "%s", to);
	table_cell(query->table, CTL_DIM, "%s", text_base_name(row->from_name));
	return 0;
}

static int named_rows(struct view_query *query, struct pathprof_error *error)
{
	return pathprof_store_edges(query->store, &query->filter, add_named, query, error);
}

static const struct table_column named_columns[] = {
	{"SHARE", TABLE_RIGHT}, {"", TABLE_BARS},     {"COUNT", TABLE_RIGHT},
	{"FROM", TABLE_SHRINK}, {"TO", TABLE_SHRINK}, {"BINARY", TABLE_SHRINK | TABLE_SPARE},
};

const struct view view_edges = {
	.name = "edges",
	.key = 'e',
	.columns = named_columns,
	.column_cnt = sizeof(named_columns) / sizeof(named_columns[0]),
	.of_branches = true,
	.rows = named_rows,
	.nothing = nothing_branches_text,
};

int cmd_edges(const struct ctl_options *options)
{
	return view_verb(&view_edges_plain, options, 0);
}
