// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl paths: the hottest paths. */
#include "ctl.h"

#include <inttypes.h>

#include "cleanup.h"
#include "text.h"
#include "view.h"

#define DEFAULT_LIMIT 50

static void add_cells(struct view_query *query, const struct pathprof_path_row *row)
{
	char outcomes[TEXT_OUTCOMES_SIZE];
	_cleanup_free_ char *label =
		symbols_label(query->symbols, &row->binary_id, row->binary_name, row->start);

	table_row(query->table, row->id);
	view_share_cells(query, row->share, row->samples);
	table_cell(query->table, CTL_NAME, "%s", label);
	table_cell(query->table, CTL_PLAIN, "%" PRIu32, row->length);
	table_cell(query->table, CTL_PLAIN, "%s",
		   text_outcomes(outcomes, row->length, row->outcomes));
	table_cell(query->table, CTL_DIM, "%s", text_base_name(row->binary_name));
	table_cell(query->table, CTL_PLAIN, "%" PRId64, row->id);
}

static void add_json(struct view_query *query, const struct pathprof_path_row *row)
{
	const struct symbol *symbol =
		symbols_function(query->symbols, &row->binary_id, row->binary_name, row->start);
	char outcomes[TEXT_OUTCOMES_SIZE];
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	view_share_members(query, object, row->share, row->samples, row->weight);
	json_add_binary(object, "binary", &row->binary_id, row->binary_name);
	json_add_hex(object, "start", row->start);
	if (symbol->known)
		json_add_text(object, "function", symbol->linkage);
	else
		json_add(object, "function", json_null());
	json_add_hex(object, "function_start", symbol->start);
	json_add_count(object, "length", row->length);
	json_add_text(object, "outcomes",
		      row->length ? text_outcomes(outcomes, row->length, row->outcomes) : "");
	json_rows_add(query->json, object);
}

static int add(void *context, const struct pathprof_path_row *row)
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
	return pathprof_store_paths(query->store, &query->filter, add, query, error);
}

static const struct table_column columns[] = {
	VIEW_SHARE_COLUMNS,
	{"FUNCTION", TABLE_SHRINK},
	{"LENGTH", TABLE_RIGHT | TABLE_SPARE},
	{"OUTCOMES", TABLE_SHRINK},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
	{"ID", TABLE_RIGHT},
};

const struct view view_paths = {
	.name = "paths",
	.key = 'p',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.rows = rows,
};

int cmd_paths(const struct ctl_options *options)
{
	return view_verb(&view_paths, options, DEFAULT_LIMIT);
}
