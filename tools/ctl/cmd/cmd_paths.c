// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl paths: the hottest paths; with --function those that begin in one function, with
 * their Ball-Larus numbers.
 */
#include "../ctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../function/counted.h"
#include "../function/target.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/view.h"
#include "base/plural.h"

#define DEFAULT_LIMIT 50

/* The rows of one function. */
struct of_function {
	const struct target *target; /* NULL: its paths are counted ones, numbered by themselves */
	const char *name;            /* of a function with counted paths */
	bool unnumbered, runs_on;    /* there were such rows */
};

static bool is_numbered(const struct of_function *of)
{
	return of->target != NULL;
}

static void number_cell(struct view_query *query, const struct pathprof_path_row *row)
{
	struct of_function *of = query->context;
	uint64_t number = 0;
	int r = target_number(of->target, row->start, row->length, row->outcomes, &number);

	of->unnumbered |= r < 0;
	of->runs_on |= r == 1;
	if (r < 0)
		table_cell(query->table, CTL_DIM, "-");
	else
		table_cell(query->table, CTL_PLAIN, "%s:%" PRIu64 "%s", of->target->name, number,
			   r ? "+" : "");
}

static void add_number(const struct view_query *query, json_t *object,
		       const struct pathprof_path_row *row)
{
	const struct of_function *of = query->context;
	uint64_t number = 0;
	int r = target_number(of->target, row->start, row->length, row->outcomes, &number);

	if (r < 0)
		json_add(object, "number", json_null());
	else
		json_add_number(object, "number", number);
	json_add_number(object, "function_paths", of->target->path_cnt);
	json_add(object, "runs_on", json_boolean(r == 1));
}

static void add_cells(struct view_query *query, const struct shares_path *path)
{
	const struct pathprof_path_row *row = &path->row;
	char outcomes[TEXT_OUTCOMES_SIZE];
	_cleanup_free_ char *label =
		symbols_label(query->symbols, &row->binary_id, row->binary_name, row->start);

	table_row(query->table, row->id);
	view_figure_cells(query, &path->figures);
	table_cell(query->table, CTL_NAME, "%s", label);
	table_cell(query->table, CTL_PLAIN, "%" PRIu32, row->length);
	table_cell(query->table, CTL_PLAIN, "%s",
		   text_outcomes(outcomes, row->length, row->outcomes));
	table_cell(query->table, CTL_DIM, "%s", text_base_name(row->binary_name));
	if (query->context && is_numbered(query->context))
		number_cell(query, row);
	table_cell(query->table, CTL_PLAIN, "%" PRId64, row->id);
}

static void add_json(struct view_query *query, const struct shares_path *path)
{
	const struct pathprof_path_row *row = &path->row;
	const struct symbol *symbol =
		symbols_function(query->symbols, &row->binary_id, row->binary_name, row->start);
	char outcomes[TEXT_OUTCOMES_SIZE];
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	view_figure_members(query, object, &path->figures);
	json_add_binary(object, "binary", &row->binary_id, row->binary_name);
	json_add_hex(object, "start", row->start);
	json_add_function(object, "function", symbol);
	json_add_count(object, "length", row->length);
	json_add_text(object, "outcomes",
		      row->length ? text_outcomes(outcomes, row->length, row->outcomes) : "");
	if (pathprof_is_counted(&row->binary_id, row->binary_name))
		json_add_number(object, "number", pathprof_counted_number_of(row->start));
	else if (query->context && is_numbered(query->context))
		add_number(query, object, row);
	json_rows_add(query->json, object);
}

static int before(const void *a, const void *b, void *context)
{
	const struct shares_path *const *x = a, *const *y = b;
	int order = view_compare(context, &(*x)->figures, &(*y)->figures);

	/* The shares have them in an order that no database changes. */
	return order ? order : (*x > *y) - (*x < *y);
}

static bool is_wanted(const struct view_query *query, const struct pathprof_path_row *row)
{
	const struct of_function *of = query->context;

	if (of && of->name)
		return pathprof_is_counted(&row->binary_id, row->binary_name) &&
		       counted_is_named(symbols_function(query->symbols, &row->binary_id,
							 row->binary_name, row->start),
					of->name);
	return !of || (pathprof_build_id_equal(&row->binary_id, &of->target->id) &&
		       target_function_at(of->target, row->start) == of->target->function);
}

/* Shares of one function's paths stay those of everything selected. */
static int emit(struct view_query *query, const struct view *view)
{
	const struct shares *shares = query->shares;
	_cleanup_free_ const struct shares_path **sorted =
		ctl_alloc((shares->path_cnt + 1) * sizeof(*sorted));
	size_t cnt = 0;

	view_begin_rows(query, view, shares->path_time);
	for (size_t i = 0; i < shares->path_cnt; i++)
		if (is_wanted(query, &shares->paths[i].row))
			sorted[cnt++] = &shares->paths[i];
	qsort_r(sorted, cnt, sizeof(*sorted), before, query);
	if (query->filter.limit && query->filter.limit < cnt)
		cnt = query->filter.limit;
	for (size_t i = 0; i < cnt; i++) {
		if (query->json)
			add_json(query, sorted[i]);
		else
			add_cells(query, sorted[i]);
	}
	return 0;
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	return emit(query, &view_paths);
}

static const struct table_column columns[] = {
	{"FUNCTION", TABLE_SHRINK}, {"LENGTH", TABLE_RIGHT | TABLE_SPARE},
	{"OUTCOMES", TABLE_SHRINK}, {"BINARY", TABLE_SHRINK | TABLE_SPARE},
	{"ID", TABLE_RIGHT},
};

const struct view view_paths = {
	.name = "paths",
	.key = 'p',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.figures = true,
	.rows = rows,
};

/* ---------------------------------------------------------------- of one function */

static const struct table_column own_columns[] = {
	{"FUNCTION", TABLE_SHRINK},
	{"LENGTH", TABLE_RIGHT | TABLE_SPARE},
	{"OUTCOMES", TABLE_SHRINK},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
	{"NUMBER", 0},
	{"ID", TABLE_RIGHT},
};

static int own_rows(struct view_query *query, struct pathprof_error *error);

static const struct view view_own_paths = {
	.name = "paths",
	.columns = own_columns,
	.column_cnt = sizeof(own_columns) / sizeof(own_columns[0]),
	.figures = true,
	.rows = own_rows,
};

static int own_rows(struct view_query *query, struct pathprof_error *error)
{
	return emit(query, &view_own_paths);
}

static void print_footnotes(const struct of_function *of)
{
	_cleanup_free_ char *name = text_escape(of->target->name);

	printf("\n%s has %" PRIu64 " %s: pathprofctl show %s:NUMBER shows one.\n", name,
	       of->target->path_cnt, pp_plural(of->target->path_cnt, "path", "paths"), name);
	if (of->unnumbered)
		puts("-: no path of the function alone: it ended at 32 branches, or began behind "
		     "one that did.");
	if (of->runs_on)
		puts("+: it runs on into another function; the number is that of its part here.");
}

static int print_own(const struct ctl_options *options, struct pathprof_store *store,
		     struct of_function *of)
{
	struct view_settings settings = {
		.filter = options->filter, .sort = options->sort, .json = options->json};
	struct view view = is_numbered(of) ? view_own_paths : view_paths;
	int r;

	view.context = of;
	if (!options->limit_given)
		settings.filter.limit = DEFAULT_LIMIT;
	r = view_print(&view, store, &settings, stdout);
	if (r == CTL_OK && !options->json && is_numbered(of))
		print_footnotes(of);
	return r;
}

static int of_target(const struct ctl_options *options, struct view_query *query)
{
	struct target target;
	int r = target_open(&target, query, options, options->function);

	if (r)
		return r;
	r = print_own(options, query->store, &(struct of_function){.target = &target});
	target_release(&target);
	return r;
}

static int paths_of_function(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct view_query query = {.filter = options->filter};
	struct of_function counted = {.name = options->function};
	struct pathprof_error error = {""};
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	query.store = store;
	query.symbols = symbols_new(store);
	r = counted_has_function(&query, options->function, &error);
	if (r < 0)
		r = ctl_fail_error("paths", r, &error);
	else
		r = r ? print_own(options, store, &counted) : of_target(options, &query);
	symbols_free(query.symbols);
	return r;
}

int cmd_paths(const struct ctl_options *options)
{
	if (options->function)
		return paths_of_function(options);
	return view_verb(&view_paths, options, DEFAULT_LIMIT);
}
