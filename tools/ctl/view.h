/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view: one way to look at what is selected. The verbs print a view once, the live screen builds
 * one a second. Each view gives its rows either to a table or to JSON.
 */
#ifndef CTL_VIEW_H
#define CTL_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "ctl.h"
#include "json.h"
#include "symbols.h"
#include "table.h"

/* What is asked, and what the answer goes into. */
struct view_query {
	struct pathprof_store *store;
	struct symbols *symbols;
	struct pathprof_filter filter;
	uint64_t samples;       /* of everything the filter selects: view_query_samples */
	uint64_t observations;  /* of these, how many are independent: see interval.h */
	struct table *table;    /* rows go here, or */
	struct json_rows *json; /* here */
	double top_share;       /* the first row's: the length of its bar */
	void *context;          /* the view's */
};

struct view {
	const char *name;
	char key; /* on the live screen */
	const struct table_column *columns;
	size_t column_cnt;
	bool bare_in_pipe; /* no title line there: made for converters */
	/* Appends every row, heaviest first. -errno, error filled. */
	int (*rows)(struct view_query *query, struct pathprof_error *error);
	void *context; /* for rows, in its query; NULL */
};

extern const struct view view_paths, view_functions, view_edges, view_binaries, view_processes,
	view_windows, view_edges_plain;

/* The views of the live screen by name; NULL when there is none of it. */
const struct view *view_find(const char *name);
const struct view *view_of_key(int key);

/* Sets query->samples and query->observations. */
int view_query_samples(struct view_query *query, struct pathprof_error *error);

#define VIEW_BAR_WIDTH 10
#define VIEW_SHARE_COLUMNS                                                                         \
	{"SHARE", TABLE_RIGHT}, {"", TABLE_BARS}, {"+/-", TABLE_RIGHT},                            \
	{                                                                                          \
		"SAMPLES", TABLE_RIGHT                                                             \
	}
/* The cells of these columns. */
void view_share_cells(struct view_query *query, double share, uint64_t samples);
void view_bar_cell(struct view_query *query, double share);
/* The same as members. */
void view_share_members(const struct view_query *query, json_t *row, double share, uint64_t samples,
			double weight);

/* Runs one view for the command line: table or JSON on out. */
int view_print(const struct view *view, struct pathprof_store *store,
	       const struct pathprof_filter *filter, bool json, FILE *out);
/* A verb that is nothing but a view. default_limit: rows when the user names none, 0: all. */
int view_verb(const struct view *view, const struct ctl_options *options, uint32_t default_limit);

#endif
