// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl baseline: profiles with a name, kept as files beside the database, where the service
 * finds them too.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../compare/selector.h"
#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "../text/table.h"
#include "../text/text.h"
#include "../view/json.h"

#define SUFFIX ".baseline"

static int need_operands(const struct ctl_options *options, int cnt)
{
	if (options->argc == cnt)
		return CTL_OK;
	return ctl_usage(options, "%s: %s", options->argv[0],
			 options->argc < cnt ? "the baseline's name is needed"
					     : "too many operands");
}

/* ---------------------------------------------------------------- set */

/* The filter in words, without its times: ", comm nginx, container web"; "" if it has no
 * other conditions. */
static char *parts_of(const struct pathprof_filter *f)
{
	const char *const parts[][2] = {
		{"", f->binary},
		{"comm ", f->comm},
		{"container ", f->container},
		{"workload ", f->workload},
		{"host ", f->host},
		{"labels ", f->labels},
		{"kind ", f->kind ? pathprof_window_kind_name(f->kind) : NULL},
	};
	char *text = f->pid ? ctl_printf(", pid %" PRIu32, f->pid) : ctl_strdup("");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char *before = text;

		if (!parts[i][1] || !parts[i][1][0])
			continue;
		text = ctl_printf("%s, %s%s", before, parts[i][0], parts[i][1]);
		free(before);
	}
	return text;
}

static char *note_of(const struct ctl_options *options)
{
	const struct pathprof_filter *filter = &options->filter;
	_cleanup_free_ char *db = ctl_db_path(options), *parts = parts_of(filter);
	char since[32] = "the beginning", until[32] = "now";

	if (filter->since_ns)
		text_time(since, sizeof(since), filter->since_ns);
	if (filter->until_ns)
		text_time(until, sizeof(until), filter->until_ns);
	if (filter->window)
		return ctl_printf("window %" PRId64 "%s of %s", filter->window, parts, db);
	return ctl_printf("%s to %s%s of %s", since, until, parts, db);
}

static int extract(const struct ctl_options *options, struct pathprof_store *store,
		   const char *file)
{
	const char *name = options->argv[1];
	_cleanup_free_ char *note = note_of(options);
	struct pathprof_error error = {""};
	struct ctl_options own = *options;
	int r = kinds_settle(store, &own.filter, NULL);

	if (r)
		return r;
	r = pathprof_store_extract_filled(store, &own.filter, file, note, options->replace,
					  baseline_names_fill, &own, &error);
	if (r == -EEXIST)
		return ctl_fail("baseline '%s' is there already: --replace it, or choose another "
				"name",
				name);
	if (r == -ENODATA)
		return ctl_fail(
			"baseline '%s': nothing was seen there: take a longer time (--since, "
			"--until), or leave a filter out",
			name);
	if (r < 0)
		return ctl_fail_error(file, r, &error);
	if (!options->json)
		printf("baseline '%s': %s\n", name, note);
	return CTL_OK;
}

static bool is_reserved(const char *name)
{
	return !strcmp(name, "rolling") || !strcmp(name, "previous");
}

static int set(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	_cleanup_free_ char *directory = selector_baselines(options);
	_cleanup_free_ char *file = NULL;
	int r = need_operands(options, 2);

	if (r)
		return r;
	file = selector_baseline_file(options, options->argv[1]);
	if (!file)
		return CTL_USAGE;
	if (is_reserved(options->argv[1]))
		return ctl_fail("baseline '%s': the service makes that one itself: choose another "
				"name",
				options->argv[1]);
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		return ctl_fail("%s: %s", directory, strerror(errno));
	return extract(options, store, file);
}

/* ---------------------------------------------------------------- rm */

static int rm(const struct ctl_options *options)
{
	_cleanup_free_ char *file = NULL;
	int r = need_operands(options, 2);

	if (r)
		return r;
	file = selector_baseline_file(options, options->argv[1]);
	if (!file)
		return CTL_USAGE;
	if (unlink(file) == 0)
		return CTL_OK;
	if (errno == ENOENT)
		return ctl_fail("baseline '%s': no such baseline: pathprofctl baseline list shows "
				"those there are",
				options->argv[1]);
	return ctl_fail("%s: %s", file, strerror(errno));
}

/* ---------------------------------------------------------------- list */

struct baseline {
	char *name, *note;
	int64_t begin_ns, end_ns; /* from its first window to its last */
	uint64_t window_cnt, samples, binary_cnt;
	struct pathprof_error why; /* it cannot be read */
};

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct baseline *baseline = context;

	if (!baseline->window_cnt || row->begin_ns < baseline->begin_ns)
		baseline->begin_ns = row->begin_ns;
	if (!baseline->window_cnt || row->end_ns > baseline->end_ns)
		baseline->end_ns = row->end_ns;
	baseline->window_cnt++;
	return 0;
}

static int take_binary(void *context, const struct pathprof_binary_row *row)
{
	struct baseline *baseline = context;

	baseline->samples += row->samples;
	baseline->binary_cnt++;
	return 0;
}

/* Profile files that `baseline set` did not make may have no note. */
static void read_note(struct baseline *baseline, struct pathprof_store *store)
{
	if (pathprof_store_note(store, &baseline->note, &baseline->why) == -ENOENT)
		baseline->why = (struct pathprof_error){""};
}

static void read_baseline(struct baseline *baseline, const char *file)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	const struct pathprof_filter everything = {0};
	int r = pathprof_store_open(&store, file, PATHPROF_STORE_READ, &baseline->why);

	if (r == 0)
		r = pathprof_store_windows(store, &everything, take_window, baseline,
					   &baseline->why);
	if (r == 0)
		r = pathprof_store_binaries(store, &everything, take_binary, baseline,
					    &baseline->why);
	if (r == 0)
		read_note(baseline, store);
	else if (!baseline->why.text[0])
		pathprof_fail(&baseline->why, r, "%s", strerror(-r));
}

static const struct table_column columns[] = {
	{"NAME", 0},
	{"BEGIN", 0},
	{"LENGTH", TABLE_RIGHT},
	{"SAMPLES", TABLE_RIGHT},
	{"BINARIES", TABLE_RIGHT | TABLE_SPARE},
	{"OF", TABLE_SHRINK},
};

static void add_cells(struct table *table, const struct baseline *baseline)
{
	char text[32];

	table_row(table, 0);
	table_cell(table, CTL_NAME, "%s", baseline->name);
	table_cell(table, CTL_PLAIN, "%s", text_time(text, sizeof(text), baseline->begin_ns));
	table_cell(table, CTL_PLAIN, "%s",
		   text_duration(text, sizeof(text), baseline->end_ns - baseline->begin_ns));
	table_cell(table, CTL_PLAIN, "%" PRIu64, baseline->samples);
	table_cell(table, CTL_PLAIN, "%" PRIu64, baseline->binary_cnt);
	table_cell(table, CTL_DIM, "%s", baseline->note ? baseline->note : "");
}

static json_t *object_of(const struct baseline *baseline)
{
	json_t *object = json_object();

	json_add_text(object, "name", baseline->name);
	json_add_ns(object, "begin_ns", baseline->begin_ns);
	json_add_ns(object, "end_ns", baseline->end_ns);
	json_add_count(object, "samples", baseline->samples);
	json_add_count(object, "binaries", baseline->binary_cnt);
	json_add_text(object, "note", baseline->note);
	return object;
}

struct listing {
	struct table table;
	struct json_rows rows;
	bool json;
};

static void list_one(struct listing *listing, const char *directory, const char *entry)
{
	_cleanup_free_ char *file = ctl_printf("%s/%s", directory, entry);
	_cleanup_free_ char *name = ctl_strdup(entry);
	struct baseline baseline = {.name = name};

	name[strlen(name) - strlen(SUFFIX)] = 0;
	read_baseline(&baseline, file);
	if (baseline.why.text[0])
		ctl_note("%s", baseline.why.text);
	else if (listing->json)
		json_rows_add(&listing->rows, object_of(&baseline));
	else
		add_cells(&listing->table, &baseline);
	free(baseline.note);
}

static int is_baseline(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > strlen(SUFFIX) &&
	       !strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX);
}

static int list(const struct ctl_options *options)
{
	_cleanup_free_ char *directory = selector_baselines(options);
	struct listing listing = {.json = options->json};
	struct dirent **entries = NULL;
	int cnt, r = need_operands(options, 1);

	if (r)
		return r;
	cnt = scandir(directory, &entries, is_baseline, alphasort);
	if (cnt < 0 && errno != ENOENT)
		return ctl_fail("%s: %s", directory, strerror(errno));
	table_init(&listing.table, columns, sizeof(columns) / sizeof(columns[0]));
	if (options->json)
		json_rows_begin(&listing.rows, stdout);
	for (int i = 0; i < cnt; i++) {
		list_one(&listing, directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (options->json)
		json_rows_end(&listing.rows);
	else if (listing.table.row_cnt)
		table_print(&listing.table, stdout, false);
	else
		ctl_note("no baselines in %s: pathprofctl baseline set NAME makes one", directory);
	table_release(&listing.table);
	return CTL_OK;
}

int cmd_baseline(const struct ctl_options *options)
{
	const char *what = options->argc ? options->argv[0] : "";

	if (!strcmp(what, "set"))
		return set(options);
	if (!strcmp(what, "list"))
		return list(options);
	if (!strcmp(what, "rm"))
		return rm(options);
	return ctl_usage(options, "one of: set NAME, list, rm NAME");
}
