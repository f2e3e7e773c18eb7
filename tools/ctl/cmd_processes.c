// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl processes: the processes seen. */
#include "ctl.h"

#include <inttypes.h>

#include "text.h"
#include "view.h"

static void add_cells(struct view_query *query, const struct pathprof_process_row *row)
{
	char when[32];

	table_row(query->table, row->id);
	view_share_cells(query, row->share, row->samples);
	table_cell(query->table, CTL_PLAIN, "%" PRIu32, row->pid);
	table_cell(query->table, CTL_NAME, "%s", row->comm);
	table_cell(query->table, CTL_PLAIN, "%s",
		   row->container && *row->container ? row->container : "-");
	table_cell(query->table, CTL_DIM, "%s",
		   row->binary_name && *row->binary_name ? row->binary_name : "-");
	table_cell(query->table, CTL_DIM, "%s", text_time(when, sizeof(when), row->last_seen_ns));
}

static void add_json(struct view_query *query, const struct pathprof_process_row *row)
{
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	json_add_count(object, "pid", row->pid);
	json_add_count(object, "start_time", row->start_time);
	json_add_count(object, "exec_cnt", row->exec_cnt);
	json_add_text(object, "comm", row->comm);
	json_add_text(object, "container", row->container);
	json_add_text(object, "binary", row->binary_name);
	view_share_members(query, object, row->share, row->samples, row->weight);
	json_add_ns(object, "first_seen_ns", row->first_seen_ns);
	json_add_ns(object, "last_seen_ns", row->last_seen_ns);
	json_rows_add(query->json, object);
}

static int add(void *context, const struct pathprof_process_row *row)
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
	return pathprof_store_processes(query->store, &query->filter, add, query, error);
}

static const struct table_column columns[] = {
	VIEW_SHARE_COLUMNS,
	{"PID", TABLE_RIGHT},
	{"COMM", 0},
	{"CONTAINER", TABLE_SHRINK | TABLE_SPARE},
	{"BINARY", TABLE_SHRINK},
	{"LAST SEEN", TABLE_SPARE},
};

const struct view view_processes = {
	.name = "processes",
	.key = 'r',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.rows = rows,
};

int cmd_processes(const struct ctl_options *options)
{
	return view_verb(&view_processes, options, 0);
}
