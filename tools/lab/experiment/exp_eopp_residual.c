// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Residual path profiling (EOPP 3.6.2 to 3.6.4) on programs with three inputs each: the code that
 * one input, "deployed", runs and another one, "tested", did not. All paths of both runs are
 * counted (pathprof-trace --paths), in the program and its libraries, but for those that choose
 * their functions by the processor.
 *
 *     eopp-3.1   paths, edges and functions: tests are the first input
 *     eopp-3.2   depth-1 interprocedural segments of the same runs
 *     eopp-3.3   paths, where tests are the first and the third input
 *
 * The second input is deployed in all of them. An edge is the end of a block and the way on from
 * there.
 *
 * Workload: some ten thousand paths a run; two dozen runs of some seconds in the emulator.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/variants.h"
#include "experiment.h"
#include "pathprof/code.h"
#include "pathprof/store.h"
#include "run.h"

#define KEYS_MAX   (1u << 26)
#define INPUT_CNT  3
#define BUILDS_MAX 4096

/* No padding: keys are compared byte by byte. */
struct path_key {
	uint64_t start;
	uint32_t build, length, outcomes, reserved;
};
struct segment_key {
	struct path_key first, second;
};
struct place_key { /* of an edge: the block's end << 1 | taken; of a function: its start */
	uint64_t place;
	uint64_t build;
};

struct build {
	struct pathprof_build_id id;
	struct pathprof_code *code; /* NULL: not to be had */
	bool is_open;
};

/* Paths, segments and edges of one run, or of several together. Items of counts have the count
 * behind the key. */
struct ran {
	struct pp_keyed paths, segments, edges;
};

/* One program's runs. */
struct study {
	struct lab_run *run;
	struct pp_keyed builds;
};

static void require(const char *what, int r)
{
	if (r < 0)
		lab_fail("%s: %s", what, strerror(-r));
}

/* ---------------------------------------------------------------- sets */

static void ran_init(struct ran *ran)
{
	pp_keyed_init(&ran->paths, sizeof(struct path_key) + sizeof(double),
		      sizeof(struct path_key), KEYS_MAX, 0);
	pp_keyed_init(&ran->segments, sizeof(struct segment_key) + sizeof(double),
		      sizeof(struct segment_key), KEYS_MAX, 0);
	pp_keyed_init(&ran->edges, sizeof(struct place_key), sizeof(struct place_key), KEYS_MAX, 0);
}

static void ran_release(struct ran *ran)
{
	pp_keyed_release(&ran->paths);
	pp_keyed_release(&ran->segments);
	pp_keyed_release(&ran->edges);
}

static double *count_of(const struct pp_keyed *set, uint32_t index)
{
	return (double *)(void *)((uint8_t *)pp_keyed_item(set, index) + set->key_bytes);
}

static void count(struct pp_keyed *set, const void *key, double weight)
{
	uint32_t index;

	require("a path", pp_keyed_at(set, key, &index));
	*count_of(set, index) += weight;
}

static bool has(const struct pp_keyed *set, const void *key)
{
	uint32_t index;

	return pp_keyed_find(set, key, &index) == 0;
}

static void put(struct pp_keyed *set, const void *key)
{
	uint32_t index;

	require("a place", pp_keyed_at(set, key, &index));
}

/* ---------------------------------------------------------------- code */

static uint32_t build_of(struct study *study, const struct pathprof_build_id *id, const char *name)
{
	struct pathprof_error error;
	struct build *build;
	uint32_t index;

	require("a binary", pp_keyed_at(&study->builds, id, &index));
	build = pp_keyed_item(&study->builds, index);
	if (!build->is_open) {
		build->is_open = true;
		if (pathprof_code_open(&build->code, name, id, &error) < 0)
			build->code = NULL;
	}
	return index;
}

static struct pathprof_code *code_of(const struct study *study, uint32_t build)
{
	return ((struct build *)pp_keyed_item(&study->builds, build))->code;
}

struct walk {
	struct ran *ran;
	uint32_t build;
};

static int take_block(void *context, const struct pathprof_block *block)
{
	const struct walk *walk = context;
	struct place_key key = {block->end << 1 | (block->taken != 0), walk->build};

	put(&walk->ran->edges, &key);
	return 0;
}

/* The beginning of the function; of code without any the place itself. */
static struct place_key function_of(const struct study *study, uint32_t build, uint64_t place)
{
	struct pathprof_code *code = code_of(study, build);
	struct place_key key = {place, build};
	const char *name;
	uint64_t start;

	if (code && pathprof_code_function(code, place, &name, &start) == 0)
		key.place = start;
	return key;
}

/* ---------------------------------------------------------------- reading a run */

struct reading {
	struct study *study;
	struct ran *ran;
};

static int take_path(void *context, const struct pathprof_path_row *row)
{
	const struct reading *reading = context;
	struct path_key key = {
		.start = row->start, .length = row->length, .outcomes = row->outcomes};
	struct walk walk = {.ran = reading->ran};

	if (pp_chooses_variants(row->binary_name))
		return 0;
	key.build = walk.build = build_of(reading->study, &row->binary_id, row->binary_name);
	count(&reading->ran->paths, &key, row->weight);
	if (code_of(reading->study, key.build))
		pathprof_code_walk(code_of(reading->study, key.build), key.start, key.length,
				   key.outcomes, take_block, &walk, NULL);
	return 0;
}

static struct path_key key_of_piece(struct study *study, const struct pathprof_piece *piece)
{
	return (struct path_key){.start = piece->start,
				 .build = build_of(study, &piece->binary_id, piece->binary_name),
				 .length = piece->length,
				 .outcomes = piece->outcomes};
}

static int take_segment(void *context, const struct pathprof_segment_row *row)
{
	const struct reading *reading = context;
	struct segment_key key;

	if (pp_chooses_variants(row->first.binary_name) ||
	    pp_chooses_variants(row->second.binary_name))
		return 0;
	key.first = key_of_piece(reading->study, &row->first);
	key.second = key_of_piece(reading->study, &row->second);
	count(&reading->ran->segments, &key, (double)row->count);
	return 0;
}

/* Adds the paths and segments that the run of this input counted. */
static void read_run(struct study *study, const struct lab_program *input, struct ran *ran)
{
	struct reading reading = {.study = study, .ran = ran};
	char *file = lab_run_paths(study->run, input);
	struct pathprof_error error = {""};
	struct pathprof_store *store;
	int r = pathprof_store_open(&store, file, PATHPROF_STORE_READ, &error);

	if (r == 0)
		r = pathprof_store_paths(store, NULL, take_path, &reading, &error);
	if (r == 0)
		r = pathprof_store_segments(store, NULL, take_segment, &reading, &error);
	if (r < 0)
		lab_fail("%s: %s", file, error.text);
	pathprof_store_free(store);
	free(file);
}

/* ---------------------------------------------------------------- what no test ran */

struct residue {
	double cnt, share, flow; /* of untested units: number, % of units, % of executions */
};

static double percent(double part, double all)
{
	return all > 0 ? 100 * part / all : 0;
}

static struct residue residue_of(const struct pp_keyed *tested, const struct pp_keyed *deployed)
{
	struct residue residue = {0};
	double all = 0, untested = 0;

	for (uint32_t i = 0; i < deployed->cnt; i++) {
		double weight = *count_of(deployed, i);

		all += weight;
		if (has(tested, pp_keyed_item(deployed, i)))
			continue;
		untested += weight;
		residue.cnt++;
	}
	residue.share = percent(residue.cnt, deployed->cnt);
	residue.flow = percent(untested, all);
	return residue;
}

/* The functions of edges that no test took. Returns how many such edges there are. */
static double functions_of_edges(const struct study *study, const struct ran *tested,
				 const struct ran *deployed, struct pp_keyed *functions)
{
	double cnt = 0;

	for (uint32_t i = 0; i < deployed->edges.cnt; i++) {
		const struct place_key *edge = pp_keyed_item(&deployed->edges, i);
		struct place_key function;

		if (has(&tested->edges, edge))
			continue;
		/* The last byte of the block's last instruction. */
		function = function_of(study, (uint32_t)edge->build, (edge->place >> 1) - 1);
		put(functions, &function);
		cnt++;
	}
	return cnt;
}

/* The functions of paths that no test ran. Returns how many of these begin in a function none of
 * whose edges is untested. */
static double functions_of_paths(const struct study *study, const struct ran *tested,
				 const struct ran *deployed, const struct pp_keyed *of_edges,
				 struct pp_keyed *functions)
{
	double cnt = 0;

	for (uint32_t i = 0; i < deployed->paths.cnt; i++) {
		const struct path_key *path = pp_keyed_item(&deployed->paths, i);
		struct place_key function;

		if (has(&tested->paths, path))
			continue;
		function = function_of(study, path->build, path->start);
		put(functions, &function);
		cnt += !has(of_edges, &function);
	}
	return cnt;
}

#define PATH_COLUMNS    8
#define RESIDUE_COLUMNS 3

static void path_row(const struct study *study, const struct ran *tested,
		     const struct ran *deployed, double *ret_row)
{
	struct residue paths = residue_of(&tested->paths, &deployed->paths);
	struct pp_keyed of_edges, of_paths;
	double edges, hidden;

	pp_keyed_init(&of_edges, sizeof(struct place_key), sizeof(struct place_key), KEYS_MAX, 0);
	pp_keyed_init(&of_paths, sizeof(struct place_key), sizeof(struct place_key), KEYS_MAX, 0);
	edges = functions_of_edges(study, tested, deployed, &of_edges);
	hidden = functions_of_paths(study, tested, deployed, &of_edges, &of_paths);
	ret_row[0] = paths.cnt;
	ret_row[1] = paths.share;
	ret_row[2] = paths.flow;
	ret_row[3] = of_paths.cnt;
	ret_row[4] = edges;
	ret_row[5] = of_edges.cnt;
	ret_row[6] = hidden;
	ret_row[7] = percent(hidden, paths.cnt);
	pp_keyed_release(&of_edges);
	pp_keyed_release(&of_paths);
}

static void residue_row(const struct residue *residue, double *ret_row)
{
	ret_row[0] = residue->cnt;
	ret_row[1] = residue->share;
	ret_row[2] = residue->flow;
}

/* ---------------------------------------------------------------- programs */

struct tables {
	struct lab_table *paths, *segments, *robust;
	double sums[3][PATH_COLUMNS]; /* of the rows of each */
	size_t row_cnt;
};

static void add_row(struct lab_table *table, const char *label, const double *row, size_t cnt,
		    double *sums)
{
	lab_table_add(table, label, row);
	for (size_t i = 0; i < cnt; i++)
		sums[i] += row[i];
}

static void study_program(struct lab_run *run, const struct lab_program *const *inputs,
			  struct tables *tables)
{
	struct study study = {.run = run};
	struct ran tested, deployed;
	double row[PATH_COLUMNS];
	struct residue residue;
	char *name = strndup(inputs[0]->name, lab_program_name_len(inputs[0]->name));

	if (!name)
		lab_fail("out of memory");
	pp_keyed_init(&study.builds, sizeof(struct build), sizeof(struct pathprof_build_id),
		      BUILDS_MAX, 0);
	ran_init(&tested);
	ran_init(&deployed);
	read_run(&study, inputs[0], &tested);
	read_run(&study, inputs[1], &deployed);
	path_row(&study, &tested, &deployed, row);
	add_row(tables->paths, name, row, PATH_COLUMNS, tables->sums[0]);
	residue = residue_of(&tested.segments, &deployed.segments);
	residue_row(&residue, row);
	add_row(tables->segments, name, row, RESIDUE_COLUMNS, tables->sums[1]);
	read_run(&study, inputs[2], &tested);
	residue = residue_of(&tested.paths, &deployed.paths);
	residue_row(&residue, row);
	add_row(tables->robust, name, row, RESIDUE_COLUMNS, tables->sums[2]);
	tables->row_cnt++;
	for (uint32_t i = 0; i < study.builds.cnt; i++)
		pathprof_code_free(code_of(&study, i));
	pp_keyed_release(&study.builds);
	ran_release(&tested);
	ran_release(&deployed);
	free(name);
}

/* ---------------------------------------------------------------- the thesis beside it */

struct thesis {
	const char *label;
	double values[PATH_COLUMNS];
};

static const char *const path_columns[PATH_COLUMNS] = {"untested paths",
						       "% of paths",
						       "% of executions",
						       "functions with these",
						       "untested edges",
						       "functions with these edges",
						       "paths in functions without",
						       "% of paths untested"};
static const char *const residue_columns[RESIDUE_COLUMNS] = {"untested", "%", "% of executions"};

static const struct thesis thesis_paths[] = {
	{"thesis: 164.gzip", {80, 7.2, 0, 6, 3, 2, 77, 96.3}},
	{"thesis: 256.bzip2", {398, 45.1, 0, 13, 81, 10, 26, 6.5}},
	{"thesis: average of 11", {583, 18.9, 4.5, 50.2, 114.3, 28.8, 184.5, 48.9}},
	{NULL, {0}},
};
static const struct thesis thesis_segments[] = {
	{"thesis: 256.bzip2", {949, 58.3, 0.1}},
	{"thesis: average of 6", {314.8, 35.9, 11.8}},
	{NULL, {0}},
};
static const struct thesis thesis_robust[] = {
	{"thesis: 176.gcc, 5 inputs", {1660, 2.84, 0.12}},
	{"thesis: 256.bzip2, 3 inputs", {272.7, 6.7, 0}},
	{"thesis: average of 10", {932, 3.6, 0.1}},
	{NULL, {0}},
};

static void finish_table(struct lab_run *run, struct lab_table *table, const struct thesis *thesis)
{
	lab_table_add_average(table);
	for (; thesis->label; thesis++)
		lab_table_add(table, thesis->label, thesis->values);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void say(struct lab_run *run, const char *what, const char *paper, double sum, size_t cnt,
		const char *why)
{
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = paper,
						 .ours = cnt ? sum / (double)cnt : NAN,
						 .unit = "%",
						 .aim = NAN,
						 .why = why});
}

static void tables_init(struct tables *tables)
{
	static const char *const titles[] = {
		"Paths that no test ran: tests are the first input, deployed is the second",
		"Depth-1 interprocedural segments of the same runs",
		"Paths that no test ran: tests are the first input and the third"};

	*tables = (struct tables){
		.paths =
			lab_table_new("eopp-3.1", titles[0], "program", path_columns, PATH_COLUMNS),
		.segments = lab_table_new("eopp-3.2", titles[1], "program", residue_columns,
					  RESIDUE_COLUMNS),
		.robust = lab_table_new("eopp-3.3", titles[2], "program", residue_columns,
					RESIDUE_COLUMNS),
	};
	for (size_t i = 0; i < PATH_COLUMNS; i++)
		lab_table_set_decimals(tables->paths, i, i == 1 || i == 2 || i == 7);
	for (size_t i = 0; i < RESIDUE_COLUMNS; i++) {
		lab_table_set_decimals(tables->segments, i, i > 0);
		lab_table_set_decimals(tables->robust, i, i > 0);
	}
}

static void tables_finish(struct lab_run *run, struct tables *t)
{
	const char *inputs = "ours are inputs of different kinds, the thesis' mostly of "
			     "different size";

	finish_table(run, t->paths, thesis_paths);
	finish_table(run, t->segments, thesis_segments);
	finish_table(run, t->robust, thesis_robust);
	say(run, "EOPP 3.1: untested paths of all that a deployed run takes", "18.9 %",
	    t->sums[0][1], t->row_cnt, inputs);
	say(run, "EOPP 3.1: executions along them", "4.5 %", t->sums[0][2], t->row_cnt, NULL);
	say(run, "EOPP 3.1: of untested paths, those in functions without an untested edge",
	    "48.9 %", t->sums[0][7], t->row_cnt, NULL);
	say(run, "EOPP 3.2: untested depth-1 segments", "35.9 %", t->sums[1][1], t->row_cnt, NULL);
	say(run, "EOPP 3.2: executions along them", "11.8 %", t->sums[1][2], t->row_cnt, NULL);
	say(run, "EOPP 3.3: untested paths where tests are two inputs", "3.6 %", t->sums[2][1],
	    t->row_cnt, "their tests are the whole of MinneSPEC beside test and train");
	say(run, "EOPP 3.3: executions along them", "0.1 %", t->sums[2][2], t->row_cnt, NULL);
}

static void count_paths(struct lab_run *run, const struct lab_program *program,
			const struct pathprof_trace *trace, void *result)
{
	(void)trace;
	(void)result;
	free(lab_run_paths(run, program));
}

static void run(struct lab_run *run)
{
	struct lab_run sub;
	struct tables tables;
	char results[LAB_PROGRAMS_MAX];

	lab_run_inputs(&sub, run);
	lab_run_each_program(&sub, LAB_TRACE_NONE, count_paths, results, 1);
	tables_init(&tables);
	for (size_t i = 0; i + INPUT_CNT <= sub.program_cnt; i += INPUT_CNT) {
		if (!lab_same_program(sub.programs[i], sub.programs[i + INPUT_CNT - 1]))
			lab_fail("%s: not %d inputs", sub.programs[i]->name, INPUT_CNT);
		study_program(&sub, &sub.programs[i], &tables);
	}
	tables_finish(run, &tables);
}

const struct lab_experiment exp_eopp_3_1 = {"eopp-3.1", "what deployed runs run that tests did not",
					    "EOPP tables 3.1 to 3.3", run};
