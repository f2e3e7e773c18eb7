// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names for unnamed paths in a baseline: see ctl.h. Binaries that were hardly seen are left out,
 * because the service judges none of so few paths either.
 */
#include "../ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../code/symbols.h"
#include "../text/cleanup.h"
#include "pathprof/match.h"

#define SAMPLES_MIN 200

struct binary {
	struct pathprof_build_id id;
	char *name;
	uint64_t samples;
};

struct filling {
	const struct ctl_options *options;
	struct pathprof_store *copy;
	struct symbols *symbols;
	struct pathprof_error *error;
	struct binary *binaries;
	size_t binary_cnt, binary_room;

	/* of the binary at hand */
	struct pathprof_portable_row *rows; /* every path */
	size_t row_cnt, row_room, named_cnt;
};

static int take_binary(void *context, const struct pathprof_binary_row *row)
{
	struct filling *f = context;

	if (row->samples < SAMPLES_MIN || row->binary_id.kind == PATHPROF_ID_NONE ||
	    row->binary_id.kind == PATHPROF_ID_JIT)
		return 0;
	ctl_grow(&f->binaries, f->binary_cnt, &f->binary_room);
	f->binaries[f->binary_cnt++] = (struct binary){
		.id = row->binary_id, .name = ctl_strdup(row->name), .samples = row->samples};
	return 0;
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct filling *f = context;

	ctl_grow(&f->rows, f->row_cnt, &f->row_room);
	f->rows[f->row_cnt++] = (struct pathprof_portable_row){
		.start = row->start, .length = row->length, .outcomes = row->outcomes};
	return 0;
}

static int count_named(void *context, const struct pathprof_portable_row *row)
{
	struct filling *f = context;

	f->named_cnt++;
	return 0;
}

/* Whether the service named it: its functions are known, and all of its paths were looked up. */
static bool is_complete(const struct filling *f, const struct binary *binary)
{
	uint64_t *keys = NULL;
	size_t cnt = 0;
	int r = pathprof_store_function_keys(f->copy, &binary->id, &keys, &cnt, NULL);

	free(keys);
	return r == 0 && f->named_cnt >= f->row_cnt;
}

/* ---------------------------------------------------------------- one binary */

static void name_row(struct pathprof_matcher *matcher, const struct pathprof_graph *graph,
		     struct pathprof_portable_row *row)
{
	uint32_t block = pathprof_graph_block_at(graph, row->start);
	struct pathprof_event event;

	row->function_name = block == PATHPROF_GRAPH_NONE
				     ? ""
				     : pathprof_graph_name(graph, graph->blocks[block].function);
	if (pathprof_matcher_path(matcher, row->start, row->length, row->outcomes, 1, &event) < 0)
		return;
	row->function = event.key_hi;
	row->place = event.key_lo;
}

static int write_names(struct filling *f, const struct binary *binary,
		       const struct pathprof_graph *graph)
{
	struct pathprof_matcher *matcher = NULL;
	const uint64_t *keys;
	size_t cnt;
	int r = pathprof_matcher_new(&matcher, graph);

	if (r == 0)
		r = pathprof_matcher_functions(matcher, &keys, &cnt);
	for (size_t i = 0; r == 0 && i < f->row_cnt; i++)
		name_row(matcher, graph, &f->rows[i]);
	if (r == 0)
		r = pathprof_store_add_portable(f->copy, &binary->id, f->rows, f->row_cnt,
						f->error);
	if (r == 0)
		r = pathprof_store_set_function_keys(f->copy, &binary->id, keys, cnt, f->error);
	pathprof_matcher_free(matcher);
	/* has more functions than are kept: it is compared only with its own build */
	return r == -E2BIG ? 0 : r;
}

static int fill_binary(struct filling *f, const struct binary *binary)
{
	struct pathprof_graph *graph = NULL;
	struct pathprof_error why = {""};
	struct pathprof_code *code;
	int r;

	f->row_cnt = f->named_cnt = 0;
	r = pathprof_store_known_paths(f->copy, &binary->id, take_path, f, f->error);
	if (r == 0)
		r = pathprof_store_portable(f->copy, &binary->id, count_named, f, f->error);
	if (r < 0 || is_complete(f, binary))
		return r;
	code = symbols_code(f->symbols, &binary->id, binary->name, &why);
	if (!code || graphs_open(&graph, f->options, code, binary->name, &why) < 0)
		return 0;
	r = write_names(f, binary, graph);
	pathprof_graph_free(graph);
	return r;
}

int baseline_names_fill(void *context, struct pathprof_store *copy, struct pathprof_error *error)
{
	struct filling f = {.options = context, .copy = copy, .error = error};
	const struct pathprof_filter everything = {0};
	int r = pathprof_store_binaries(copy, &everything, take_binary, &f, error);

	f.symbols = symbols_new(copy);
	for (size_t i = 0; r == 0 && i < f.binary_cnt; i++)
		r = fill_binary(&f, &f.binaries[i]);
	for (size_t i = 0; i < f.binary_cnt; i++)
		free(f.binaries[i].name);
	symbols_free(f.symbols);
	free(f.binaries);
	free(f.rows);
	return r;
}
