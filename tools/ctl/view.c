// SPDX-License-Identifier: GPL-2.0-or-later
/* What the views share: see view.h. */
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "interval.h"
#include "text.h"

static const struct view *const live_views[] = {
	&view_paths, &view_functions, &view_edges, &view_binaries, &view_processes,
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

static int add_samples(void *context, const struct pathprof_binary_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

static int add_bursts(void *context, const struct pathprof_window_row *row)
{
	*(uint64_t *)context += row->totals.bursts;
	return 0;
}

int view_query_samples(struct view_query *query, struct pathprof_error *error)
{
	struct pathprof_filter filter = query->filter;
	uint64_t samples = 0, bursts = 0;
	int r;

	filter.limit = 0;
	r = pathprof_store_binaries(query->store, &filter, add_samples, &samples, error);
	if (r == 0)
		r = pathprof_store_windows(query->store, &filter, add_bursts, &bursts, error);
	if (r == 0) {
		query->samples = samples;
		query->observations = bursts < samples ? bursts : samples;
	}
	return r;
}

void view_bar_cell(struct view_query *query, double share)
{
	char bar[3 * VIEW_BAR_WIDTH + 1];

	if (query->table->row_cnt == 1)
		query->top_share = share;
	text_bar(bar, sizeof(bar), share, query->top_share, VIEW_BAR_WIDTH);
	table_cell(query->table, ctl_share_style(share), "%s", bar);
}

void view_share_cells(struct view_query *query, double share, uint64_t samples)
{
	double half = interval_half(interval_of_share(share, query->observations));

	table_cell(query->table, ctl_share_style(share), "%.2f%%", 100 * share);
	view_bar_cell(query, share);
	table_cell(query->table, CTL_DIM, "%.2f%%", 100 * half);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, samples);
}

void view_share_members(const struct view_query *query, json_t *row, double share, uint64_t samples,
			double weight)
{
	struct interval interval = interval_of_share(share, query->observations);

	json_add_real(row, "share", share);
	json_add_real(row, "share_low", interval.low);
	json_add_real(row, "share_high", interval.high);
	json_add_count(row, "samples", samples);
	json_add_real(row, "weight", weight);
}

static int print_table(const struct view *view, struct view_query *query, FILE *out,
		       struct pathprof_error *error)
{
	struct table *table = query->table;
	int r;

	r = view->rows(query, error);
	if (r == 0) {
		table_print(table, out, view->bare_in_pipe && !ctl_term.terminal);
		if (table->row_cnt == 0)
			fputs("pathprofctl: nothing matches: widen --since or leave a filter out\n",
			      stderr);
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

int view_print(const struct view *view, struct pathprof_store *store,
	       const struct pathprof_filter *filter, bool json, FILE *out)
{
	struct table table = {.columns = view->columns, .column_cnt = view->column_cnt};
	struct json_rows rows = {.out = out};
	struct view_query query = {
		.store = store,
		.filter = *filter,
		.table = json ? NULL : &table,
		.json = json ? &rows : NULL,
		.context = view->context,
	};
	struct pathprof_error error = {""};
	int r;

	query.symbols = symbols_new(store);
	r = view_query_samples(&query, &error);
	if (r == 0)
		r = json ? print_json(view, &query, out, &error)
			 : print_table(view, &query, out, &error);
	symbols_free(query.symbols);
	return r < 0 ? ctl_fail_error(view->name, r, &error) : CTL_OK;
}

int view_verb(const struct view *view, const struct ctl_options *options, uint32_t default_limit)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_filter filter = options->filter;
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	if (!options->limit_given)
		filter.limit = default_limit;
	return view_print(view, store, &filter, options->json, stdout);
}
