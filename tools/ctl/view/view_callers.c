// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The callers view: the share of each function, split by its callers. The share of a path is split
 * in proportion to its runs seen under each caller; runs seen under none, and time of functions
 * without a seen path, stand under "[not known]", so all rows of a function add up to its share.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/table.h"
#include "callers.h"
#include "view.h"

/* The subject of a row: a function of the shares and the name of its caller. */
struct key {
	uint64_t function;
	const struct symbol *caller; /* NULL: not known */
};

struct row {
	struct key key;
	const struct caller *caller; /* a caller of that name; NULL: not known */
	struct figures figures;
};

struct list {
	struct pp_keyed rows; /* struct row */
	const struct shares *shares;
};

/* Time in no function, by numbers after those of functions. */
static const char *const elsewhere[] = {PATHPROF_KERNEL_NAME, "[unknown]"};

static const char not_known[] = "[not known]";

/* Adds the values alone; intervals are computed last. A figure of a path that is not known (NAN) is
 * in its function's rest. */
static void add_share(struct pathprof_share *to, const struct pathprof_share *more, double by)
{
	if (!isnan(more->value))
		to->value += more->value * by;
}

static void add_figures(struct figures *to, const struct figures *from, double by, uint64_t samples)
{
	add_share(&to->time, &from->time, by);
	add_share(&to->runs, &from->runs, by);
	to->weight += from->weight * by;
	to->share += from->share * by;
	to->samples += samples;
}

/* NULL: out of memory. */
static struct row *row_of(struct list *list, uint32_t function, const struct symbol *caller)
{
	const struct key key = {function, caller};
	uint32_t number;

	if (pp_keyed_at(&list->rows, &key, &number) < 0)
		return NULL;
	return pp_keyed_item(&list->rows, number);
}

/* Adds the rest of a path, or of a function, that is under no known caller. */
static void add_rest(struct list *list, uint32_t function, const struct figures *whole, double by,
		     uint64_t samples)
{
	struct row *row = by > 0 || samples ? row_of(list, function, NULL) : NULL;

	if (row)
		add_figures(&row->figures, whole, by, samples);
}

static void split_path(struct list *list, const struct callers *callers,
		       const struct shares_path *path)
{
	size_t cnt;
	const struct caller_count *counts = callers_of_path(callers, path->row.id, &cnt);
	double left = 1;
	uint64_t samples_left = path->figures.samples;

	for (size_t i = 0; i < cnt; i++) {
		double by =
			path->row.weight > 0 ? fmin(counts[i].weight / path->row.weight, left) : 0;
		uint64_t samples =
			counts[i].samples < samples_left ? counts[i].samples : samples_left;
		const struct symbol *symbol = counts[i].caller ? counts[i].caller->symbol : NULL;
		struct row *row = row_of(list, path->function, symbol);

		if (row && symbol)
			row->caller = counts[i].caller;
		if (row)
			add_figures(&row->figures, &path->figures, by, samples);
		left -= by;
		samples_left -= samples;
	}
	add_rest(list, path->function, &path->figures, left > 1e-9 ? left : 0, samples_left);
}

static const char *name_of_caller(const struct row *row)
{
	return row->key.caller ? row->key.caller->name : not_known;
}

/* NULL: not in a function. */
static const struct shares_function *function_of(const struct view_query *query,
						 const struct row *row)
{
	return row->key.function < query->shares->function_cnt
		       ? &query->shares->functions[row->key.function]
		       : NULL;
}

/* Rows in no function come last. */
static int by_function(const struct view_query *query, const struct row *x, const struct row *y)
{
	const struct shares_function *a = function_of(query, x), *b = function_of(query, y);

	if (a && b)
		return shares_compare_functions(query->shares, a, b);
	return (x->key.function > y->key.function) - (x->key.function < y->key.function);
}

static int before(const void *a, const void *b, void *context)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int order = view_compare(context, &x->figures, &y->figures);

	order = order ? order : by_function(context, x, y);
	return order ? order : strcmp(name_of_caller(x), name_of_caller(y));
}

static char *name_of(const struct view_query *query, const struct row *row)
{
	const struct shares_function *function = function_of(query, row);

	if (!function)
		return ctl_strdup(elsewhere[row->key.function - query->shares->function_cnt]);
	if (function->symbol)
		return ctl_strdup(function->symbol->name);
	return text_nameless(query->shares->binaries[function->binary].name);
}

static void add_cells(struct view_query *query, const struct row *row)
{
	_cleanup_free_ char *name = name_of(query, row);

	table_row(query->table, 0);
	view_figure_cells(query, &row->figures);
	table_cell(query->table, CTL_NAME, "%s", name);
	table_cell(query->table, CTL_PLAIN, "%s", name_of_caller(row));
}

static void add_json(struct view_query *query, const struct row *row)
{
	const struct shares_function *function = function_of(query, row);
	static const struct pathprof_build_id none = {.kind = PATHPROF_ID_NONE};
	json_t *object = json_object();

	json_add_function(object, "function", function ? function->symbol : NULL);
	json_add_function(object, "caller", row->key.caller);
	if (row->caller)
		json_add_binary(object, "caller_binary", &row->caller->binary_id,
				row->caller->binary_name);
	else
		json_add(object, "caller_binary", json_null());
	view_figure_members(query, object, &row->figures);
	if (function)
		json_add_binary(object, "binary", &query->shares->binaries[function->binary].id,
				query->shares->binaries[function->binary].name);
	else
		json_add_binary(object, "binary", &none,
				elsewhere[row->key.function - query->shares->function_cnt]);
	json_rows_add(query->json, object);
}

/* Adds the time that the clock found in a function beyond that of its paths. */
static void add_pathless(struct list *list, const struct shares *shares)
{
	double *times = ctl_alloc((shares->function_cnt + 1) * sizeof(*times));

	memset(times, 0, shares->function_cnt * sizeof(*times));
	for (size_t i = 0; i < shares->path_cnt; i++)
		if (isfinite(shares->paths[i].figures.time.value))
			times[shares->paths[i].function] += shares->paths[i].figures.time.value;
	for (size_t i = 0; i < shares->function_cnt; i++) {
		const struct figures *figures = &shares->functions[i].figures;
		double whole = figures->time.value;
		struct figures rest = *figures;

		if (!(whole - times[i] > 1e-9))
			continue;
		rest.runs = (struct pathprof_share){0};
		rest.weight = rest.share = 0;
		add_rest(list, (uint32_t)i, &rest, (whole - times[i]) / whole, 0);
	}
	free(times);
}

/*
 * The relative interval of a function's share is used for its parts; the error of the split itself
 * is not included. If a share is not known, no part of it is.
 */
static void set_interval(struct pathprof_share *part, const struct pathprof_share *whole)
{
	double by = whole->value > 0 ? part->value / whole->value : 0;

	part->value = isnan(whole->value) ? NAN : part->value;
	part->low = whole->low * by;
	part->high = whole->high * by;
}

static void set_intervals(struct list *list)
{
	for (uint32_t i = 0; i < list->rows.cnt; i++) {
		struct row *row = pp_keyed_item(&list->rows, i);

		if (row->key.function >= list->shares->function_cnt)
			continue;
		const struct figures *whole = &list->shares->functions[row->key.function].figures;
		set_interval(&row->figures.time, &whole->time);
		set_interval(&row->figures.runs, &whole->runs);
	}
}

static void add_elsewhere(struct list *list, const struct shares *shares)
{
	const uint64_t samples[] = {shares->kernel_nameless, shares->unknown_samples};

	for (uint32_t i = 0; i < SHARES_ELSEWHERE_CNT; i++) {
		struct row *row =
			samples[i] ? row_of(list, (uint32_t)shares->function_cnt + i, NULL) : NULL;

		if (row)
			row->figures = shares->elsewhere[i];
	}
}

static void print(struct view_query *query, struct list *list)
{
	size_t cnt = list->rows.cnt, shown = cnt;
	struct row **order = ctl_alloc((cnt + 1) * sizeof(*order));

	for (size_t i = 0; i < cnt; i++)
		order[i] = pp_keyed_item(&list->rows, (uint32_t)i);
	qsort_r(order, cnt, sizeof(*order), before, query);
	if (query->filter.limit && query->filter.limit < cnt)
		shown = query->filter.limit;
	for (size_t i = 0; i < shown; i++) {
		if (query->json)
			add_json(query, order[i]);
		else
			add_cells(query, order[i]);
	}
	free(order);
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	struct list list = {.shares = query->shares};
	struct callers *callers = NULL;
	int r = callers_load(&callers, query->store, query->symbols, &query->filter, error);

	if (r < 0)
		return r;
	pp_keyed_init(&list.rows, sizeof(struct row), sizeof(struct key), PP_TABLE_MAX, 0);
	for (size_t i = 0; i < query->shares->path_cnt; i++)
		split_path(&list, callers, &query->shares->paths[i]);
	add_pathless(&list, query->shares);
	set_intervals(&list);
	add_elsewhere(&list, query->shares);
	view_begin_rows(query, &view_callers, query->shares->clock_samples > 0);
	print(query, &list);
	pp_keyed_release(&list.rows);
	callers_free(callers);
	return 0;
}

static const struct table_column columns[] = {
	{"FUNCTION", TABLE_SHRINK},
	{"CALLED BY", TABLE_SHRINK},
};

const struct view view_callers = {
	.name = "callers",
	.key = 'a',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.figures = true,
	.rows = rows,
};
