// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers the paths of a DAG whose nodes have names. */
#include "lab.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vector.h"
#include "pathprof/numbering.h"

/* Interesting paths, each with the value it points to. */
struct interesting {
	struct pathprof_dag_path *paths;
	size_t cnt, room;
};

/* The first name seen, the start, is 0. */
static uint32_t node_add(struct pp_texts *nodes, const char *name)
{
	uint32_t number;

	if (pp_texts_at(nodes, name, &number) < 0)
		lab_fail("out of memory");
	return number;
}

static void read_dag(struct pathprof_dag *dag, struct pp_texts *nodes, char *file)
{
	struct lab_input in;

	pathprof_dag_init(dag);
	lab_input_init(&in, &file, 1);
	while (lab_input_next(&in)) {
		lab_expect_columns(&in, 2, 2, "FROM TO");
		uint32_t from = node_add(nodes, in.column[0]), to = node_add(nodes, in.column[1]);

		if (pathprof_dag_add(dag, from, to) < 0)
			lab_malformed(&in, "no room for this edge");
	}
	if (!dag->edge_cnt || !nodes->table.cnt)
		lab_fail("%s: no edges", in.name);
	lab_input_release(&in);
}

static void number(struct pathprof_dag *dag, const char *file)
{
	int r = pathprof_number(dag);

	if (r == -ELOOP)
		lab_fail("%s: the graph has a cycle; cut its back edges first", file);
	if (r == -EOVERFLOW)
		lab_fail("%s: more than 2^64 paths; cut an edge", file);
	if (r < 0)
		lab_fail("%s: %s", file, strerror(-r));
}

static bool find_edge(const struct pathprof_dag *dag, uint32_t from, uint32_t to,
		      uint32_t *ret_edge)
{
	for (size_t i = 0; i < dag->edge_cnt; i++) {
		if (dag->edges[i].from != from || dag->edges[i].to != to)
			continue;
		*ret_edge = (uint32_t)i;
		return true;
	}
	return false;
}

static bool is_exit(const struct pathprof_dag *dag, uint32_t node)
{
	for (size_t i = 0; i < dag->edge_cnt; i++)
		if (dag->edges[i].from == node)
			return false;
	return true;
}

static uint32_t find_node(const struct pp_texts *nodes, const struct lab_input *in, size_t column)
{
	uint32_t number = pp_texts_find(nodes, in->column[column]);

	if (number == PP_TABLE_NONE)
		lab_malformed(in, "no node '%s' in the graph", in->column[column]);
	return number;
}

/* Reads the edges of the path on the current line. */
static void parse_path(const struct pathprof_dag *dag, const struct pp_texts *nodes,
		       const struct lab_input *in, struct pathprof_dag_path *path)
{
	uint32_t *edges = calloc(in->column_cnt + 1, sizeof(*edges)), at, next;

	if (!edges)
		lab_fail("out of memory");
	if (!in->column_cnt)
		lab_malformed(in, "0 columns, expected NODE...");
	at = find_node(nodes, in, 0);
	if (at != 0)
		lab_malformed(in, "a path begins at '%s'", nodes->texts[0]);
	for (size_t i = 1; i < in->column_cnt; i++, at = next) {
		next = find_node(nodes, in, i);
		if (!find_edge(dag, at, next, &edges[i - 1]))
			lab_malformed(in, "no edge '%s' '%s' in the graph", in->column[i - 1],
				      in->column[i]);
	}
	if (!is_exit(dag, at))
		lab_malformed(in, "the path stops at '%s', which is no exit", nodes->texts[at]);
	*path = (struct pathprof_dag_path){.edges = edges, .edge_cnt = in->column_cnt - 1};
}

static void refuse_repetition(const struct interesting *interesting, const struct lab_input *in)
{
	const struct pathprof_dag_path *last = &interesting->paths[interesting->cnt - 1];

	for (size_t i = 0; i + 1 < interesting->cnt; i++)
		if (interesting->paths[i].edge_cnt == last->edge_cnt &&
		    memcmp(interesting->paths[i].edges, last->edges,
			   last->edge_cnt * sizeof(last->edges[0])) == 0)
			lab_malformed(in, "this path came before");
}

static void read_interesting(struct interesting *interesting, const struct pathprof_dag *dag,
			     const struct pp_texts *nodes, char *file)
{
	struct lab_input in;

	lab_input_init(&in, &file, 1);
	while (lab_input_next(&in)) {
		if (pp_grow(&interesting->paths, interesting->cnt, &interesting->room) < 0)
			lab_fail("out of memory");
		parse_path(dag, nodes, &in, &interesting->paths[interesting->cnt++]);
		refuse_repetition(interesting, &in);
	}
	lab_input_release(&in);
}

static void print_edges(const struct pathprof_dag *dag, const struct pp_texts *nodes,
			bool preferential)
{
	for (size_t i = 0; i < dag->edge_cnt; i++) {
		const struct pathprof_dag_edge *e = &dag->edges[i];

		printf("edge %s %s %" PRIu64, nodes->texts[e->from], nodes->texts[e->to],
		       e->weight);
		if (preferential)
			printf(" %" PRId64, e->preferential);
		putchar('\n');
	}
}

static void print_paths(const struct pathprof_dag *dag, const struct pp_texts *nodes,
			const struct interesting *interesting)
{
	for (size_t p = 0; p < interesting->cnt; p++) {
		const struct pathprof_dag_path *path = &interesting->paths[p];

		printf("path %s", nodes->texts[0]);
		for (size_t i = 0; i < path->edge_cnt; i++)
			printf(" %s", nodes->texts[dag->edges[path->edges[i]].to]);
		printf(" %" PRIu64 " %" PRId64 "\n", path->id, path->preferential);
	}
}

/* The shortest decimal that reads back as x, with a point. */
static void print_delta(double x)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	printf("delta %s%s\n", text, strpbrk(text, ".e") ? "" : ".0");
}

static void number_interesting(struct pathprof_dag *dag, const struct pp_texts *nodes, char *file,
			       struct interesting *interesting)
{
	int r;

	read_interesting(interesting, dag, nodes, file);
	r = pathprof_number_preferential(dag, interesting->paths, interesting->cnt);
	if (r < 0)
		lab_fail("%s: %s", file, strerror(-r));
}

int lab_number(int argc, char **argv)
{
	static const struct option options[] = {{"interesting", required_argument, NULL, 'i'}, {0}};
	struct interesting interesting = {0};
	struct pp_texts nodes = {0};
	char *interesting_file = NULL;
	struct pathprof_dag dag;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'i')
			lab_usage("number: bad option");
		interesting_file = optarg;
	}
	if (argc - optind != 1)
		lab_usage("number: one graph, please");
	read_dag(&dag, &nodes, argv[optind]);
	number(&dag, argv[optind]);
	if (interesting_file)
		number_interesting(&dag, &nodes, interesting_file, &interesting);
	print_edges(&dag, &nodes, interesting_file != NULL);
	print_paths(&dag, &nodes, &interesting);
	printf("paths %" PRIu64 "\n", dag.path_cnt);
	if (interesting_file)
		print_delta(pathprof_compactness(interesting.paths, interesting.cnt));
	for (size_t p = 0; p < interesting.cnt; p++)
		free((void *)interesting.paths[p].edges);
	free(interesting.paths);
	pp_texts_release(&nodes);
	pathprof_dag_release(&dag);
	lab_finish_output();
	return 0;
}
