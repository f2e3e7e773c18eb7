/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view: one way to look at a selection. The verbs print a view once, the live screen builds one a
 * second. Each view gives its rows either to a table or to JSON.
 */
#ifndef CTL_VIEW_H
#define CTL_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "../code/layout.h"
#include "../code/symbols.h"
#include "../ctl.h"
#include "../text/kinds.h"
#include "../text/table.h"
#include "json.h"
#include "measure.h"
#include "shares.h"

/* A view's request, and its output. */
struct view_query {
	struct pathprof_store *store;
	struct symbols *symbols;
	struct fit fit; /* whether code is as it ran; notes are printed with a view */
	struct pathprof_filter filter; /* of one kind of windows once it is loaded */
	enum ctl_sort sort;
	struct kinds kinds;
	struct measure measure;
	uint64_t samples;       /* of everything the filter selects */
	uint64_t observations;  /* of these, how many are independent: see shares.h */
	struct shares *shares;  /* NULL: the view needs none */
	enum ctl_sort order;    /* the rows' order, which also chooses the first column */
	struct table *table;    /* rows go here, or */
	struct json_rows *json; /* here */
	bool limit_given;       /* no note is needed if there are more rows */
	double top_share;       /* the first row's: the length of its bar */
	void *context;          /* the view's */
};

struct view {
	const char *name;
	char key; /* on the live screen */
	const struct table_column *columns;
	size_t column_cnt;
	bool figures;      /* TIME and RUNS stand before the columns: view_begin_rows */
	bool of_branches;  /* SHARE is of taken branches */
	bool mixes_kinds;  /* its rows are windows of any kind */
	bool bare_in_pipe; /* no title line there: made for converters */
	/* Appends every row, heaviest first. -errno, error filled. */
	int (*rows)(struct view_query *query, struct pathprof_error *error);
	nothing_fn *nothing; /* why there are no rows; NULL: nothing_text */
	void *context;       /* for rows, in its query; NULL */
};

extern const struct view view_paths, view_functions, view_callers, view_edges, view_binaries,
	view_processes, view_containers, view_units, view_comms, view_windows, view_edges_plain;

/* The function that a row's key in view_functions stands for; NULL: there is none any more. */
const struct shares_function *view_function_of_key(const struct view_query *query, int64_t key);

/* The views of the live screen by name; NULL if there is none of that name. */
const struct view *view_find(const char *name);
const struct view *view_of_key(int key);

/*
 * Chooses the kind of windows, sums up what they were taken with, and loads the shares when
 * `figures`. -errno, error filled. view_query_unload releases the shares.
 */
int view_query_load(struct view_query *query, bool figures, struct pathprof_error *error);
void view_query_unload(struct view_query *query);

/* ---------------------------------------------------------------- rows with figures */

/*
 * To be called by a view with figures before its rows: settles the order, and gives the table its
 * columns. time_known: some row has TIME.
 */
void view_begin_rows(struct view_query *query, const struct view *view, bool time_known);
/* Compares for qsort by the order; unknown figures come last; 0: alike. */
int view_compare(const struct view_query *query, const struct figures *a, const struct figures *b);
/* The cells of the columns that view_begin_rows gave. */
void view_figure_cells(struct view_query *query, const struct figures *figures);
/* The same cells as JSON members. */
void view_figure_members(const struct view_query *query, json_t *row,
			 const struct figures *figures);
/* The source of the figures, in a line or two; "" if nothing was seen. The caller frees. */
char *view_sources_text(const struct view_query *query);
/* The same for a view whose SHARE is of taken branches. */
char *view_branches_text(const struct view_query *query);

#define VIEW_BAR_WIDTH 10
void view_bar_cell(struct view_query *query, double share);

/* ---------------------------------------------------------------- the command line */

struct view_settings {
	struct pathprof_filter filter;
	enum ctl_sort sort;
	bool json;
	bool limit_given;
	bool no_sources; /* its notes are left out, since another view follows */
};

/* Runs one view for the command line: table or JSON on out. */
int view_print(const struct view *view, struct pathprof_store *store,
	       const struct view_settings *settings, FILE *out);
/* A verb that is nothing but a view. default_limit: rows when the user names none, 0: all. */
int view_verb(const struct view *view, const struct ctl_options *options, uint32_t default_limit);
/* Rows of a list in a table when the user names no limit; JSON has all. */
#define VIEW_LIST_LIMIT 100
/* Says that a table of the first rows is not all there is, unless the user asked for so many. */
void view_tell_limit(const struct view_query *query, size_t shown, size_t cnt);

#endif
