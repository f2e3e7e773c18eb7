// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl tested: the paths that tests ran, as pathprof-trace --paths counted them: files put
 * together, the runs in one, and those that add no path.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../untested/tested.h"
#include "../view/listing.h"
#include "base/table.h"

#define PROFILE_BYTES ((size_t)4 << 30)
#define PATHS_MAX     (1u << 28)

/* ---------------------------------------------------------------- merge */

/* One run that is copied from a file into another. */
struct copy {
	struct pathprof_store *from;
	bool counted; /* by the programs themselves: tested.h */
	struct pathprof_filter window;
	struct pathprof_profile profile;
	uint32_t process;
	struct pathprof_run run;
	struct pathprof_piece_row *pieces;
	struct pathprof_segment_row *segments;
	size_t piece_room, segment_room;
};

static int take_process(void *context, const struct pathprof_process_row *row)
{
	struct copy *copy = context;
	char container[] = "";
	const struct pathprof_process process = {
		.pid = row->pid,
		.start_time = row->start_time,
		.exec_cnt = row->exec_cnt,
		.comm = (char *)row->comm,
		.container = container,
		.binary = PATHPROF_NO_INDEX,
	};

	/* The counts are those of the whole run, and its first process stands for all. */
	copy->process = pathprof_profile_process(&copy->profile, &process);
	return 1;
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct copy *copy = context;
	const struct pathprof_path_count path = {
		.process = copy->process,
		.binary =
			pathprof_profile_binary(&copy->profile, &row->binary_id, row->binary_name),
		.start = row->start,
		.length = row->length,
		.outcomes = row->outcomes,
		.samples = row->samples,
		.weight = row->weight,
	};

	pathprof_profile_add_path(&copy->profile, &path);
	return 0;
}

/* The profile takes its own copies of names, since rows are borrowed. */
static struct pathprof_piece keep_name(struct copy *copy, const struct pathprof_piece *piece)
{
	struct pathprof_piece kept = *piece;
	uint32_t binary =
		pathprof_profile_binary(&copy->profile, &piece->binary_id, piece->binary_name);

	kept.binary_name = binary == PATHPROF_NO_INDEX ? "" : copy->profile.binaries[binary].name;
	return kept;
}

static int take_piece(void *context, const struct pathprof_piece_row *row)
{
	struct copy *copy = context;

	ctl_grow(&copy->pieces, copy->run.piece_cnt, &copy->piece_room);
	copy->pieces[copy->run.piece_cnt++] = (struct pathprof_piece_row){
		.piece = keep_name(copy, &row->piece), .count = row->count};
	return 0;
}

static int take_segment(void *context, const struct pathprof_segment_row *row)
{
	struct copy *copy = context;

	ctl_grow(&copy->segments, copy->run.segment_cnt, &copy->segment_room);
	copy->segments[copy->run.segment_cnt++] =
		(struct pathprof_segment_row){.first = keep_name(copy, &row->first),
					      .second = keep_name(copy, &row->second),
					      .count = row->count};
	return 0;
}

static int read_run(struct copy *copy, const struct tested_run *run, struct pathprof_error *error)
{
	struct pathprof_profile *p = &copy->profile;
	int r;

	pathprof_profile_clear(p);
	p->begin_ns = run->begin_ns;
	p->end_ns = run->end_ns;
	p->source = copy->counted ? PATHPROF_SOURCE_IMPORT : PATHPROF_SOURCE_TRACE;
	p->basis = PATHPROF_BASIS_BRANCHES;
	p->totals.paths = run->count;
	p->totals.drops[PATHPROF_DROP_TABLE_FULL] = run->lost;
	p->totals.drops[PATHPROF_DROP_UNRESOLVED] = run->nowhere;
	copy->window = (struct pathprof_filter){.window = run->window};
	copy->run = (struct pathprof_run){.note = run->command[0] ? run->command : NULL};
	r = pathprof_store_processes(copy->from, &copy->window, take_process, copy, error);
	if (r >= 0)
		r = pathprof_store_paths(copy->from, &copy->window, take_path, copy, error);
	if (r == 0)
		r = pathprof_store_pieces(copy->from, &copy->window, take_piece, copy, error);
	if (r == 0)
		r = pathprof_store_segments(copy->from, &copy->window, take_segment, copy, error);
	return r;
}

static int write_run(struct copy *copy, struct pathprof_store *store, const struct tested_run *run,
		     struct pathprof_error *error)
{
	int64_t window = 0;
	int r = read_run(copy, run, error);

	if (r == 0 && copy->profile.totals.drops[PATHPROF_DROP_TABLE_FULL] != run->lost)
		r = pathprof_fail(error, -ENOMEM, "a run has more paths than fit into memory");
	if (r == 0)
		r = pathprof_store_add_window(store, &copy->profile, &window, error);
	copy->run.pieces = copy->pieces;
	copy->run.segments = copy->segments;
	return r < 0 ? r : pathprof_store_add_run(store, window, &copy->run, error);
}

static int merge_file(const char *file, struct pathprof_store *store, struct pathprof_error *error)
{
	struct copy copy = {NULL};
	struct tested tested;
	int r = tested_open(&tested, file, error);

	if (r < 0)
		return r;
	copy.from = tested.store;
	copy.counted = tested.counted;
	r = pathprof_profile_init(&copy.profile, PROFILE_BYTES);
	if (r < 0)
		pathprof_fail(error, r, "out of memory");
	for (size_t i = 0; i < tested.run_cnt && r == 0; i++)
		r = write_run(&copy, store, &tested.runs[i], error);
	pathprof_profile_release(&copy.profile);
	free(copy.pieces);
	free(copy.segments);
	tested_release(&tested);
	return r;
}

static int merge_all(void *context, struct pathprof_store *store, struct pathprof_error *error)
{
	const struct ctl_options *options = context;
	int r = 0;

	for (int i = 1; i < options->argc && r == 0; i++)
		r = merge_file(options->argv[i], store, error);
	return r;
}

static int cmd_merge(const struct ctl_options *options)
{
	struct pathprof_error error = {""};
	int r;

	if (options->argc < 2 || !options->output)
		return ctl_usage(options, "merge needs -o FILE and files that `pathprof-trace "
					  "--paths` wrote");
	r = pathprof_store_make(options->output, true, merge_all, (void *)options, &error);
	return r < 0 ? ctl_fail_error(options->output, r, &error) : CTL_OK;
}

/* ---------------------------------------------------------------- list */

static const struct table_column list_columns[] = {
	{"RUN", TABLE_RIGHT},      {"BEGIN", TABLE_SPARE}, {"LENGTH", TABLE_RIGHT | TABLE_SPARE},
	{"PATHS", TABLE_RIGHT},    {"ENDED", TABLE_RIGHT}, {"WHOLE", 0},
	{"COMMAND", TABLE_SHRINK},
};

static void list_run(struct listing *listing, const struct tested_run *run, uint64_t path_cnt)
{
	char text[32];

	if (listing->json) {
		json_t *object = json_object();

		json_add_ns(object, "run", run->window);
		json_add_ns(object, "begin_ns", run->begin_ns);
		json_add_ns(object, "end_ns", run->end_ns);
		json_add_count(object, "paths", path_cnt);
		json_add_count(object, "ended", run->count);
		json_add(object, "whole", json_boolean(!run->lost));
		json_add_text(object, "command", run->command);
		json_rows_add(&listing->rows, object);
		return;
	}
	table_row(&listing->table, run->window);
	table_cell(&listing->table, CTL_PLAIN, "%" PRId64, run->window);
	table_cell(&listing->table, CTL_PLAIN, "%s", text_time(text, sizeof(text), run->begin_ns));
	table_cell(&listing->table, CTL_PLAIN, "%s",
		   text_duration(text, sizeof(text), run->end_ns - run->begin_ns));
	table_cell(&listing->table, CTL_PLAIN, "%" PRIu64, path_cnt);
	table_cell(&listing->table, CTL_PLAIN, "%" PRIu64, run->count);
	table_cell(&listing->table, run->lost ? CTL_HOT : CTL_PLAIN, run->lost ? "no" : "yes");
	table_cell(&listing->table, CTL_NAME, "%s", run->command[0] ? run->command : "-");
}

static int list_runs(struct listing *listing, const struct tested *tested,
		     struct pathprof_error *error)
{
	int r = 0;

	for (size_t i = 0; i < tested->run_cnt && r == 0; i++) {
		uint64_t path_cnt = 0;

		r = pathprof_store_count_paths(tested->store, tested->runs[i].window, &path_cnt,
					       error);
		if (r == 0)
			list_run(listing, &tested->runs[i], path_cnt);
	}
	return r;
}

static int with_file(const struct ctl_options *options, const char *what,
		     const struct table_column *columns, size_t column_cnt,
		     int (*print)(struct listing *listing, const struct tested *tested,
				  struct pathprof_error *error))
{
	struct listing listing = {.json = options->json};
	struct pathprof_error error = {""};
	struct tested tested;
	int r;

	if (options->argc != 2)
		return ctl_usage(options, "%s needs one file, which `tested merge` wrote", what);
	r = tested_open(&tested, options->argv[1], &error);
	if (r < 0)
		return ctl_fail_error(options->argv[1], r, &error);
	table_init(&listing.table, columns, column_cnt);
	listing_begin(&listing);
	r = print(&listing, &tested, &error);
	listing_end(&listing, NULL);
	tested_release(&tested);
	return r < 0 ? ctl_fail_error(options->argv[1], r, &error) : CTL_OK;
}

/* ---------------------------------------------------------------- redundant */

/* The paths of each run, as numbers. */
struct cover {
	struct pp_keyed binaries; /* struct pathprof_build_id */
	struct pp_keyed paths;    /* struct tested_key */
	struct covered {
		uint32_t *paths;
		size_t cnt, room;
		size_t adds; /* upper bound: its paths that no chosen run has */
		bool chosen;
	} * runs, *run; /* run: the current one */
	bool *has;      /* by path: a chosen run has it */
	int error;
};

static int take_number(void *context, const struct pathprof_path_row *row)
{
	struct cover *cover = context;
	struct tested_key key = {
		.start = row->start, .length = row->length, .outcomes = row->outcomes};
	uint32_t number = 0;
	int r = pp_keyed_at(&cover->binaries, &row->binary_id, &key.binary);

	if (r == 0)
		r = pp_keyed_at(&cover->paths, &key, &number);
	if (r < 0)
		return r;
	ctl_grow(&cover->run->paths, cover->run->cnt, &cover->run->room);
	cover->run->paths[cover->run->cnt++] = number;
	return 0;
}

static int read_paths(struct cover *cover, const struct tested *tested,
		      struct pathprof_error *error)
{
	int r = 0;

	for (size_t i = 0; i < tested->run_cnt && r == 0; i++) {
		const struct pathprof_filter filter = {.window = tested->runs[i].window};

		cover->run = &cover->runs[i];
		r = pathprof_store_paths(tested->store, &filter, take_number, cover, error);
		cover->run->adds = cover->run->cnt;
	}
	if (r == -ENOSPC || r == -ENOMEM)
		return pathprof_fail(error, -ENOMEM, "more paths than fit into memory");
	return r;
}

static size_t count_new(const struct cover *cover, const struct covered *run)
{
	size_t cnt = 0;

	for (size_t i = 0; i < run->cnt; i++)
		cnt += !cover->has[run->paths[i]];
	return cnt;
}

/*
 * Returns the run that adds most paths. The number that a run adds only shrinks as others are
 * chosen, so most runs need not be counted again (the lazy greedy way to cover a set).
 */
static struct covered *best_run(struct cover *cover, size_t cnt)
{
	struct covered *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct covered *run = &cover->runs[i];

		if (run->chosen || (best && run->adds <= most))
			continue;
		run->adds = count_new(cover, run);
		if (!best || run->adds > most) {
			best = run;
			most = run->adds;
		}
	}
	return best;
}

static void choose(struct cover *cover, struct covered *run)
{
	run->chosen = true;
	for (size_t i = 0; i < run->cnt; i++)
		cover->has[run->paths[i]] = true;
}

static const struct table_column redundant_columns[] = {
	{"RUN", TABLE_RIGHT},     {"PATHS", TABLE_RIGHT}, {"ADDS", TABLE_RIGHT},
	{"COVERED", TABLE_RIGHT}, {"REDUNDANT", 0},       {"COMMAND", TABLE_SHRINK},
};

static void list_choice(struct listing *listing, const struct tested_run *run,
			const struct covered *covered, double share)
{
	if (listing->json) {
		json_t *object = json_object();

		json_add_ns(object, "run", run->window);
		json_add_count(object, "paths", covered->cnt);
		json_add_count(object, "adds", covered->adds);
		json_add_real(object, "covered", share);
		json_add(object, "redundant", json_boolean(!covered->adds));
		json_add_text(object, "command", run->command);
		json_rows_add(&listing->rows, object);
		return;
	}
	table_row(&listing->table, run->window);
	table_cell(&listing->table, CTL_PLAIN, "%" PRId64, run->window);
	table_cell(&listing->table, CTL_PLAIN, "%zu", covered->cnt);
	table_cell(&listing->table, CTL_PLAIN, "%zu", covered->adds);
	table_cell(&listing->table, CTL_PLAIN, "%.1f%%", 100 * share);
	table_cell(&listing->table, CTL_PLAIN, "%s", covered->adds ? "-" : "yes");
	table_cell(&listing->table, CTL_NAME, "%s", run->command[0] ? run->command : "-");
}

static void list_choices(struct listing *listing, struct cover *cover, const struct tested *tested)
{
	size_t covered_cnt = 0;

	for (size_t i = 0; i < tested->run_cnt; i++) {
		struct covered *run = best_run(cover, tested->run_cnt);

		choose(cover, run);
		covered_cnt += run->adds;
		list_choice(listing, &tested->runs[run - cover->runs], run,
			    cover->paths.cnt ? (double)covered_cnt / cover->paths.cnt : 1);
	}
}

static int list_redundant(struct listing *listing, const struct tested *tested,
			  struct pathprof_error *error)
{
	struct cover cover = {.runs = ctl_alloc((tested->run_cnt + 1) * sizeof(*cover.runs))};
	int r;

	pp_keyed_init(&cover.binaries, sizeof(struct pathprof_build_id),
		      sizeof(struct pathprof_build_id), 1u << 20, 0);
	pp_keyed_init(&cover.paths, sizeof(struct tested_key), sizeof(struct tested_key), PATHS_MAX,
		      0);
	r = read_paths(&cover, tested, error);
	cover.has = ctl_alloc(cover.paths.cnt + 1);
	if (r == 0)
		list_choices(listing, &cover, tested);
	for (size_t i = 0; i < tested->run_cnt; i++)
		free(cover.runs[i].paths);
	free(cover.runs);
	free(cover.has);
	pp_keyed_release(&cover.binaries);
	pp_keyed_release(&cover.paths);
	return r;
}

int cmd_tested(const struct ctl_options *options)
{
	const char *what = options->argc ? options->argv[0] : "";

	if (!strcmp(what, "merge"))
		return cmd_merge(options);
	if (!strcmp(what, "list"))
		return with_file(options, what, list_columns,
				 sizeof(list_columns) / sizeof(list_columns[0]), list_runs);
	if (!strcmp(what, "redundant"))
		return with_file(options, what, redundant_columns,
				 sizeof(redundant_columns) / sizeof(redundant_columns[0]),
				 list_redundant);
	return ctl_usage(options, "one of: merge, list, redundant");
}
