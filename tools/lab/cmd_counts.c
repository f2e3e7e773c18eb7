// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What programs counted that were built with pathprof-cc: the hottest paths with their lines, or
 * every path's number and count.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "pathprof/function_paths.h"
#include "pathprof/path_counts.h"

#define TOP 10
/* Lines of a path that are shown; what is behind them is counted. */
#define LINES_MAX 40

struct hot_path {
	const struct pathprof_counted_function *function;
	struct pathprof_counted_path path;
};

struct hot_paths {
	struct hot_path *paths;
	size_t cnt, room;
	uint64_t total;
};

static const struct option options[] = {{"binary", required_argument, NULL, 'b'},
					{"top", required_argument, NULL, 't'},
					{"all", no_argument, NULL, 'a'},
					{0}};

/* ---------------------------------------------------------------- reading */

static struct pathprof_counted *open_counted(const char *binary, const char *first)
{
	struct pathprof_counted *counted;
	struct pathprof_error error;
	char object[sizeof(((struct pathprof_counts_head *)0)->object)];

	if (!binary) {
		if (pathprof_counts_object(first, object, &error) < 0)
			lab_fail("%s", error.text);
		if (!object[0])
			lab_fail("%s does not name its program: say --binary FILE", first);
		binary = object;
	}
	if (pathprof_counted_open(&counted, binary, &error) < 0)
		lab_fail("%s", error.text);
	return counted;
}

static void add_files(struct pathprof_counted *counted, char **files, int file_cnt)
{
	struct pathprof_error error;
	uint64_t lost;

	for (int i = 0; i < file_cnt; i++) {
		if (pathprof_counted_add(counted, files[i], &lost, &error) < 0)
			lab_fail("%s", error.text);
		if (lost)
			fprintf(stderr,
				"pathprof-lab: %s: %" PRIu64 " paths were not counted, their table "
				"had no room\n",
				files[i], lost);
	}
}

static void take_function(struct hot_paths *hot, const struct pathprof_counted *counted,
			  const struct pathprof_counted_function *function, uint32_t f)
{
	struct pathprof_counted_path *paths;
	size_t cnt;

	if (pathprof_counted_paths(counted, f, &paths, &cnt) < 0)
		lab_fail("out of memory");
	for (size_t i = 0; i < cnt; i++) {
		if (hot->cnt == hot->room) {
			hot->room = hot->room ? 2 * hot->room : 1024;
			hot->paths = reallocarray(hot->paths, hot->room, sizeof(*hot->paths));
			if (!hot->paths)
				lab_fail("out of memory");
		}
		hot->paths[hot->cnt++] = (struct hot_path){function, paths[i]};
		hot->total += paths[i].count;
	}
	free(paths);
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

static void print_line(const struct pathprof_counted_function *f, uint32_t node,
		       const struct pathprof_counted_line **last)
{
	const struct pathprof_counted_line *line = &f->lines[node];

	if (!line->line || (*last && (*last)->line == line->line && (*last)->file == line->file))
		return;
	if (!*last || (*last)->file != line->file)
		printf("%s%s", *last ? "  " : "    ", line->file);
	printf(":%" PRIu32, line->line);
	*last = line;
}

/* The lines that its nodes begin at, in the order they ran in. */
static void print_lines(const struct pathprof_counted_function *f, const struct pathprof_flow *flow,
			const struct pathprof_flow_path *path)
{
	const struct pathprof_counted_line *last = NULL;
	uint32_t shown = path->edge_cnt < LINES_MAX ? path->edge_cnt : LINES_MAX;

	print_line(f, path->start, &last);
	for (uint32_t i = 0; i < shown; i++)
		print_line(f, flow->edges[path->edges[i]].to, &last);
	if (shown < path->edge_cnt)
		printf(" and %" PRIu32 " blocks more", path->edge_cnt - shown);
	puts(last ? "" : "    no lines: it was built without -g");
}

static void print_way(const struct hot_path *hot)
{
	const struct pathprof_counted_function *f = hot->function;
	struct pathprof_function_paths *paths;
	struct pathprof_flow flow;
	struct pathprof_flow_path path = {.edge_room = f->node_cnt + 1};

	if (pathprof_flow_init_arcs(&flow, f->node_cnt, f->arcs, f->arc_cnt) < 0 ||
	    pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES) < 0)
		lab_fail("%s: no graph can be made of its description", f->name);
	path.edges = calloc(path.edge_room, sizeof(*path.edges));
	if (!path.edges)
		lab_fail("out of memory");
	if (pathprof_function_paths_cnt(paths) != f->path_cnt ||
	    pathprof_function_paths_of_id(paths, hot->path.id, &path) < 0)
		lab_fail("%s: it has no path of number %" PRIu64 ": its description is of another "
			 "version of pathprof",
			 f->name, hot->path.id);
	print_lines(f, &flow, &path);
	free(path.edges);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

static void print_hottest(const struct hot_paths *hot, uint64_t top)
{
	printf("%" PRIu64 " paths ran, %zu different ones\n", hot->total, hot->cnt);
	printf("  SHARE         COUNT  FUNCTION:PATH\n");
	for (size_t i = 0; i < hot->cnt && i < top; i++) {
		const struct hot_path *h = &hot->paths[i];

		printf("%6.2f%%  %12" PRIu64 "  %s:%" PRIu64 "\n",
		       100.0 * (double)h->path.count / (double)hot->total, h->path.count,
		       h->function->name, h->path.id);
		print_way(h);
	}
}

static void print_all(const struct hot_paths *hot)
{
	for (size_t i = 0; i < hot->cnt; i++)
		printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", hot->paths[i].function->unit,
		       hot->paths[i].function->name, hot->paths[i].path.id,
		       hot->paths[i].path.count);
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
	int option;

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
	counted = open_counted(binary, argv[optind]);
	add_files(counted, argv + optind, argc - optind);
	functions = pathprof_counted_functions(counted, &function_cnt);
	for (uint32_t f = 0; f < function_cnt; f++)
		take_function(&hot, counted, &functions[f], f);
	if (hot.cnt)
		qsort(hot.paths, hot.cnt, sizeof(*hot.paths), by_count);
	if (all)
		print_all(&hot);
	else
		print_hottest(&hot, top);
	free(hot.paths);
	pathprof_counted_free(counted);
	lab_finish_output();
	return 0;
}
