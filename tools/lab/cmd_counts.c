// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts that programs built with pathprof-cc kept of their paths: the hottest paths with their
 * lines, or every path's number and count. Damaged files are named and left out.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/vector.h"
#include "lab.h"
#include "pathprof/path_counts.h"

#define TOP 10
/* The most lines of a path that are shown. Further lines are only counted. */
#define LINES_MAX 40

struct hot_path {
	const struct pathprof_counted_function *function;
	uint32_t index; /* of the function */
	struct pathprof_counted_path path;
};

struct hot_paths {
	struct hot_path *paths;
	size_t cnt, room;
	uint64_t total;
	uint64_t cold;     /* not told apart, and not in total */
	uint64_t told_cnt; /* left out, since the profile tells them */
};

static const struct option options[] = {{"binary", required_argument, NULL, 'b'},
					{"top", required_argument, NULL, 't'},
					{"all", no_argument, NULL, 'a'},
					{0}};

/* ---------------------------------------------------------------- reading */

/* The first file whose head can be read says what the program is. */
static void find_run(char **files, int file_cnt, struct pathprof_counts_run *ret_run)
{
	struct pathprof_error error = {""};
	const char *file = "";
	int r = -EBADMSG;

	for (int i = 0; r == -EBADMSG && i < file_cnt; i++) {
		file = files[i];
		r = pathprof_counts_run(file, ret_run, &error);
	}
	if (r < 0)
		lab_fail("%s", error.text);
	if (!ret_run->object[0])
		lab_fail("%s does not name its program: say --binary FILE", file);
}

static struct pathprof_counted *open_counted(const char *binary, char **files, int file_cnt)
{
	struct pathprof_counted *counted;
	struct pathprof_error error;
	struct pathprof_counts_run run;

	if (!binary) {
		find_run(files, file_cnt, &run);
		binary = run.object;
	}
	if (pathprof_counted_open(&counted, binary, &error) < 0)
		lab_fail("%s", error.text);
	return counted;
}

static void say_missing(const char *file, const struct pathprof_counts_run *run)
{
	if (run->lost_cnt)
		fprintf(stderr,
			"pathprof-lab: %s: %" PRIu64 " paths were not counted: their table had no "
			"room, or there was no file yet\n",
			file, run->lost_cnt);
	if (run->crowded_cnt)
		fprintf(stderr,
			"pathprof-lab: %s: %" PRIu64 " %s no counters of their own, since the file "
			"could not grow: counts may be missing\n",
			file, run->crowded_cnt,
			pp_plural(run->crowded_cnt, "thread had", "threads had"));
	if (run->shared_cnt)
		fprintf(stderr,
			"pathprof-lab: %s: %" PRIu64
			" %s of threads that have no counters of their "
			"own: others may be missing\n",
			file, run->shared_cnt,
			pp_plural(run->shared_cnt, "count is", "counts are"));
	if (run->unmade_cnt)
		fprintf(stderr,
			"pathprof-lab: %s: %" PRIu64 " %s made no file: nothing that they ran is "
			"counted\n",
			file, run->unmade_cnt, pp_plural(run->unmade_cnt, "child", "children"));
}

/* Returns whether the file is whole. Nothing of a damaged file is added. */
static bool add_file(struct pathprof_counted *counted, const char *file)
{
	struct pathprof_counts_run run;
	struct pathprof_error error;
	int r = pathprof_counted_add(counted, file, &run, &error);

	if (r == -EBADMSG) {
		fprintf(stderr, "pathprof-lab: %s: left out\n", error.text);
		return false;
	}
	if (r < 0)
		lab_fail("%s", error.text);
	say_missing(file, &run);
	return true;
}

/* Returns how many files are damaged and were left out, each with a message. Exits if none is
 * whole. */
static int add_files(struct pathprof_counted *counted, char **files, int file_cnt)
{
	int damaged_cnt = 0;

	for (int i = 0; i < file_cnt; i++)
		damaged_cnt += !add_file(counted, files[i]);
	if (damaged_cnt == file_cnt)
		exit(EXIT_FAILURE);
	return damaged_cnt;
}

static void take_function(struct hot_paths *hot, const struct pathprof_counted *counted,
			  const struct pathprof_counted_function *function, uint32_t f)
{
	struct pathprof_counted_path *paths;
	size_t cnt;

	if (pathprof_counted_paths(counted, f, &paths, &cnt) < 0)
		lab_fail("out of memory");
	for (size_t i = 0; i < cnt; i++) {
		if (pp_grow(&hot->paths, hot->cnt, &hot->room) < 0)
			lab_fail("out of memory");
		hot->paths[hot->cnt++] = (struct hot_path){function, f, paths[i]};
		hot->total += paths[i].count;
	}
	free(paths);
	hot->cold += pathprof_counted_cold(counted, f);
	hot->told_cnt += function->first == f ? function->told_cnt : 0;
}

static int by_count(const void *x, const void *y)
{
	const struct hot_path *a = x, *b = y;

	if (a->path.count != b->path.count)
		return (a->path.count < b->path.count) - (a->path.count > b->path.count);
	if (a->function != b->function)
		return (a->function > b->function) - (a->function < b->function);
	return (a->path.id > b->path.id) - (a->path.id < b->path.id);
}

/* ---------------------------------------------------------------- one path */

/* Prints a line after `last`, which is NULL before the first one. */
static void print_line(const struct pathprof_counted_line *line,
		       const struct pathprof_counted_line *last)
{
	const char *apart = last ? "  " : "    ";

	if (line->crossing)
		printf("%s%s()", apart, line->function);
	if (!line->line)
		return;
	if (!last || line->crossing || last->file != line->file)
		printf("%s%s", line->crossing ? " " : apart, line->file);
	printf(":%" PRIu32, line->line);
}

/* Prints the lines at which the path's nodes begin, in the order in which they ran. */
static void print_way(const struct pathprof_counted *counted, const struct hot_path *hot)
{
	const struct pathprof_counted_line **lines, *last = NULL;
	size_t cnt;
	int r = pathprof_counted_way(counted, hot->index, hot->path.id, &lines, &cnt);

	if (r == -ENOMEM)
		lab_fail("out of memory");
	if (r < 0)
		lab_fail("%s: it has no path of number %" PRIu64 ": its description is of another "
			 "version of pathprof",
			 hot->function->name, hot->path.id);
	for (size_t i = 0; i < cnt && i < LINES_MAX; i++) {
		print_line(lines[i], last);
		last = lines[i];
	}
	if (cnt > LINES_MAX)
		printf(" and %zu lines more", cnt - LINES_MAX);
	puts(last ? "" : "    no lines: it was built without -g");
	free(lines);
}

static void print_hottest(const struct pathprof_counted *counted, const struct hot_paths *hot,
			  uint64_t top)
{
	printf("%" PRIu64 " paths ran, %zu different ones\n", hot->total, hot->cnt);
	if (hot->cold)
		printf("%" PRIu64 " more ran that are cold, and not told apart\n", hot->cold);
	if (hot->told_cnt)
		printf("%" PRIu64 " paths were not counted, since the profile told them\n",
		       hot->told_cnt);
	printf("  SHARE         COUNT  FUNCTION:PATH\n");
	for (size_t i = 0; i < hot->cnt && i < top; i++) {
		const struct hot_path *h = &hot->paths[i];

		printf("%6.2f%%  %12" PRIu64 "  %s:%" PRIu64 "\n",
		       100.0 * (double)h->path.count / (double)hot->total, h->path.count,
		       h->function->name, h->path.id);
		print_way(counted, h);
	}
}

/* Prints the cold paths of each function as one sum: they have no numbers. */
static void print_cold(const struct pathprof_counted *counted)
{
	uint32_t cnt;
	const struct pathprof_counted_function *functions =
		pathprof_counted_functions(counted, &cnt);

	for (uint32_t f = 0; f < cnt; f++) {
		uint64_t cold = pathprof_counted_cold(counted, f);

		if (cold)
			printf("%s\t%s\tcold\t%" PRIu64 "\n", functions[f].unit, functions[f].name,
			       cold);
	}
}

/* A fifth word says whose counts they are. */
static void print_told(const struct pathprof_counted *counted)
{
	uint32_t cnt;
	const struct pathprof_counted_function *functions =
		pathprof_counted_functions(counted, &cnt);

	for (uint32_t f = 0; f < cnt; f++)
		for (uint32_t i = 0; functions[f].first == f && i < functions[f].told_cnt; i++)
			printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\tprofile\n", functions[f].unit,
			       functions[f].name, functions[f].told[i].id,
			       functions[f].told[i].count);
}

static void print_all(const struct pathprof_counted *counted, const struct hot_paths *hot)
{
	for (size_t i = 0; i < hot->cnt; i++)
		printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", hot->paths[i].function->unit,
		       hot->paths[i].function->name, hot->paths[i].path.id,
		       hot->paths[i].path.count);
	print_cold(counted);
	print_told(counted);
}

int lab_counts(int argc, char **argv)
{
	const struct pathprof_counted_function *functions;
	struct pathprof_counted *counted;
	struct hot_paths hot = {0};
	const char *binary = NULL;
	uint64_t top = TOP;
	uint32_t function_cnt;
	bool all = false;
	int option, damaged_cnt;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			binary = optarg;
			break;
		case 't':
			top = lab_option("--top", optarg, 1, UINT32_MAX);
			break;
		case 'a':
			all = true;
			break;
		default:
			lab_usage("counts: unknown option");
		}
	}
	if (optind == argc)
		lab_usage("counts: no file of counts");
	counted = open_counted(binary, argv + optind, argc - optind);
	damaged_cnt = add_files(counted, argv + optind, argc - optind);
	functions = pathprof_counted_functions(counted, &function_cnt);
	for (uint32_t f = 0; f < function_cnt; f++)
		take_function(&hot, counted, &functions[f], f);
	if (hot.cnt)
		qsort(hot.paths, hot.cnt, sizeof(*hot.paths), by_count);
	if (all)
		print_all(counted, &hot);
	else
		print_hottest(counted, &hot, top);
	free(hot.paths);
	pathprof_counted_free(counted);
	lab_finish_output();
	return damaged_cnt ? EXIT_FAILURE : EXIT_SUCCESS;
}
