// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program that tests/scenario/number_all.sh runs: numbers the paths of every function of a
 * file under every cut, and takes numbers there and back.
 *
 *     number_all FILE [plant]
 *
 * All paths of functions with no more than ALL_MAX, SAMPLES random ones of the larger: number to
 * path, path to number by sums and by coding; under CUT_BRANCHES number to descriptor to number
 * too. `plant` forgets the last edge of each path, which must be found. Exit 1 when anything
 * differs.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../unit/oracle_path_id.h"
#include "pathprof/code.h"
#include "pathprof/flow.h"
#include "pathprof/function_paths.h"
#include "pathprof/graph.h"

#define ALL_MAX 10000
#define SAMPLES 1000

static const char *const cut_names[] = {"back-edges", "branches", "calls"};

struct run {
	const struct pathprof_graph *graph;
	const struct pathprof_flow *flow;
	const struct pathprof_function_paths *paths;
	enum pathprof_cut cut;
	bool plant;
	uint64_t random;
	struct pathprof_flow_path path;
	/* The counts for the current cut. */
	uint64_t functions, large, cut_functions, cut_edges, checked, described, wrong;
	double number_s;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "number_all: %s: %s\n", what, why);
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void wrong(struct run *run, uint64_t id, const char *what)
{
	const struct pathprof_graph_block *entry = &run->graph->blocks[run->flow->nodes[0].block];

	if (run->wrong++ < 10)
		fprintf(stderr,
			"number_all: %s: function at 0x%" PRIx32 ": number %" PRIu64 ": %s\n",
			cut_names[run->cut], entry->start, id, what);
}

/* ---------------------------------------------------------------- one number */

static bool unfold(struct run *run, uint64_t id)
{
	int r = pathprof_function_paths_of_id(run->paths, id, &run->path);

	if (r < 0 && run->path.edge_cnt > run->path.edge_room) {
		free(run->path.edges);
		run->path.edge_room = 2 * run->path.edge_cnt;
		run->path.edges = calloc(run->path.edge_room, sizeof(run->path.edges[0]));
		if (!run->path.edges)
			die("paths", "no memory");
		r = pathprof_function_paths_of_id(run->paths, id, &run->path);
	}
	return r == 0;
}

/* To the descriptor and back: to this number, or a lower one of the same descriptor. */
static void check_descriptor(struct run *run, uint64_t id)
{
	uint64_t start, back, next, start_again;
	uint32_t length, outcomes, used, outcomes_again;
	int r = pathprof_function_paths_descriptor(run->paths, run->graph, id, &start, &length,
						   &outcomes);

	if (r < 0)
		return;
	run->described++;
	if (pathprof_function_paths_split_descriptor(run->paths, run->graph, start, length,
						     outcomes, &back, &used, &next) != r ||
	    used != length || back > id) {
		wrong(run, id, "its descriptor has another number");
		return;
	}
	if (back == id)
		return;
	if (pathprof_function_paths_descriptor(run->paths, run->graph, back, &start_again, &used,
					       &outcomes_again) != r ||
	    start_again != start || used != length || outcomes_again != outcomes)
		wrong(run, id, "its descriptor's number has another descriptor");
}

static void check(struct run *run, uint64_t id)
{
	uint64_t sum = 0, coded = 0;

	run->checked++;
	if (!unfold(run, id)) {
		wrong(run, id, "no path");
		return;
	}
	if (run->plant && run->path.edge_cnt)
		run->path.edge_cnt--;
	if (oracle_path_id(run->paths, &run->path, &sum) < 0 || sum != id)
		wrong(run, id, "its path has another number");
	if (oracle_path_id_by_coding(run->paths, &run->path, &coded) < 0 || coded != id)
		wrong(run, id, "its path has another code");
	if (run->cut == PATHPROF_CUT_BRANCHES)
		check_descriptor(run, id);
}

/* ---------------------------------------------------------------- one function */

static void check_paths(struct run *run)
{
	uint64_t cnt = pathprof_function_paths_cnt(run->paths);

	if (!cnt)
		wrong(run, 0, "a function without paths");
	if (cnt <= ALL_MAX) {
		for (uint64_t id = 0; id < cnt; id++)
			check(run, id);
		return;
	}
	run->large++;
	check(run, cnt - 1);
	for (unsigned int i = 1; i < SAMPLES; i++)
		check(run, draw(&run->random) % cnt);
}

static void check_function(struct run *run, const struct pathprof_flow *flow)
{
	struct pathprof_function_paths *paths;
	double begin_s = now_s();
	uint32_t cuts;

	if (pathprof_function_paths_new(&paths, flow, run->cut) < 0)
		die("paths", "no memory");
	run->number_s += now_s() - begin_s;
	cuts = paths->overflow_cut_cnt;
	run->flow = flow;
	run->paths = paths;
	run->functions++;
	run->cut_functions += cuts != 0;
	run->cut_edges += cuts;
	check_paths(run);
	run->flow = NULL;
	run->paths = NULL;
	pathprof_function_paths_free(paths);
}

/* ---------------------------------------------------------------- the file */

static void check_cut(struct run *run)
{
	double begin_s = now_s();

	for (uint32_t f = 0; f < run->graph->function_cnt; f++) {
		struct pathprof_flow flow;

		if (run->graph->functions[f].entry == PATHPROF_GRAPH_NONE)
			continue;
		if (pathprof_flow_init(&flow, run->graph, f) < 0)
			die("flow", "refused");
		check_function(run, &flow);
		pathprof_flow_release(&flow);
	}
	printf("%s: %" PRIu64 " functions, %" PRIu64 " of them with more than %d paths, %" PRIu64
	       " cut against overflow (%" PRIu64 " edges); %" PRIu64 " paths checked, %" PRIu64
	       " with a descriptor, %" PRIu64 " wrong; numbered in %.2f s, checked in %.1f s\n",
	       cut_names[run->cut], run->functions, run->large, ALL_MAX, run->cut_functions,
	       run->cut_edges, run->checked, run->described, run->wrong, run->number_s,
	       now_s() - begin_s);
}

static struct pathprof_graph *graph_of(const char *file)
{
	struct pathprof_graph *graph;
	struct pathprof_code *code;
	struct pathprof_error error;

	if (pathprof_code_open(&code, file, NULL, &error) < 0)
		die(file, error.text);
	if (pathprof_graph_build(&graph, code, NULL, NULL, &error) < 0)
		die(file, error.text);
	pathprof_code_free(code);
	return graph;
}

int main(int argc, char **argv)
{
	bool plant = argc == 3 && !strcmp(argv[2], "plant");
	struct pathprof_graph *graph;
	uint64_t bad = 0;

	if (argc != 2 && !plant)
		die("usage", "number_all FILE [plant]");
	graph = graph_of(argv[1]);
	for (int cut = PATHPROF_CUT_BACK_EDGES; cut <= PATHPROF_CUT_CALLS; cut++) {
		struct run run = {.graph = graph,
				  .cut = (enum pathprof_cut)cut,
				  .plant = plant,
				  .random = UINT64_C(0x9E3779B97F4A7C15)};

		check_cut(&run);
		bad += run.wrong + !run.checked;
		free(run.path.edges);
	}
	pathprof_graph_free(graph);
	return bad ? 1 : 0;
}
