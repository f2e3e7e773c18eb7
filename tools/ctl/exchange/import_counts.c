// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts that programs kept themselves: see ctl.h. */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../code/apart.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/json.h"
#include "base/clock.h"
#include "base/plural.h"
#include "pathprof/path_counts.h"

#define PROFILE_BYTES ((size_t)1 << 30)
/* The time between two lines of progress. */
#define PROGRESS_NS (2 * CTL_NS_PER_S)

/* A window that the database has. */
struct known_window {
	int64_t id, begin_ns;
};

/* An import, and the numbers for its report. */
struct counts_import {
	const struct ctl_options *options;
	struct pathprof_store *store;
	struct pathprof_counted *counted;
	char *object; /* the ELF file that describes the counts */
	struct pathprof_build_id id;
	struct pathprof_profile profile;   /* of the run in hand */
	bool *named;                       /* by function: the store has its name, or names do */
	struct pathprof_jit_symbol *names; /* to be stored */
	size_t name_cnt, name_room;
	struct known_window *known;
	size_t known_cnt, known_room;
	int64_t said_ns;
	uint64_t run_cnt, count, cold_cnt, lost_cnt, function_cnt, left_out_cnt;
	uint64_t crowded_cnt, shared_cnt, unmade_cnt; /* of all runs */
	uint64_t damaged_cnt;                         /* files that were left out */
	uint64_t again_cnt; /* the same, since the database has their runs */
	struct pathprof_error error;
};

/* ---------------------------------------------------------------- the program */

/* The first file whose head can be read says what the program is. */
static int find_run(struct counts_import *import, struct pathprof_counts_run *ret_run,
		    const char **ret_file)
{
	int r = -EBADMSG;

	for (int i = 0; r == -EBADMSG && i < import->options->argc; i++) {
		*ret_file = import->options->argv[i];
		r = apart_read_run(*ret_file, ret_run, &import->error);
	}
	return r;
}

static int find_object(struct counts_import *import)
{
	const struct ctl_options *options = import->options;
	struct pathprof_counts_run run;
	const char *file = NULL;
	int r;

	if (options->recorded_cnt) {
		import->object = realpath(options->recorded[0], NULL);
		return import->object ? 0
				      : pathprof_fail(&import->error, -errno, "%s: %m",
						      options->recorded[0]);
	}
	r = find_run(import, &run, &file);
	if (r < 0)
		return r;
	if (run.object[0] != '/')
		return pathprof_fail(&import->error, -ENOENT,
				     "%s does not name its program: say --binary FILE", file);
	import->object = ctl_strdup(run.object);
	return 0;
}

static int open_program(struct counts_import *import)
{
	int r = find_object(import);

	if (r == 0)
		r = apart_open_counted(&import->counted, import->object, &import->error);
	if (r < 0)
		return r;
	if (pathprof_counted_identity(import->counted, &import->id) < 0)
		return pathprof_fail(&import->error, -ENOENT,
				     "%s has no build-id: link it with -Wl,--build-id",
				     import->object);
	import->left_out_cnt = pathprof_counted_left_out(import->counted);
	return 0;
}

/* ---------------------------------------------------------------- names */

static bool has_namesake(const struct pathprof_counted_function *functions, uint32_t cnt,
			 uint32_t own)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (i != own && strcmp(functions[i].name, functions[own].name) == 0)
			return true;
	return false;
}

/* The number of earlier functions of the same name and unit: files of one name may lie in several
 * directories. */
static uint32_t count_twins(const struct pathprof_counted_function *functions, uint32_t own)
{
	uint32_t twin_cnt = 0;

	for (uint32_t i = 0; i < own; i++)
		twin_cnt += functions[i].is_local &&
			    strcmp(functions[i].name, functions[own].name) == 0 &&
			    strcmp(functions[i].unit, functions[own].unit) == 0;
	return twin_cnt;
}

/* Two functions of one name never read alike. */
static char *name_of(const struct pathprof_counted_function *functions, uint32_t cnt, uint32_t own)
{
	const struct pathprof_counted_function *f = &functions[own];
	uint32_t twin_cnt;

	if (!f->is_local || !has_namesake(functions, cnt, own))
		return ctl_strdup(f->name);
	twin_cnt = count_twins(functions, own);
	if (twin_cnt)
		return ctl_printf("%s (%s, %" PRIu32 ")", f->name, f->unit, twin_cnt + 1);
	return ctl_printf("%s (%s)", f->name, f->unit);
}

static void add_name(struct counts_import *import, uint32_t function)
{
	uint32_t cnt;
	const struct pathprof_counted_function *functions =
		pathprof_counted_functions(import->counted, &cnt);

	if (import->named[function])
		return;
	import->named[function] = true;
	import->function_cnt++;
	ctl_grow(&import->names, import->name_cnt, &import->name_room);
	import->names[import->name_cnt++] = (struct pathprof_jit_symbol){
		.id = &import->id,
		.start = pathprof_counted_start(function, 0),
		.len_bytes = pathprof_counted_start(1, 0),
		.name = name_of(functions, cnt, function),
	};
}

static void forget_names(struct counts_import *import)
{
	while (import->name_cnt)
		free((char *)import->names[--import->name_cnt].name);
}

static int store_names(struct counts_import *import)
{
	int r = pathprof_store_add_jit_symbols(import->store, import->names, import->name_cnt,
					       &import->error);

	forget_names(import);
	return r;
}

/* ---------------------------------------------------------------- one run */

/* The start in clock ticks since boot, if it was since then. */
static uint64_t start_time_of(const struct pathprof_counts_run *run)
{
	int64_t ago_ns = pp_realtime_ns() - run->begin_ns;
	int64_t ns = (int64_t)pp_clock_ns(CLOCK_BOOTTIME) - ago_ns;

	return ago_ns < 0 || ns < 0 ? 0 : (uint64_t)ns / (CTL_NS_PER_S / sysconf(_SC_CLK_TCK));
}

static int begin_run(struct counts_import *import, const struct pathprof_counts_run *run,
		     uint32_t *ret_process)
{
	_cleanup_free_ char *comm = ctl_strdup(text_base_name(import->object));
	char container[] = "";
	struct pathprof_profile *p = &import->profile;
	struct pathprof_process process = {
		.pid = (uint32_t)run->pid,
		.start_time = start_time_of(run),
		.comm = comm,
		.container = container,
		.binary = pathprof_profile_binary(p, &import->id, import->object),
	};

	p->begin_ns = run->begin_ns;
	p->end_ns = run->end_ns;
	p->source = PATHPROF_SOURCE_IMPORT;
	p->basis = PATHPROF_BASIS_BRANCHES;
	*ret_process = pathprof_profile_process(p, &process);
	return *ret_process == PATHPROF_NO_INDEX || process.binary == PATHPROF_NO_INDEX ? -ENOMEM
											: 0;
}

static int add_function(struct counts_import *import, uint32_t process, uint32_t function)
{
	struct pathprof_counted_path *paths;
	size_t cnt;
	int r = pathprof_counted_paths(import->counted, function, &paths, &cnt);

	for (size_t i = 0; r == 0 && i < cnt; i++) {
		struct pathprof_path_count add = {
			.process = process,
			.start = pathprof_counted_start(function, paths[i].id),
			.samples = paths[i].count,
			.weight = (double)paths[i].count,
		};

		pathprof_profile_add_path(&import->profile, &add);
		import->profile.totals.paths += paths[i].count;
	}
	if (r == 0)
		free(paths);
	import->cold_cnt += pathprof_counted_cold(import->counted, function);
	if (r == 0 && cnt)
		add_name(import, function);
	return r;
}

/* Numbers of paths have PATHPROF_COUNTED_BITS; the compiler cuts functions well before. */
static int add_functions(struct counts_import *import, uint32_t process)
{
	uint32_t cnt;
	const struct pathprof_counted_function *functions =
		pathprof_counted_functions(import->counted, &cnt);
	int r = 0;

	for (uint32_t i = 0; i < cnt && r == 0; i++) {
		if (functions[i].path_cnt >> PATHPROF_COUNTED_BITS ||
		    i >> (64 - PATHPROF_COUNTED_BITS))
			return pathprof_fail(&import->error, -EFBIG,
					     "%s: function %s has more paths, or the program more "
					     "functions, than a database takes",
					     import->object, functions[i].name);
		r = add_function(import, process, i);
	}
	if (r == 0 && import->profile.totals.drops[PATHPROF_DROP_TABLE_FULL])
		r = -ENOMEM;
	return r;
}

/* ---------------------------------------------------------------- runs that are there */

static void know_window(struct counts_import *import, int64_t id, int64_t begin_ns)
{
	ctl_grow(&import->known, import->known_cnt, &import->known_room);
	import->known[import->known_cnt++] = (struct known_window){id, begin_ns};
}

static int find_process(void *context, const struct pathprof_process_row *row)
{
	(void)context;
	(void)row;
	return 1;
}

/* Returns 1 if the window has a process with the run's pid. */
static int is_of_run(struct counts_import *import, const struct pathprof_counts_run *run,
		     int64_t window)
{
	const struct pathprof_filter filter = {.window = window, .pid = (uint32_t)run->pid};

	return pathprof_store_processes(import->store, &filter, find_process, NULL, &import->error);
}

/* Returns 1 if the database has the run, else 0. Two runs of one process do not begin at the same
 * time. */
static int has_run(struct counts_import *import, const struct pathprof_counts_run *run)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < import->known_cnt; i++)
		if (import->known[i].begin_ns == run->begin_ns)
			r = is_of_run(import, run, import->known[i].id);
	return r;
}

/* ---------------------------------------------------------------- one file */

/* Nothing of a damaged file was added: the others are whole without it. */
static int leave_out(struct counts_import *import)
{
	import->damaged_cnt++;
	ctl_note("import: %s: left out", import->error.text);
	return 0;
}

static int add_run(struct counts_import *import, const struct pathprof_counts_run *run)
{
	uint64_t left_out_before = import->cold_cnt + import->lost_cnt;
	uint32_t process = 0;
	int64_t window;
	int r = begin_run(import, run, &process);

	if (r == 0)
		r = add_functions(import, process);
	if (r == 0)
		r = store_names(import);
	if (r < 0)
		return r;
	import->lost_cnt += run->lost_cnt;
	import->crowded_cnt += run->crowded_cnt;
	import->shared_cnt += run->shared_cnt;
	import->unmade_cnt += run->unmade_cnt;
	/* Executions that no path's count has, so the window is not whole. */
	import->profile.totals.drops[PATHPROF_DROP_TABLE_FULL] =
		import->cold_cnt + import->lost_cnt - left_out_before;
	import->profile.totals.drops[PATHPROF_DROP_BUSY] = run->shared_cnt || run->crowded_cnt;
	r = pathprof_store_add_window(import->store, &import->profile, &window, &import->error);
	if (r < 0)
		return r;
	know_window(import, window, run->begin_ns);
	import->run_cnt++;
	import->count += import->profile.totals.paths;
	return 0;
}

static int add_file(struct counts_import *import, const char *file)
{
	struct pathprof_counts_run run;
	int r;

	pathprof_counted_clear(import->counted);
	pathprof_profile_clear(&import->profile);
	r = pathprof_counted_add(import->counted, file, &run, &import->error);
	if (r == -EBADMSG)
		return leave_out(import);
	if (r == 0)
		r = has_run(import, &run);
	if (r < 0)
		return r;
	if (r == 0)
		return add_run(import, &run);
	import->again_cnt++;
	return 0;
}

/* ---------------------------------------------------------------- all of them */

static void say_progress(struct counts_import *import)
{
	int64_t ns = (int64_t)pp_monotonic_ns();

	if (!import->said_ns)
		import->said_ns = ns;
	if (ns - import->said_ns < PROGRESS_NS)
		return;
	import->said_ns = ns;
	ctl_note("import: %" PRIu64 " of %d %s",
		 import->run_cnt + import->damaged_cnt + import->again_cnt, import->options->argc,
		 pp_plural((uint64_t)import->options->argc, "file", "files"));
}

static int add_files(struct counts_import *import)
{
	uint32_t cnt;
	int r = 0;

	pathprof_counted_functions(import->counted, &cnt);
	import->named = ctl_alloc((cnt + 1) * sizeof(*import->named));
	r = pathprof_profile_init(&import->profile, PROFILE_BYTES);
	for (int i = 0; r == 0 && i < import->options->argc; i++) {
		r = add_file(import, import->options->argv[i]);
		say_progress(import);
	}
	if (r == 0 && import->damaged_cnt == (uint64_t)import->options->argc)
		return pathprof_fail(&import->error, -EBADMSG,
				     "no file is whole: nothing was imported; run the program "
				     "again");
	return r;
}

/* Windows of samples are refused. */
static int take_window(void *context, const struct pathprof_window_row *row)
{
	if (row->totals.bursts)
		return -EEXIST;
	know_window(context, row->id, row->begin_ns);
	return 0;
}

static int open_store(struct counts_import *import, const char *db)
{
	const struct pathprof_filter all = {0};
	int r = pathprof_store_open(&import->store, db, PATHPROF_STORE_WRITE, &import->error);

	if (r == 0)
		r = pathprof_store_windows(import->store, &all, take_window, import,
					   &import->error);
	if (r == -EEXIST)
		return pathprof_fail(&import->error, r,
				     "%s holds samples, and exact counts do not add up with them: "
				     "name another database with --output",
				     db);
	return r;
}

/* A program that counts on after an import is not followed: a part of its run would be there
 * twice. */
static void say_again(const struct counts_import *import, const char *db)
{
	if (import->again_cnt)
		ctl_note("import: %" PRIu64 " of %d %s that %s has, and %s left out; if a program "
			 "has counted on since, import its file into another "
			 "database with --output",
			 import->again_cnt, import->options->argc,
			 pp_plural(import->again_cnt, "files is of a run", "files are of runs"), db,
			 pp_plural(import->again_cnt, "was", "were"));
}

/* Reports counts that may be missing, beside those known to be lost. */
static void say_missing(const struct counts_import *import)
{
	if (import->crowded_cnt || import->shared_cnt)
		ctl_note(
			"import: counts may be missing: threads counted together that the program "
			"did not make by pthread_create(), or whose file of counts could not grow, "
			"as after setuid() or chroot(): see docs/instrumentation.md");
	if (import->unmade_cnt)
		ctl_note("import: nothing is counted of %" PRIu64 " %s that made no file: let them "
			 "write to PATHPROF_DIR, and run the program again",
			 import->unmade_cnt, pp_plural(import->unmade_cnt, "child", "children"));
}

static void print_json(const struct counts_import *import, const char *db)
{
	_cleanup_json_ json_t *object = json_object();

	json_add_text(object, "database", db);
	json_add_text(object, "binary", import->object);
	json_add_count(object, "runs", import->run_cnt);
	json_add_count(object, "paths", import->count);
	json_add_count(object, "cold", import->cold_cnt);
	json_add_count(object, "lost", import->lost_cnt);
	json_add_count(object, "shared", import->shared_cnt);
	json_add_count(object, "threads_crowded", import->crowded_cnt);
	json_add_count(object, "children_not_counted", import->unmade_cnt);
	json_add_count(object, "files_damaged", import->damaged_cnt);
	json_add_count(object, "files_again", import->again_cnt);
	json_add_count(object, "functions", import->function_cnt);
	json_add_count(object, "functions_not_counted", import->left_out_cnt);
	json_dumpf(object, stdout, JSON_INDENT(1));
	fputc('\n', stdout);
}

static void print_report(const struct counts_import *import, const char *db)
{
	const struct {
		const char *name;
		uint64_t value;
		bool always;
	} rows[] = {
		{"runs", import->run_cnt, true},
		{"paths", import->count, true},
		{"paths: cold, not told apart", import->cold_cnt, false},
		{"paths: lost, no room to count them", import->lost_cnt, false},
		{"paths: of threads that count together", import->shared_cnt, false},
		{"threads: no room, counted together", import->crowded_cnt, false},
		{"children: no file, not counted", import->unmade_cnt, false},
		{"files: damaged, left out", import->damaged_cnt, false},
		{"files: imported before, left out", import->again_cnt, false},
		{"functions that ran", import->function_cnt, true},
		{"functions: not counted by the compiler", import->left_out_cnt, false},
	};

	if (import->options->json) {
		print_json(import, db);
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].value || rows[i].always)
			printf("%-40s %16" PRIu64 "\n", rows[i].name, rows[i].value);
	printf("%-40s %16s\n", "written to", db);
}

static void release(struct counts_import *import)
{
	if (import->named)
		pathprof_profile_release(&import->profile);
	pathprof_counted_free(import->counted);
	pathprof_store_free_unused(import->store);
	free(import->known);
	free(import->named);
	forget_names(import);
	free(import->names);
	free(import->object);
}

int import_counts(const struct ctl_options *options, const char *db)
{
	struct counts_import import = {.options = options};
	int r = open_program(&import);

	if (r == 0)
		r = open_store(&import, db);
	if (r == 0)
		r = add_files(&import);
	if (r == 0)
		say_again(&import, db);
	if (r == 0)
		say_missing(&import);
	if (r == 0 && !options->no_report)
		print_report(&import, db);
	if (r < 0 && import.run_cnt)
		ctl_note("import: %" PRIu64 " %s in %s", import.run_cnt,
			 pp_plural(import.run_cnt, "run before that is", "runs before that are"),
			 db);
	release(&import);
	return r < 0 ? ctl_fail_error("import", r, &import.error) : CTL_OK;
}
