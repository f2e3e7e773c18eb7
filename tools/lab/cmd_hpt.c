// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "pathprof/hot_paths.h"

struct options {
	uint32_t entries, ways;
	bool spill;
};

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {{"entries", required_argument, NULL, 'e'},
						     {"ways", required_argument, NULL, 'w'},
						     {"spill", no_argument, NULL, 's'},
						     {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'e')
			o->entries = (uint32_t)lab_option("--entries", optarg, 1, UINT32_MAX);
		else if (c == 'w')
			o->ways = (uint32_t)lab_option("--ways", optarg, 1, UINT32_MAX);
		else if (c == 's')
			o->spill = true;
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

int lab_hpt(int argc, char **argv)
{
	struct options o = {.entries = 512, .ways = 4};
	struct pathprof_hot_path path, replaced;
	struct pathprof_hot_paths *table;
	uint64_t paths = 0, replacements = 0;
	struct pathprof_error error;
	struct lab_input in;

	parse_options(argc, argv, &o);
	if (pathprof_hot_paths_new(&table, o.entries, o.ways, &error) < 0)
		lab_usage("%s", error.text);
	lab_input_init(&in, argv + optind, argc - optind);
	while (lab_input_next(&in)) {
		parse_path(&in, &path);
		paths++;
		if (!pathprof_hot_paths_add(table, &path, &replaced))
			continue;
		replacements++;
		if (o.spill)
			print(&replaced);
	}
	print_table(table, o.entries);
	lab_input_release(&in);
	pathprof_hot_paths_free(table);
	lab_finish_output();
	fprintf(stderr, "# paths %" PRIu64 " replaced %" PRIu64 "\n", paths, replacements);
	return 0;
}
