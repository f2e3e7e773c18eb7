// SPDX-License-Identifier: GPL-2.0-or-later
/* The report of a recording: see ctl.h. */
#include "../ctl.h"

#include <inttypes.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/plural.h"
#include "view.h"

#define FUNCTION_CNT 8
#define PATH_CNT     12

struct sums {
	uint64_t windows, bursts, branches, paths, stopped_ns;
	int64_t begin_ns, end_ns;
};

static int add_window(void *context, const struct pathprof_window_row *row)
{
	struct sums *sums = context;

	sums->windows++;
	sums->bursts += row->totals.bursts;
	sums->branches += row->totals.branches;
	sums->paths += row->totals.paths;
	sums->stopped_ns += row->totals.stopped_ns;
	if (!sums->begin_ns || row->begin_ns < sums->begin_ns)
		sums->begin_ns = row->begin_ns;
	if (row->end_ns > sums->end_ns)
		sums->end_ns = row->end_ns;
	return 0;
}

static void print_summary(FILE *out, const struct sums *sums, const char *db)
{
	char length[32], held[32];
	_cleanup_free_ char *safe = text_escape(db);
	int64_t length_ns = sums->end_ns - sums->begin_ns;

	fprintf(out,
		"\n%" PRIu64 " %s of %" PRIu64 " %s in %" PRIu64
		" %s over %s (held %s, %.0f %% of one CPU) in %s\n",
		sums->paths, pp_plural(sums->paths, "path", "paths"), sums->branches,
		pp_plural(sums->branches, "branch", "branches"), sums->bursts,
		pp_plural(sums->bursts, "burst", "bursts"),
		text_duration(length, sizeof(length), length_ns),
		text_duration(held, sizeof(held), (int64_t)sums->stopped_ns),
		length_ns > 0 ? 100 * (double)sums->stopped_ns / (double)length_ns : 0, safe);
}

static int count_values(void *context, const struct pathprof_value_row *row)
{
	++*(size_t *)context;
	return 0;
}

/* Does not print the values themselves: the report is not the place to look them up. */
static void print_values(FILE *out, struct pathprof_store *store,
			 const struct pathprof_filter *filter, const char *db)
{
	_cleanup_free_ char *safe = text_escape(db);
	size_t cnt = 0;

	pathprof_store_values(store, filter, count_values, &cnt, NULL);
	if (cnt)
		fprintf(out, "\nValues of %zu %s: pathprofctl --db %s values\n", cnt,
			pp_plural(cnt, "parameter", "parameters"), safe);
}

static void print_views(FILE *out, struct pathprof_store *store,
			const struct pathprof_filter *filter, const char *db)
{
	struct view_settings settings = {.filter = *filter, .no_sources = true};
	_cleanup_free_ char *safe = text_escape(db);

	fputs("\nHottest functions\n", out);
	settings.filter.limit = FUNCTION_CNT;
	view_print(&view_functions, store, &settings, out);
	fputs("\nHottest paths\n", out);
	settings.filter.limit = PATH_CNT;
	settings.no_sources = false;
	view_print(&view_paths, store, &settings, out);
	fprintf(out, "\nOne path in full: pathprofctl --db %s show ID\n", safe);
}

static void print_nothing(FILE *out, struct pathprof_store *store,
			  const struct pathprof_filter *filter, const char *left_out,
			  const struct sums *sums)
{
	char why[256];

	if (!sums->bursts)
		fprintf(out, "Nothing was seen: %s.\n",
			nothing_text(why, sizeof(why), store, filter));
	else if (left_out[0])
		fprintf(out, "Nothing was seen whole: %s.\n", left_out);
	else
		fputs("Nothing was seen whole: run it longer or give it more --overhead.\n", out);
}

static void print_seen(FILE *out, struct pathprof_store *store,
		       const struct pathprof_filter *filter, const char *db,
		       const struct sums *sums)
{
	char left_out[256];

	left_out_text(left_out, sizeof(left_out), store, filter);
	if (!sums->paths) {
		print_nothing(out, store, filter, left_out, sums);
		return;
	}
	print_views(out, store, filter, db);
	if (left_out[0])
		fprintf(out, "%s.\n", left_out);
}

static void print_json(FILE *out, struct pathprof_store *store,
		       const struct pathprof_filter *filter)
{
	struct view_settings settings = {.filter = *filter, .json = true};

	settings.filter.limit = PATH_CNT;
	view_print(&view_paths, store, &settings, out);
}

void report_print(FILE *out, const char *db, int64_t since_ns, bool json)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_filter filter = {.since_ns = since_ns};
	struct pathprof_error error = {""};
	struct sums sums = {0};
	int r = pathprof_store_open(&store, db, PATHPROF_STORE_READ, &error);

	if (r == 0)
		r = pathprof_store_windows(store, &filter, add_window, &sums, &error);
	if (r < 0) {
		ctl_fail_error(db, r, &error);
		return;
	}
	if (!sums.windows) /* The daemon has said why. */
		return;
	if (json) {
		print_json(out, store, &filter);
		return;
	}
	print_summary(out, &sums, db);
	print_seen(out, store, &filter, db, &sums);
	filter.limit = 0;
	print_values(out, store, &filter, db);
}
