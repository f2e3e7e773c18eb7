// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One function: its graph is numbered by libprofile, additions are placed by libprofile, and both
 * go into its code and into its description.
 */
#include <errno.h>

#include "describe.h"
#include "insert.h"
#include "pathprof/instrument_abi.h"

static void instrument(struct insertion *in, LLVMValueRef function)
{
	uint64_t path_cnt = pathprof_function_paths_cnt(in->paths);

	in->hashed = path_cnt > PATHPROF_ARRAY_MAX;
	in->first_counter =
		unit_take_counters(in->unit, in->hashed ? 2 * PATHPROF_CACHE_ENTRIES : path_cnt);
	/* Described first: inserted code has no lines of its own. */
	describe_function(in->unit, function, in->shape, in->first_counter, path_cnt, in->hashed);
	if (in->unit->oracle)
		insert_oracle(in, function);
	else
		insert_all(in, function);
	in->unit->function_cnt++;
}

/* -ELOOP: an edge would need code that no code can be put on. */
static int number_and_instrument(const struct insertion *in, LLVMValueRef function)
{
	struct insertion whole = *in;
	struct pathprof_increments increments;
	struct pathprof_function_paths *paths;
	int r = pathprof_function_paths_new(&paths, in->flow, PATHPROF_CUT_BACK_EDGES);

	if (r < 0)
		return r;
	r = pathprof_increments_init(&increments, paths, NULL, in->shape->is_fixed);
	if (r == 0) {
		whole.paths = paths;
		whole.increments = &increments;
		instrument(&whole, function);
		pathprof_increments_release(&increments);
	}
	pathprof_function_paths_free(paths);
	return r;
}

bool function_instrument(struct unit *unit, LLVMValueRef function)
{
	struct shape shape;
	struct pathprof_flow flow;
	struct insertion in = {.unit = unit, .shape = &shape, .flow = &flow};
	int r;

	shape_init(&shape, unit, function);
	r = pathprof_flow_init_arcs(&flow, shape.piece_cnt, shape.arcs, shape.arc_cnt);
	if (r == 0) {
		r = number_and_instrument(&in, function);
		pathprof_flow_release(&flow);
	}
	shape_release(&shape);
	if (r == -ENOMEM)
		must_allocate(SIZE_MAX, 1);
	return r == 0;
}
