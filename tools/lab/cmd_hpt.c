// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/hot_paths.h"

struct options {
	uint32_t entries, ways;
	enum pathprof_hot_policy policy;
	bool spill;
};

struct table {
	struct pathprof_hot_paths *hot;
	bool spill;
	struct lab_paths_feed paths; /* of the trace being read */
	uint64_t path_cnt, replaced_cnt;
};

static enum pathprof_hot_policy parse_policy(const char *name)
{
	if (strcmp(name, "lfu") == 0)
		return PATHPROF_HOT_LFU;
	if (strcmp(name, "tail") == 0)
		return PATHPROF_HOT_TAIL;
	lab_usage("--policy: '%s' is neither lfu nor tail", name);
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {{"entries", required_argument, NULL, 'e'},
						     {"ways", required_argument, NULL, 'w'},
						     {"spill", no_argument, NULL, 's'},
						     {"policy", required_argument, NULL, 'p'},
						     {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'e')
			o->entries = (uint32_t)lab_option("--entries", optarg, 1, UINT32_MAX);
		else if (c == 'w')
			o->ways = (uint32_t)lab_option("--ways", optarg, 1, UINT32_MAX);
		else if (c == 's')
			o->spill = true;
		else if (c == 'p')
			o->policy = parse_policy(optarg);
		else
			lab_usage("hpt: bad option");
	}
}

static void parse_path(const struct lab_input *in, struct pathprof_hot_path *path)
{
	lab_expect_columns(in, 3, 4, "START LENGTH OUTCOMES [COUNT]");
	path->start = lab_hex(in, 0, "START");
	path->length = (uint32_t)lab_decimal(in, 1, 32, "LENGTH");
	uint64_t outcomes = lab_hex(in, 2, "OUTCOMES");
	if (outcomes >> path->length)
		lab_malformed(in, "OUTCOMES '%s' has bits beyond LENGTH %" PRIu32, in->column[2],
			      path->length);
	path->outcomes = (uint32_t)outcomes;
	path->count = in->column_cnt > 3 ? lab_decimal(in, 3, UINT64_MAX, "COUNT") : 1;
}

static void print(const struct pathprof_hot_path *p)
{
	printf("0x%" PRIx64 " %" PRIu32 " 0x%" PRIx32 " %" PRIu64 "\n", p->start, p->length,
	       p->outcomes, p->count);
}

static void print_table(const struct pathprof_hot_paths *table, uint32_t entries)
{
	struct pathprof_hot_path *paths = calloc(entries, sizeof(*paths));
	size_t cnt;

	if (!paths)
		lab_fail("out of memory");
	cnt = pathprof_hot_paths_read(table, paths);
	for (size_t i = 0; i < cnt; i++)
		print(&paths[i]);
	free(paths);
}

static void add(struct table *t, const struct pathprof_hot_path *path)
{
	struct pathprof_hot_path replaced;

	t->path_cnt++;
	if (!pathprof_hot_paths_add(t->hot, path, &replaced))
		return;
	t->replaced_cnt++;
	if (t->spill)
		print(&replaced);
}

static void take_line(void *context, const struct lab_input *in)
{
	struct pathprof_hot_path path;

	parse_path(in, &path);
	add(context, &path);
}

static void take_stream(void *context, const struct pathprof_trace *trace, uint32_t stream)
{
	lab_paths_begin(&((struct table *)context)->paths);
}

static void take_event(void *context, const struct pathprof_trace_event *event)
{
	struct table *t = context;
	struct pathprof_path_popped popped;

	if (!lab_paths_event(&t->paths, event, &popped))
		return;
	add(t, &(struct pathprof_hot_path){.start = popped.start,
					   .count = 1,
					   .length = popped.length,
					   .outcomes = popped.outcomes});
}

int lab_hpt(int argc, char **argv)
{
	struct options o = {.entries = 512, .ways = 4};
	struct table t = {.paths = {.settings = {.max_length = 32, .extensions = 1}}};
	const struct lab_feed feed = {take_line, take_stream, take_event, &t};
	struct pathprof_error error;

	parse_options(argc, argv, &o);
	t.spill = o.spill;
	if (pathprof_hot_paths_new_policy(&t.hot, o.entries, o.ways, o.policy, 1, &error) < 0)
		lab_usage("%s", error.text);
	lab_feed(argv + optind, argc - optind, &feed);
	print_table(t.hot, o.entries);
	lab_paths_end(&t.paths);
	pathprof_hot_paths_free(t.hot);
	lab_finish_output();
	fprintf(stderr, "# paths %" PRIu64 " replaced %" PRIu64 "\n", t.path_cnt, t.replaced_cnt);
	return 0;
}
