// SPDX-License-Identifier: GPL-2.0-or-later
/* Code that the views share: see view.h. */
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"

static const struct view *const live_views[] = {
	&view_paths,     &view_functions,  &view_callers, &view_edges, &view_binaries,
	&view_processes, &view_containers, &view_units,   &view_comms,
};
#define LIVE_CNT (sizeof(live_views) / sizeof(live_views[0]))

const struct view *view_find(const char *name)
{
	for (size_t i = 0; i < LIVE_CNT; i++)
		if (!strcmp(live_views[i]->name, name))
			return live_views[i];
	return NULL;
}

const struct view *view_of_key(int key)
{
	for (size_t i = 0; i < LIVE_CNT; i++)
		if (live_views[i]->key == key)
			return live_views[i];
	return NULL;
}

/* ---------------------------------------------------------------- loading */

static int add_samples(void *context, const struct pathprof_binary_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

void view_query_unload(struct view_query *query)
{
	shares_free(query->shares);
	query->shares = NULL;
}

int view_query_load(struct view_query *query, bool figures, struct pathprof_error *error)
{
	struct pathprof_filter filter;
	struct measure measure = {0};
	uint64_t samples = 0;
	int r = kinds_choose(&query->kinds, query->store, &query->filter, error);

	if (r < 0)
		return r;
	view_query_unload(query);
	filter = query->filter;
	filter.limit = 0;
	r = pathprof_store_binaries(query->store, &filter, add_samples, &samples, error);
	if (r == 0)
		r = measure_load(&measure, query->store, &filter, query->kinds.used, error);
	if (r < 0)
		return r;
	query->samples = samples;
	query->measure = measure;
	query->observations = measure.bursts < samples ? measure.bursts : samples;
	if (measure_is_exact(&measure))
		query->observations = SHARES_EXACT;
	if (!figures)
		return 0;
	return shares_load(&query->shares, query->store, query->symbols, &filter, query->kinds.used,
			   query->observations, error);
}

/* ---------------------------------------------------------------- printing */

/* Prints facts about the figures that the figures do not show. */
static void tell(const struct view *view, const struct view_query *query)
{
	if (!view->mixes_kinds)
		kinds_tell(&query->kinds);
	if (!view->figures)
		return;
	if (query->kinds.used == PATHPROF_KIND_TAKEN)
		ctl_note("these are %s: their shares lean towards code with many branches",
			 kinds_text(query->kinds.used));
	if (query->sort && query->sort != query->order)
		ctl_note("--sort %s is not known of what is selected",
			 query->sort == CTL_SORT_TIME ? "time: TIME" : "runs: RUNS");
}

/* If a row's code is not available as it ran, its name is that of something else; a note says
 * so. */
static void tell_misfits(struct view_query *query)
{
	for (size_t i = 0; query->shares && i < query->shares->path_cnt; i++)
		fit_path(&query->fit, &query->shares->paths[i].row);
	fit_tell(&query->fit);
	fit_release(&query->fit);
}

static void print_sources(const struct view *view, const struct view_query *query, FILE *out)
{
	_cleanup_free_ char *text =
		view->of_branches ? view_branches_text(query) : view_sources_text(query);

	if (*text)
		fprintf(out, "\n%s\n", text);
}

static int print_table(const struct view *view, struct view_query *query, bool no_sources,
		       FILE *out, struct pathprof_error *error)
{
	struct table *table = query->table;
	char why[256];
	int r;

	r = view->rows(query, error);
	if (r == 0) {
		table_print(table, out, view->bare_in_pipe && !ctl_term.terminal);
		if (table->row_cnt == 0)
			fprintf(stderr, "pathprofctl: nothing matches: %s\n",
				(view->nothing ?: nothing_text)(why, sizeof(why), query->store,
								&query->filter));
		else if ((view->figures || view->of_branches) && !no_sources)
			print_sources(view, query, out);
	}
	table_release(table);
	return r;
}

static int print_json(const struct view *view, struct view_query *query, FILE *out,
		      struct pathprof_error *error)
{
	int r;

	json_rows_begin(query->json, out);
	r = view->rows(query, error);
	json_rows_end(query->json);
	return r;
}

void view_tell_limit(const struct view_query *query, size_t shown, size_t cnt)
{
	if (query->table && shown < cnt && !query->limit_given)
		ctl_note("the first %zu of %zu are shown: -n 0 shows all", shown, cnt);
}

/* A list of windows shows all of them, so no kind is chosen and no figures are loaded. */
static int load(const struct view *view, struct view_query *query, struct pathprof_error *error)
{
	return view->mixes_kinds ? 0 : view_query_load(query, view->figures, error);
}

int view_print(const struct view *view, struct pathprof_store *store,
	       const struct view_settings *settings, FILE *out)
{
	struct table table = {.columns = view->columns, .column_cnt = view->column_cnt};
	struct json_rows rows = {.out = out};
	struct view_query query = {
		.store = store,
		.filter = settings->filter,
		.sort = settings->sort,
		.limit_given = settings->limit_given,
		.table = settings->json ? NULL : &table,
		.json = settings->json ? &rows : NULL,
		.context = view->context,
	};
	struct pathprof_error error = {""};
	int r;

	query.symbols = query.fit.symbols = symbols_new(store);
	r = load(view, &query, &error);
	if (r == 0)
		r = settings->json ? print_json(view, &query, out, &error)
				   : print_table(view, &query, settings->no_sources, out, &error);
	if (r == 0 && !settings->no_sources)
		tell(view, &query);
	tell_misfits(&query);
	view_query_unload(&query);
	symbols_free(query.symbols);
	return r < 0 ? ctl_fail_error(view->name, r, &error) : CTL_OK;
}

int view_verb(const struct view *view, const struct ctl_options *options, uint32_t default_limit)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct view_settings settings = {
		.filter = options->filter, .sort = options->sort, .json = options->json};
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	if (!options->limit_given && !(default_limit == VIEW_LIST_LIMIT && options->json))
		settings.filter.limit = default_limit;
	settings.limit_given = options->limit_given;
	return view_print(view, store, &settings, stdout);
}
