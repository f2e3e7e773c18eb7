// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One function: its graph is numbered by libprofile, additions are placed by libprofile, and both
 * go into its code and into its description.
 */
#include <errno.h>
#include <stdlib.h>

#include "describe.h"
#include "graph.h"
#include "hottest.h"
#include "insert.h"
#include "weights.h"

/* The paths of a function that are known to run; ids is NULL if there are none. */
struct known {
	uint64_t *ids, *counts; /* hottest first */
	size_t cnt;
	uint64_t *frequency; /* by edge */
	uint64_t entries;    /* calls of the function */
	uint64_t total;      /* the profile's total count, over all functions */
	bool is_changed;     /* the profile is of another version of the function's graph */
};

static uint64_t counters_of(const struct insertion *in)
{
	switch (in->counting) {
	case PATHPROF_COUNTING_ARRAY:
		return pathprof_function_paths_cnt(in->paths);
	case PATHPROF_COUNTING_TABLE:
		return 1ull << in->table->slot_bits;
	case PATHPROF_COUNTING_WARM:
		return in->warm->counter_cnt ? in->warm->counter_cnt : 1;
	default:
		return 2 * PATHPROF_CACHE_ENTRIES;
	}
}

static void instrument(struct insertion *in, LLVMValueRef function)
{
	in->first_counter = unit_take_counters(in->unit, counters_of(in));
	/* Described before the insertion, since inserted code has no lines of its own. */
	describe_function(in, function);
	if (in->unit->oracle)
		insert_oracle(in, function);
	else if (in->increments)
		insert_all(in, function);
	in->unit->function_cnt++;
}

/* ---------------------------------------------------------------- what is known to run */

/* Takes the weights that clang was given, as an edge profile. */
static void take_weights(const struct insertion *in, LLVMValueRef function, struct known *known)
{
	if (!in->unit->practical)
		return;
	known->frequency = must_allocate(in->flow->edge_cnt, sizeof(*known->frequency));
	known->total = weights_total(in->unit);
	known->is_changed = !weights_take(in->unit, function, in->shape, in->flow, &known->entries,
					  known->frequency);
	if (known->is_changed) {
		in->unit->changed_cnt++;
		free(known->frequency);
		known->frequency = NULL;
	}
}

static void take_known(const struct insertion *in, const struct graph *graph, LLVMValueRef function,
		       struct known *known)
{
	const struct pathprof_interesting_path *paths;
	size_t cnt = 0;

	*known = (struct known){0};
	if (!in->unit->interesting) {
		take_weights(in, function, known);
		return;
	}
	known->total = pathprof_interesting_total(in->unit->interesting);
	paths = graph_known_paths(graph, in->unit, in->unit->interesting, function, &cnt,
				  &known->is_changed);
	in->unit->changed_cnt += known->is_changed;
	if (!cnt)
		return;
	known->ids = must_allocate(cnt, sizeof(*known->ids));
	known->counts = must_allocate(cnt, sizeof(*known->counts));
	known->frequency = must_allocate(in->flow->edge_cnt, sizeof(*known->frequency));
	for (size_t i = 0; i < cnt; i++) {
		if (pathprof_function_paths_count_edges(in->paths, paths[i].id, paths[i].count,
							known->frequency) < 0)
			continue;
		known->counts[known->cnt] = paths[i].count;
		known->ids[known->cnt++] = paths[i].id;
		known->entries += graph_is_entry(graph, paths[i].id) ? paths[i].count : 0;
	}
}

static void known_release(struct known *known)
{
	free(known->ids);
	free(known->counts);
	free(known->frequency);
}

/* ---------------------------------------------------------------- how its paths are counted */

/* -ENOENT: the function needs no table, or no good one was found. */
static int make_table(const struct insertion *in, const struct known *known,
		      struct pathprof_preferential *ret_table)
{
	int r = -ENOENT;

	if (known->cnt && pathprof_function_paths_cnt(in->paths) > PATHPROF_ARRAY_MAX)
		r = pathprof_preferential_init(ret_table, in->paths, known->ids, known->cnt,
					       known->frequency, in->shape->is_fixed);
	return r == -ELOOP ? -ENOENT : r;
}

static int instrument_with_table(const struct insertion *in, LLVMValueRef function,
				 const struct known *known)
{
	struct insertion whole = *in;
	struct pathprof_preferential table;
	struct hottest hottest;
	int r = make_table(in, known, &table);

	if (r < 0)
		return r;
	whole.counting = PATHPROF_COUNTING_TABLE;
	whole.table = &table;
	whole.increments = &table.increments;
	hottest_init(&hottest, in->paths, in->flow, &table, known->ids, known->counts, known->cnt);
	whole.hottest = &hottest;
	instrument(&whole, function);
	hottest_release(&hottest);
	pathprof_preferential_release(&table);
	return 0;
}

/* Nothing is put into a function whose paths are all cold. */
static int instrument_warm(const struct insertion *in, LLVMValueRef function,
			   const struct known *known)
{
	struct insertion whole = *in;
	struct pathprof_edge_profile profile = {known->frequency, known->entries, known->total};
	struct pathprof_warm warm = {0};
	int r = known->frequency
			? pathprof_warm_init(&warm, in->paths, &profile, PATHPROF_ARRAY_MAX,
					     in->shape->is_fixed, in->unit->rules)
			: 0;

	if (r < 0)
		return r == -EOVERFLOW ? -ENOENT : r;
	whole.counting = PATHPROF_COUNTING_WARM;
	whole.warm = &warm;
	whole.increments = warm.counter_cnt ? &warm.increments : NULL;
	instrument(&whole, function);
	pathprof_warm_release(&warm);
	return 0;
}

/* -ELOOP: an edge that cannot be split would need code. */
static int instrument_by_number(const struct insertion *in, LLVMValueRef function,
				const struct known *known)
{
	struct insertion whole = *in;
	struct pathprof_increments increments;
	int r = pathprof_increments_init(&increments, in->paths, known->frequency,
					 in->shape->is_fixed);

	if (r < 0)
		return r;
	whole.counting = pathprof_function_paths_cnt(in->paths) > PATHPROF_ARRAY_MAX
				 ? PATHPROF_COUNTING_HASH
				 : PATHPROF_COUNTING_ARRAY;
	whole.increments = &increments;
	instrument(&whole, function);
	pathprof_increments_release(&increments);
	return 0;
}

static int instrument_best(const struct insertion *in, LLVMValueRef function,
			   const struct known *known)
{
	int r = -ENOENT;

	if (!in->unit->practical)
		r = instrument_with_table(in, function, known);
	else if (!known->is_changed)
		r = instrument_warm(in, function, known);
	return r == -ENOENT ? instrument_by_number(in, function, known) : r;
}

bool function_instrument(struct unit *unit, LLVMValueRef function)
{
	struct graph graph;
	struct insertion in = {.unit = unit, .shape = &graph.shape, .flow = &graph.flow};
	struct known known;
	int r = graph_init(&graph, unit, function);

	if (r == 0) {
		in.paths = graph.paths;
		take_known(&in, &graph, function, &known);
		in.frequency = known.frequency;
		if (known.frequency)
			weights_give(unit, in.shape, in.flow, known.frequency);
		r = instrument_best(&in, function, &known);
		known_release(&known);
		graph_release(&graph);
	}
	if (r == -ENOMEM)
		must_allocate(SIZE_MAX, 1);
	return r == 0;
}
