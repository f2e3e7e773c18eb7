// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl windows: the profile windows stored, newest first. */
#include "ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"
#include "view.h"

static const char *or_unknown(const char *name)
{
	return name ? name : "?";
}

/* "budget:120 gone:5", "-" when nothing was dropped. Caller frees. */
static char *drops_text(const struct pathprof_totals *totals)
{
	char text[512] = "";
	size_t at = 0;

	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++) {
		if (!totals->drops[i] || at >= sizeof(text) - 1)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s:%" PRIu64, at ? " " : "",
				       or_unknown(pathprof_drop_name((enum pathprof_drop)i)),
				       totals->drops[i]);
	}
	return ctl_strdup(at ? text : "-");
}

/* Time that targets were held as a share of the window's length, of one CPU. */
static double held_ratio(const struct pathprof_window_row *row)
{
	int64_t length_ns = row->end_ns - row->begin_ns;

	return length_ns > 0 ? (double)row->totals.stopped_ns / (double)length_ns : 0;
}

static const char *kind_of(const struct pathprof_window_row *row)
{
	return or_unknown(pathprof_window_kind_name(
		pathprof_window_kind(row->basis, row->horizon, row->weighed)));
}

static void add_cells(struct view_query *query, const struct pathprof_window_row *row)
{
	const struct pathprof_totals *totals = &row->totals;
	_cleanup_free_ char *drops = drops_text(totals);
	char text[32];

	table_row(query->table, row->id);
	table_cell(query->table, CTL_PLAIN, "%" PRId64, row->id);
	table_cell(query->table, CTL_PLAIN, "%s", text_time(text, sizeof(text), row->begin_ns));
	table_cell(query->table, CTL_PLAIN, "%s",
		   text_duration(text, sizeof(text), row->end_ns - row->begin_ns));
	table_cell(query->table, CTL_PLAIN, "%s", or_unknown(pathprof_source_name(row->source)));
	table_cell(query->table, CTL_PLAIN, "%s", or_unknown(pathprof_basis_name(row->basis)));
	table_cell(query->table, CTL_PLAIN, "%s", kind_of(row));
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->clock_samples);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->bursts);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->branches);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, totals->paths);
	table_cell(query->table, CTL_PLAIN, "%.2f%%", 100 * held_ratio(row));
	table_cell(query->table, CTL_DIM, "%s", drops);
}

static json_t *counters(const uint64_t *counts, unsigned int cnt, const char *(*name)(uint32_t))
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < cnt; i++)
		if (counts[i])
			json_add_count(object, or_unknown(name(i)), counts[i]);
	return object;
}

static const char *drop_name(uint32_t drop)
{
	return pathprof_drop_name((enum pathprof_drop)drop);
}

static void add_json(struct view_query *query, const struct pathprof_window_row *row)
{
	const struct pathprof_totals *totals = &row->totals;
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	json_add_ns(object, "begin_ns", row->begin_ns);
	json_add_ns(object, "end_ns", row->end_ns);
	json_add_text(object, "source", or_unknown(pathprof_source_name(row->source)));
	json_add_text(object, "basis", or_unknown(pathprof_basis_name(row->basis)));
	json_add_text(object, "kind", kind_of(row));
	json_add_count(object, "taken_wanted", row->taken_wanted);
	json_add_count(object, "horizon", row->horizon);
	json_add_count(object, "clock_hz", row->clock_hz);
	json_add(object, "clock_kernel", json_boolean(row->clock_kernel));
	json_add_count(object, "clock_samples", totals->clock_samples);
	json_add_count(object, "bursts", totals->bursts);
	json_add_count(object, "branches", totals->branches);
	json_add_count(object, "taken", totals->taken);
	json_add_count(object, "steps", totals->steps);
	json_add_count(object, "paths", totals->paths);
	json_add_count(object, "pathless", totals->pathless);
	json_add_count(object, "insns", totals->insns);
	json_add_count(object, "stopped_ns", totals->stopped_ns);
	json_add_count(object, "source_cpu_ns", totals->source_cpu_ns);
	json_add_real(object, "held_ratio", held_ratio(row));
	json_add(object, "ends", counters(totals->ends, PATHPROF_END_CNT, pathprof_end_name));
	json_add(object, "drops", counters(totals->drops, PATHPROF_DROP_CNT, drop_name));
	json_rows_add(query->json, object);
}

static int add(void *context, const struct pathprof_window_row *row)
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
	return pathprof_store_windows(query->store, &query->filter, add, query, error);
}

static const struct table_column columns[] = {
	{"ID", TABLE_RIGHT},
	{"BEGIN", 0},
	{"LENGTH", TABLE_RIGHT},
	{"SOURCE", 0},
	{"BASIS", 0},
	{"KIND", 0},
	{"CLOCK", TABLE_RIGHT | TABLE_SPARE},
	{"BURSTS", TABLE_RIGHT},
	{"BRANCHES", TABLE_RIGHT},
	{"PATHS", TABLE_RIGHT},
	{"HELD", TABLE_RIGHT},
	{"DROPS", TABLE_SHRINK | TABLE_SPARE},
};

const struct view view_windows = {
	.name = "windows",
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.mixes_kinds = true,
	.rows = rows,
};

int cmd_windows(const struct ctl_options *options)
{
	return view_verb(&view_windows, options, 0);
}
