// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl untested: the paths that production ran and no test did, and where they leave the
 * tested paths.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "../text/table.h"
#include "../text/text.h"
#include "../untested/untested_report.h"
#include "../view/json.h"
#include "base/plural.h"

#define DEFAULT_LIMIT 20

/* ---------------------------------------------------------------- places */

int untested_report_line(const struct untested_report *report, const struct untested_departure *d,
			 const char **ret_file, int *ret_line)
{
	const struct untested_binary *binary = &report->untested->binaries[d->binary];
	struct pathprof_code *code = symbols_code(report->symbols, &binary->id, binary->name, NULL);
	int line = 0;

	if (!code || pathprof_code_line(code, d->place, ret_file, &line) < 0 || line <= 0)
		return -ENOENT;
	*ret_line = line;
	return 0;
}

/* "deflate.c:123"; "binary+0x1234" without lines. Caller frees. */
static char *place_text(const struct untested_report *report, const struct untested_departure *d)
{
	const struct untested_binary *binary = &report->untested->binaries[d->binary];
	const char *file = NULL;
	int line;

	if (untested_report_line(report, d, &file, &line) == 0)
		return ctl_printf("%s:%d", text_base_name(file), line);
	return ctl_printf("%s+0x%" PRIx64, text_base_name(binary->name), d->place);
}

const struct symbol *untested_report_function(const struct untested_report *report,
					      const struct untested_departure *d)
{
	const struct untested_binary *binary = &report->untested->binaries[d->binary];

	return symbols_function(report->symbols, &binary->id, binary->name, d->place);
}

double untested_report_share(const struct untested_report *report,
			     const struct untested_departure *d)
{
	return report->untested->compared > 0 ? d->weight / report->untested->compared : 0;
}

size_t untested_limit(const struct untested_report *report, size_t cnt)
{
	const struct ctl_options *options = report->options;
	uint32_t limit = options->json || options->sarif ? 0 : DEFAULT_LIMIT;

	if (options->limit_given)
		limit = options->filter.limit;
	return limit && limit < cnt ? limit : cnt;
}

/* ---------------------------------------------------------------- text */

static const struct table_column all_columns[] = {
	{"SHARE", TABLE_RIGHT},
	{"SAMPLES", TABLE_RIGHT},
	{"KIND", 0},
	{"FUNCTION", TABLE_SHRINK},
	{"DEPARTS AT", TABLE_SHRINK},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
	{"PATHS", TABLE_RIGHT},
	{"ID", TABLE_RIGHT},
};
#define COLUMN_CNT   (sizeof(all_columns) / sizeof(all_columns[0]))
#define COUNT_COLUMN 6

static void add_row(struct table *table, const struct untested_report *report,
		    const struct untested_departure *d)
{
	_cleanup_free_ char *place = place_text(report, d);

	table_row(table, d->path_id);
	table_cell(table, CTL_HOT, "%.2f%%", 100 * untested_report_share(report, d));
	table_cell(table, CTL_PLAIN, "%" PRIu64, d->samples);
	table_cell(table, CTL_PLAIN, "%s", untested_kind_name(d->kind));
	table_cell(table, CTL_NAME, "%s", untested_report_function(report, d)->name);
	table_cell(table, CTL_PLAIN, "%s (%s)", place, untested_direction_name(d->direction));
	table_cell(table, CTL_DIM, "%s",
		   text_base_name(report->untested->binaries[d->binary].name));
	table_cell(table, CTL_PLAIN, "%" PRIu64, d->path_cnt);
	if (d->path_id)
		table_cell(table, CTL_PLAIN, "%" PRId64, d->path_id);
	else
		table_cell(table, CTL_DIM, "-");
}

static uint64_t lost_runs(const struct untested_report *report)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < report->tested.run_cnt; i++)
		cnt += report->tested.runs[i].lost != 0;
	return cnt;
}

void untested_print_sets(const struct untested_report *report)
{
	const struct untested *u = report->untested;
	const char *unit = untested_unit_name(u->settings.unit);

	printf("tested      %" PRIu64 " %s%s by %zu %s\n", u->tested_cnt, unit,
	       pp_plural(u->tested_cnt, "", "s"), report->tested.run_cnt,
	       pp_plural(report->tested.run_cnt, "run", "runs"));
	printf("ran         %" PRIu64 " different %s%s, ", u->seen_cnt, unit,
	       pp_plural(u->seen_cnt, "", "s"));
	if (u->settings.bursts)
		printf("seen by %" PRIu64 " %s\n", u->settings.bursts,
		       pp_plural(u->settings.bursts, "burst", "bursts"));
	else
		puts("every run of them counted");
}

static void print_head(const struct untested_report *report)
{
	const struct untested *u = report->untested;
	const struct pathprof_unseen *s = &u->unseen;

	untested_print_sets(report);
	printf("untested    %.2f%% of what runs", 100 * s->marked.value);
	if (u->settings.bursts)
		printf(" (95%%: %.1f to %.1f)", 100 * s->marked.low, 100 * s->marked.high);
	printf(", %" PRIu64 " %s%s", u->untested_cnt, untested_unit_name(u->settings.unit),
	       pp_plural(u->untested_cnt, "", "s"));
	if (u->settings.bursts)
		printf("; not seen yet by any window: below %.1f%%", 100 * s->unseen.high);
	putchar('\n');
}

static double all_weight(const struct untested *u)
{
	return u->compared + u->left_out + u->unmatched;
}

/* Prints a build that no test ran. */
static void print_other(const struct untested_binary *b)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	double all = b->compared + b->unmatched;

	printf("other build: %s (%.12s), by what tests ran of functions that both builds have in "
	       "the same shape: %.1f%% of what it ran\n",
	       text_base_name(b->name), pathprof_build_id_text(&b->id, id),
	       all > 0 ? 100 * b->compared / all : 0);
}

static void print_others(const struct untested *u)
{
	bool is_first = true;

	for (uint32_t i = 0; i < u->binary_cnt; i++) {
		if (!u->binaries[i].is_other || !u->binaries[i].has_run)
			continue;
		if (is_first)
			putchar('\n');
		is_first = false;
		print_other(&u->binaries[i]);
	}
	if (u->unmatched > 0)
		printf("not compared: %.1f%% of what ran, in functions that changed between the "
		       "builds%s%s\n",
		       100 * u->unmatched / all_weight(u), u->why.text[0] ? "; " : "", u->why.text);
}

/* Whether windows know their segments. */
static void print_windows(const struct untested *u)
{
	if (u->windows.unknown)
		printf("not compared: %" PRIu64 " of %" PRIu64 " %s (%" PRId64 " to %" PRId64
		       "), which %s not say which piece followed which: old ones, of a source that "
		       "counts in the kernel, or of a parcel or profile file\n",
		       u->windows.unknown, u->windows.unknown + u->windows.known,
		       pp_plural(u->windows.unknown + u->windows.known, "window", "windows"),
		       u->windows.first, u->windows.last,
		       pp_plural(u->windows.unknown, "does", "do"));
	if (u->windows.lost)
		printf("not kept: %" PRIu64 " %s for which windows had no room (MemoryMax=)\n",
		       u->windows.lost, pp_plural(u->windows.lost, "segment", "segments"));
}

static void print_notes(const struct untested_report *report)
{
	const struct untested *u = report->untested;
	double all = all_weight(u);

	print_others(u);
	if (u->left_out > 0)
		printf("\nnot compared: %.1f%% of what ran, of builds that the tested set does not "
		       "have%s\n",
		       100 * u->left_out / all,
		       u->settings.all_binaries ? ""
						: ", and of the C library, which chooses its "
						  "functions by the processor");
	if (u->unread > 0)
		printf("not cut into pieces: %.1f%%, whose code is not to be had\n",
		       100 * u->unread / u->compared);
	print_windows(u);
	if (u->doubtful > 0)
		printf("not believed: %.2f%%, untested paths that fewer than %" PRIu32 " %s saw\n",
		       100 * u->doubtful / u->compared, u->settings.min_bursts,
		       pp_plural(u->settings.min_bursts, "burst", "bursts"));
	if (lost_runs(report))
		ctl_note("untested: %" PRIu64 " %s not whole: what was lost may be shown as "
			 "untested",
			 lost_runs(report),
			 pp_plural(lost_runs(report), "run of the tested set is",
				   "runs of the tested set are"));
}

static void print_text(const struct untested_report *report)
{
	static const char *const counts[] = {"PATHS", "PIECES", "SEGMENTS"};
	size_t row_cnt = untested_limit(report, report->untested->departure_cnt);
	struct table_column columns[COLUMN_CNT];
	struct table table;

	memcpy(columns, all_columns, sizeof(columns));
	columns[COUNT_COLUMN].title = counts[report->untested->settings.unit];
	print_head(report);
	if (row_cnt)
		putchar('\n');
	table_init(&table, columns, COLUMN_CNT);
	for (size_t i = 0; i < row_cnt; i++)
		add_row(&table, report, &report->untested->departures[i]);
	if (row_cnt)
		table_print(&table, stdout, false);
	table_release(&table);
	if (row_cnt < report->untested->departure_cnt)
		printf("%zu more: -n 0 shows all\n", report->untested->departure_cnt - row_cnt);
	print_notes(report);
}

/* ---------------------------------------------------------------- JSON */

static json_t *departure_json(const struct untested_report *report,
			      const struct untested_departure *d)
{
	const struct untested_binary *binary = &report->untested->binaries[d->binary];
	const struct symbol *function = untested_report_function(report, d);
	_cleanup_free_ char *place = place_text(report, d);
	json_t *object = json_object();

	json_add_real(object, "share", untested_report_share(report, d));
	json_add_count(object, "samples", d->samples);
	json_add_text(object, "kind", untested_kind_name(d->kind));
	json_add_function(object, "function", function);
	json_add_text(object, "departs_at", place);
	json_add_text(object, "direction", untested_direction_name(d->direction));
	json_add_hex(object, "place", d->place);
	json_add_binary(object, "binary", &binary->id, binary->name);
	json_add_count(object, "paths", d->path_cnt);
	if (d->path_id)
		json_add_ns(object, "id", d->path_id);
	else
		json_add(object, "id", json_null());
	return object;
}

static json_t *share_json(const struct pathprof_share *share)
{
	json_t *object = json_object();

	json_add_real(object, "share", share->value);
	json_add_real(object, "low", share->low);
	json_add_real(object, "high", share->high);
	return object;
}

static json_t *others_json(const struct untested *u)
{
	json_t *others = json_array();

	for (uint32_t i = 0; i < u->binary_cnt; i++) {
		const struct untested_binary *b = &u->binaries[i];
		json_t *other;

		if (!b->is_other || !b->has_run)
			continue;
		other = json_object();
		json_add_binary(other, "binary", &b->id, b->name);
		json_add_real(other, "matched", b->compared / (b->compared + b->unmatched));
		json_array_append_new(others, other);
	}
	return others;
}

static void print_json(const struct untested_report *report)
{
	const struct untested *u = report->untested;
	_cleanup_json_ json_t *object = json_object();
	json_t *departures = json_array();

	json_add_text(object, "unit", untested_unit_name(u->settings.unit));
	json_add_count(object, "tested", u->tested_cnt);
	json_add_count(object, "runs", report->tested.run_cnt);
	json_add_count(object, "runs_not_whole", lost_runs(report));
	json_add_count(object, "bursts", u->settings.bursts);
	json_add_count(object, "seen", u->seen_cnt);
	json_add_count(object, "untested", u->untested_cnt);
	json_add(object, "untested_share", share_json(&u->unseen.marked));
	json_add(object, "unseen_share", share_json(&u->unseen.unseen));
	json_add_real(object, "not_compared", (u->left_out + u->unmatched) / all_weight(u));
	json_add_real(object, "not_matched", u->unmatched / all_weight(u));
	json_add(object, "other_builds", others_json(u));
	json_add_real(object, "not_cut", u->unread / u->compared);
	if (u->settings.unit == UNTESTED_SEGMENT) {
		json_add_count(object, "windows_without_segments", u->windows.unknown);
		json_add_count(object, "segments_lost", u->windows.lost);
	}
	json_add_real(object, "not_believed", u->doubtful / u->compared);
	for (size_t i = 0; i < untested_limit(report, u->departure_cnt); i++)
		json_array_append_new(departures, departure_json(report, &u->departures[i]));
	json_add(object, "departures", departures);
	json_dumpf(object, stdout, JSON_INDENT(1));
	putchar('\n');
}

/* ---------------------------------------------------------------- the verb */

/* A record that the hardware dropped may look like another path, so there one burst is no proof. */
static int ask_of_hardware(void *context, const struct pathprof_window_row *row)
{
	uint32_t *min_bursts = context;

	if (row->source == PATHPROF_SOURCE_LBR)
		*min_bursts = 2;
	return row->source == PATHPROF_SOURCE_LBR;
}

static int settings_of(struct untested_report *report, struct untested_settings *ret_settings,
		       struct pathprof_error *error)
{
	const struct ctl_options *options = report->options;
	int r = 0;

	*ret_settings = (struct untested_settings){
		.unit = (enum untested_unit)options->unit,
		.min_bursts = options->min_bursts,
		.all_binaries = report->filter.binary != NULL,
		.bursts = report->measure.bursts,
		.options = options,
	};
	if (!options->min_bursts)
		r = pathprof_store_windows(report->store, &report->filter, ask_of_hardware,
					   &ret_settings->min_bursts, error);
	return r < 0 ? r : 0;
}

static int check(const struct untested_report *report)
{
	const struct ctl_options *options = report->options;
	double low = report->untested->unseen.marked.low;

	if (!options->check || !(low > options->threshold))
		return CTL_OK;
	ctl_note("untested: %.2f%% or more of what runs is untested, and %.2f%% may be", 100 * low,
		 100 * options->threshold);
	return CTL_OVER;
}

static int print(const struct untested_report *report)
{
	if (report->options->sarif)
		return untested_sarif(report);
	if (report->options->lcov)
		return untested_lcov(report);
	if (report->options->unused)
		return untested_unused(report);
	report->options->json ? print_json(report) : print_text(report);
	return CTL_OK;
}

static int compare(struct untested_report *report)
{
	struct untested_settings settings;
	struct pathprof_error error = {""};
	struct kinds kinds;
	int r = kinds_settle(report->store, &report->filter, &kinds);

	if (r)
		return r;
	r = measure_load(&report->measure, report->store, &report->filter, kinds.used, &error);
	if (r == 0)
		r = settings_of(report, &settings, &error);
	if (r == 0)
		r = untested_work_out(&report->untested, &report->tested, report->store,
				      &report->filter, report->symbols, &settings, &error);
	if (r < 0)
		return ctl_fail_error("untested", r, &error);
	r = print(report);
	return r ? r : check(report);
}

static int open_both(struct untested_report *report)
{
	const struct ctl_options *options = report->options;
	struct pathprof_error error = {""};
	int r;

	if (options->sarif + options->lcov + options->unused > 1)
		return ctl_usage(options, "one of --sarif, --lcov and --unused");
	if (options->lcov && options->unit != UNTESTED_PATH)
		return ctl_usage(options, "--lcov compares paths, not pieces or segments");
	if (options->argc != 1)
		return ctl_usage(options, "one tested set, which `tested merge` or "
					  "`pathprof-trace --paths` wrote");
	r = tested_open(&report->tested, options->argv[0], &error);
	if (r < 0)
		return ctl_fail_error(options->argv[0], r, &error);
	if (report->tested.counted)
		return ctl_fail("%s: its paths are the compiler's, by number: `pathprofctl cfg "
				"FUNCTION --tested %s` and `compare` hold others against them",
				options->argv[0], options->argv[0]);
	return ctl_db_open(&report->store, options, PATHPROF_STORE_READ);
}

int cmd_untested(const struct ctl_options *options)
{
	struct untested_report report = {.options = options, .filter = options->filter};
	int r = open_both(&report);

	report.filter.limit = 0;
	if (r == CTL_OK) {
		report.symbols = symbols_new(report.store);
		r = compare(&report);
	}
	untested_free(report.untested);
	symbols_free(report.symbols);
	pathprof_store_free(report.store);
	tested_release(&report.tested);
	return r;
}
