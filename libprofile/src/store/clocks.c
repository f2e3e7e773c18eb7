// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Clock samples read, and what kinds of windows there are.
 *
 * Workload: sums over some thousand windows of a thousand places each, once a command. Locking:
 * none; a query sees one snapshot. Rows are checked: see pp_store.h.
 */
#include "pp_query.h"

#include <errno.h>

/* ---------------------------------------------------------------- places */

struct clock_view {
	pathprof_clock_row_fn *fn;
	void *context;
};

void pp_query_add_clock_set(struct pp_query *q)
{
	pp_query_add_window_set(q);
	pp_query_add_process_set(q);
	pp_query_add_binary(q, "+c.binary");
}

static void clock_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT coalesce(b.build_id, x''), coalesce(b.kind, 0),"
			" coalesce(b.name, ''), s.place, s.samples, s.binary = 0 FROM"
			" (SELECT c.binary AS binary, c.place AS place, sum(c.samples) AS samples"
			" FROM clock_counts c WHERE 1");
	pp_query_add_clock_set(q);
	pp_query_add(q, " GROUP BY c.binary, c.place) s LEFT JOIN binaries b ON b.id = s.binary");
}

uint64_t pp_row_place(struct pp_row *row, int column, bool in_file)
{
	uint64_t place = pp_row_bits(row, column);
	bool sound = in_file || place == PATHPROF_PLACE_UNKNOWN || place == PATHPROF_PLACE_KERNEL;

	if (sound)
		return place;
	if (row->bad_column < 0)
		row->bad_column = column;
	return PATHPROF_PLACE_UNKNOWN;
}

static int take_clock(struct pp_query *q, struct pp_row *row, void *take_context,
		      struct pathprof_error *error)
{
	const struct clock_view *view = take_context;
	struct pathprof_clock_row out = {
		.binary_name = pp_row_text(row, 2),
		.place = pp_row_place(row, 3, !pp_row_int(row, 5, 0, 1)),
		.samples = pp_row_count(row, 4),
	};
	pp_row_id(row, 0, &out.binary_id);
	int r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_clocks(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_clock_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct clock_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	clock_query(&q);
	return pp_query_run(&q, 0, take_clock, &view, error);
}

/* ---------------------------------------------------------------- processes */

struct clock_process_view {
	pathprof_clock_process_row_fn *fn;
	void *context;
};

static void clock_process_query(struct pp_query *q)
{
	pp_query_add(q,
		     "SELECT c.process, sum(c.samples),"
		     " sum(CASE WHEN c.binary = 0 AND c.place = 16 OR c.binary IN (SELECT id FROM"
		     " binaries WHERE kind = 3 AND name = '" PATHPROF_KERNEL_NAME "')"
		     " THEN c.samples ELSE 0 END)"
		     " FROM clock_counts c WHERE 1");
	pp_query_add_clock_set(q);
	pp_query_add(q, " GROUP BY c.process");
}

static int take_clock_process(struct pp_query *q, struct pp_row *row, void *take_context,
			      struct pathprof_error *error)
{
	const struct clock_process_view *view = take_context;
	const struct pathprof_clock_process_row out = {
		.process = pp_row_int(row, 0, INT64_MIN, INT64_MAX),
		.samples = pp_row_count(row, 1),
		.kernel_samples = pp_row_count(row, 2),
	};
	int r = pp_row_end(row, q->store, error);

	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_clock_processes(struct pathprof_store *store,
				   const struct pathprof_filter *filter,
				   pathprof_clock_process_row_fn *fn, void *context,
				   struct pathprof_error *error)
{
	struct clock_process_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	clock_process_query(&q);
	return pp_query_run(&q, 0, take_clock_process, &view, error);
}

/* ---------------------------------------------------------------- kinds of windows */

struct kinds {
	unsigned int set;
	enum pathprof_window_kind newest;
};

enum pathprof_window_kind pathprof_window_kind(enum pathprof_basis basis, uint32_t horizon,
					       bool weighed)
{
	if (basis == PATHPROF_BASIS_BRANCHES)
		return PATHPROF_KIND_BRANCHES;
	if (!horizon)
		return PATHPROF_KIND_TAKEN;
	return weighed ? PATHPROF_KIND_WEIGHED : PATHPROF_KIND_HORIZON;
}

const char *pathprof_window_kind_name(enum pathprof_window_kind kind)
{
	switch (kind) {
	case PATHPROF_KIND_ANY:
		return "any";
	case PATHPROF_KIND_BRANCHES:
		return "branches";
	case PATHPROF_KIND_HORIZON:
		return "horizon";
	case PATHPROF_KIND_TAKEN:
		return "taken";
	case PATHPROF_KIND_WEIGHED:
		return "weighed";
	}
	return NULL;
}

const char *pathprof_window_kind_text(enum pathprof_window_kind kind)
{
	switch (kind) {
	case PATHPROF_KIND_BRANCHES:
		return "sampled on branches";
	case PATHPROF_KIND_HORIZON:
		return "counted in instructions";
	case PATHPROF_KIND_TAKEN:
		return "counted in taken branches";
	case PATHPROF_KIND_WEIGHED:
		return "weighed by the clock";
	case PATHPROF_KIND_ANY:
		break;
	}
	return "";
}

static int take_kind(struct pp_query *q, struct pp_row *row, void *take_context,
		     struct pathprof_error *error)
{
	struct kinds *kinds = take_context;
	int64_t basis = pp_row_int(row, 0, PATHPROF_BASIS_TIME, PATHPROF_BASIS_BRANCHES);
	uint32_t horizon = pp_row_u32(row, 1);
	bool weighed = pp_row_int(row, 2, 0, 1) != 0;
	enum pathprof_window_kind kind =
		pathprof_window_kind((enum pathprof_basis)basis, horizon, weighed);
	int r = pp_row_end(row, q->store, error);

	if (r < 0)
		return r;
	if (!kinds->set)
		kinds->newest = kind;
	kinds->set |= 1u << kind;
	return 0;
}

int pathprof_store_kinds(struct pathprof_store *store, const struct pathprof_filter *filter,
			 unsigned int *ret_kinds, enum pathprof_window_kind *ret_newest,
			 struct pathprof_error *error)
{
	struct kinds kinds = {.newest = PATHPROF_KIND_ANY};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	q.filter.limit = 0;
	pp_query_add(&q, "SELECT w.basis, w.horizon, w.weighed FROM windows w WHERE 1");
	pp_query_add_window_matches(&q);
	/* The clock was set back after windows of the future: none of them is the newest. */
	pp_query_add(&q, " ORDER BY w.end_ns > ?18, w.end_ns DESC, w.id DESC");
	int r = pp_query_run(&q, 0, take_kind, &kinds, error);
	if (r < 0)
		return r;
	*ret_kinds = kinds.set;
	*ret_newest = kinds.newest;
	return 0;
}
