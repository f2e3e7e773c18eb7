// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions view: paths summed by the function that contains their start. What has neither
 * symbol nor unwind information is summed by the start of the path.
 *
 * Workload: every path selected, tens of thousands, into hundreds of functions: an open-addressing
 * hash table over an array, grown by doubling.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"
#include "view.h"

struct function {
	struct pathprof_build_id id;
	uint64_t start;
	char *name, *linkage, *binary_name;
	int known;
	uint64_t samples, path_cnt;
	double weight, share;
};

struct functions {
	struct view_query *query;
	struct function *list;
	size_t cnt, room;
	uint32_t *slots; /* index + 1; 0: empty; 2 * room of them */
};

static uint64_t hash_of(const struct pathprof_build_id *id, uint64_t start)
{
	uint64_t hash = start * 0x9e3779b97f4a7c15ULL;

	for (unsigned int i = 0; i < id->len_bytes && i < PATHPROF_BUILD_ID_MAX; i++)
		hash = (hash ^ id->bytes[i]) * 0x100000001b3ULL;
	return hash ^ hash >> 32;
}

static uint32_t *find_slot(struct functions *functions, const struct pathprof_build_id *id,
			   uint64_t start)
{
	size_t mask = 2 * functions->room - 1;
	size_t at = hash_of(id, start) & mask;

	while (functions->slots[at]) {
		const struct function *function = &functions->list[functions->slots[at] - 1];

		if (function->start == start && pathprof_build_id_equal(&function->id, id))
			break;
		at = (at + 1) & mask;
	}
	return &functions->slots[at];
}

static void grow(struct functions *functions)
{
	size_t room = functions->room ? 2 * functions->room : 256;

	functions->list =
		ctl_realloc(functions->list, functions->room, room, sizeof(struct function));
	free(functions->slots);
	functions->slots = ctl_alloc(2 * room * sizeof(uint32_t));
	functions->room = room;
	for (size_t i = 0; i < functions->cnt; i++)
		*find_slot(functions, &functions->list[i].id, functions->list[i].start) =
			(uint32_t)i + 1;
}

static struct function *get(struct functions *functions, const struct pathprof_path_row *row,
			    const struct symbol *symbol)
{
	struct function *function;
	uint32_t *slot;

	if (functions->cnt == functions->room)
		grow(functions);
	slot = find_slot(functions, &row->binary_id, symbol->start);
	if (*slot)
		return &functions->list[*slot - 1];
	function = &functions->list[functions->cnt++];
	*slot = (uint32_t)functions->cnt;
	function->id = row->binary_id;
	function->start = symbol->start;
	function->known = symbol->known;
	function->name = ctl_strdup(symbol->name);
	function->linkage = ctl_strdup(symbol->linkage);
	function->binary_name = ctl_strdup(row->binary_name ? row->binary_name : "");
	return function;
}

static int add_path(void *context, const struct pathprof_path_row *row)
{
	struct functions *functions = context;
	const struct symbol *symbol = symbols_function(functions->query->symbols, &row->binary_id,
						       row->binary_name, row->start);
	struct function *function = get(functions, row, symbol);

	function->samples += row->samples;
	function->weight += row->weight;
	function->share += row->share;
	function->path_cnt++;
	return 0;
}

static int heavier(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void add_cells(struct view_query *query, const struct function *function)
{
	table_row(query->table, 0);
	view_share_cells(query, function->share, function->samples);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, function->path_cnt);
	table_cell(query->table, CTL_NAME, "%s", function->name);
	table_cell(query->table, CTL_DIM, "%s", text_base_name(function->binary_name));
}

static void add_json(struct view_query *query, const struct function *function)
{
	json_t *object = json_object();

	if (function->known)
		json_add_text(object, "function", function->linkage);
	else
		json_add(object, "function", json_null());
	json_add_hex(object, "function_start", function->start);
	view_share_members(query, object, function->share, function->samples, function->weight);
	json_add_count(object, "paths", function->path_cnt);
	json_add_binary(object, "binary", &function->id, function->binary_name);
	json_rows_add(query->json, object);
}

static void emit(struct functions *functions)
{
	struct view_query *query = functions->query;
	size_t cnt = functions->cnt;

	if (cnt)
		qsort(functions->list, cnt, sizeof(struct function), heavier);
	if (query->filter.limit && query->filter.limit < cnt)
		cnt = query->filter.limit;
	for (size_t i = 0; i < cnt; i++) {
		if (query->json)
			add_json(query, &functions->list[i]);
		else
			add_cells(query, &functions->list[i]);
	}
}

static void release(struct functions *functions)
{
	for (size_t i = 0; i < functions->cnt; i++) {
		free(functions->list[i].name);
		free(functions->list[i].linkage);
		free(functions->list[i].binary_name);
	}
	free(functions->list);
	free(functions->slots);
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	struct functions functions = {.query = query};
	struct pathprof_filter every = query->filter;
	int r;

	every.limit = 0;
	r = pathprof_store_paths(query->store, &every, add_path, &functions, error);
	if (r == 0)
		emit(&functions);
	release(&functions);
	return r;
}

static const struct table_column columns[] = {
	VIEW_SHARE_COLUMNS,
	{"PATHS", TABLE_RIGHT | TABLE_SPARE},
	{"FUNCTION", TABLE_SHRINK},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
};

const struct view view_functions = {
	.name = "functions",
	.key = 'f',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.rows = rows,
};
