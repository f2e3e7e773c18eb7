// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions view: the share of each function, including the kernel and code outside of known
 * files. Code with neither symbol nor unwind information is summed by the start of the path.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/table.h"
#include "view.h"

struct row {
	const struct shares_function *function; /* NULL: name is all that is known */
	char *name;
	const struct shares_binary *binary;
	struct figures figures;
};

static char *name_of(const struct shares_function *function, const struct shares_binary *binary)
{
	if (function->symbol)
		return ctl_strdup(function->symbol->name);
	return text_nameless(binary->name);
}

static void add_elsewhere(struct row *rows, size_t *cnt, const char *name,
			  const struct figures *figures, uint64_t samples)
{
	if (samples)
		rows[(*cnt)++] = (struct row){.name = ctl_strdup(name), .figures = *figures};
}

static size_t collect(struct row *rows, const struct shares *shares)
{
	size_t cnt = 0;

	for (size_t i = 0; i < shares->function_cnt; i++) {
		const struct shares_function *function = &shares->functions[i];
		const struct shares_binary *binary = &shares->binaries[function->binary];

		rows[cnt++] = (struct row){function, name_of(function, binary), binary,
					   function->figures};
	}
	add_elsewhere(rows, &cnt, PATHPROF_KERNEL_NAME, &shares->elsewhere[SHARES_KERNEL],
		      shares->kernel_nameless);
	add_elsewhere(rows, &cnt, "[unknown]", &shares->elsewhere[SHARES_UNKNOWN],
		      shares->unknown_samples);
	return cnt;
}

static int before(const void *a, const void *b, void *context)
{
	const struct view_query *query = context;
	const struct row *x = a, *y = b;
	int order = view_compare(query, &x->figures, &y->figures);

	order = order ? order : strcmp(x->name, y->name);
	if (order || !x->function || !y->function)
		return order;
	return shares_compare_functions(query->shares, x->function, y->function);
}

static uint64_t path_cnt(const struct row *row)
{
	return row->function ? row->function->path_cnt : 0;
}

/* A key, the same for the same function each time; 0 for code in no function. */
static int64_t key_of(const struct shares *shares, const struct shares_function *function)
{
	const struct pathprof_build_id *id = &shares->binaries[function->binary].id;
	uint64_t hash = 0;

	if (!function->symbol || !function->symbol->bounded)
		return 0;
	for (size_t i = 0; i < id->len_bytes; i++)
		hash = pp_hash_mix(hash, id->bytes[i]);
	return (int64_t)(pp_hash_mix(hash, function->symbol->start) & INT64_MAX);
}

const struct shares_function *view_function_of_key(const struct view_query *query, int64_t key)
{
	const struct shares *shares = query->shares;

	for (size_t i = 0; key && shares && i < shares->function_cnt; i++)
		if (key_of(shares, &shares->functions[i]) == key)
			return &shares->functions[i];
	return NULL;
}

static void add_cells(struct view_query *query, const struct row *row)
{
	table_row(query->table, row->function ? key_of(query->shares, row->function) : 0);
	view_figure_cells(query, &row->figures);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, path_cnt(row));
	table_cell(query->table, CTL_NAME, "%s", row->name);
	table_cell(query->table, CTL_DIM, "%s",
		   row->binary ? text_base_name(row->binary->name) : "-");
}

static void add_json(struct view_query *query, const struct row *row)
{
	static const struct pathprof_build_id none = {.kind = PATHPROF_ID_NONE};
	const struct symbol *symbol = row->function ? row->function->symbol : NULL;
	json_t *object = json_object();

	json_add_function(object, "function", symbol);
	view_figure_members(query, object, &row->figures);
	json_add_count(object, "paths", path_cnt(row));
	json_add_binary(object, "binary", row->binary ? &row->binary->id : &none,
			row->binary ? row->binary->name : row->name);
	json_rows_add(query->json, object);
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	const struct shares *shares = query->shares;
	struct row *list = ctl_alloc((shares->function_cnt + SHARES_ELSEWHERE_CNT) * sizeof(*list));
	size_t cnt = collect(list, shares), shown = cnt;

	view_begin_rows(query, &view_functions, shares->clock_samples > 0);
	qsort_r(list, cnt, sizeof(*list), before, query);
	if (query->filter.limit && query->filter.limit < cnt)
		shown = query->filter.limit;
	for (size_t i = 0; i < shown; i++) {
		if (query->json)
			add_json(query, &list[i]);
		else
			add_cells(query, &list[i]);
	}
	for (size_t i = 0; i < cnt; i++)
		free(list[i].name);
	free(list);
	return 0;
}

static const struct table_column columns[] = {
	{"PATHS", TABLE_RIGHT | TABLE_SPARE},
	{"FUNCTION", TABLE_SHRINK},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
};

const struct view view_functions = {
	.name = "functions",
	.key = 'f',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.figures = true,
	.rows = rows,
};
