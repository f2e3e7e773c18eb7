// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts of a side that need binaries' code: see side_load.h. */
#include "side_load.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "pathprof/events.h"
#include "pathprof/profile.h"

static struct pathprof_code *code_of(const struct side *side, const struct side_item *item)
{
	const struct side_binary *binary;

	if (item->binary == SIDE_NO_BINARY)
		return NULL;
	binary = &side->binaries[item->binary];
	return symbols_code(side->symbols, &binary->id, binary->name, NULL);
}

/* ---------------------------------------------------------------- branches */

struct walk {
	struct side *to;
	uint32_t binary;
	const struct side_item *path;
};

static int take_block(void *context, const struct pathprof_block *block)
{
	struct walk *walk = context;

	if (block->kind == PERF_BR_COND)
		side_add_branch(walk->to, walk->binary, block->end, block->taken, walk->path);
	return 0;
}

static void add_branches(struct side *to, const struct side *paths, const struct side_item *item)
{
	struct pathprof_code *code = code_of(paths, item);
	struct pathprof_error error;
	size_t before = to->item_cnt;
	struct walk walk = {.to = to, .path = item};

	if (code) {
		const struct side_binary *binary = &paths->binaries[item->binary];

		walk.binary = side_binary(to, &binary->id, binary->name);
		if (pathprof_code_walk(code, item->from, item->length, item->outcomes, take_block,
				       &walk, &error) == 0)
			return;
		to->item_cnt = before;
	}
	to->unreadable += item->samples;
}

static void fill_branches(struct side *to, const struct side *paths)
{
	side_init(to, paths->word, SIDE_BRANCHES);
	to->weighed = paths->weighed;
	to->worth = paths->worth;
	for (size_t i = 0; i < paths->item_cnt; i++)
		add_branches(to, paths, &paths->items[i]);
}

int side_code_branches(struct side *ret_branches, const struct side *paths)
{
	struct side branches;
	int r;

	fill_branches(&branches, paths);
	branches.symbols = paths->symbols;
	r = side_finish(&branches);
	if (r < 0)
		side_code_release_branches(&branches);
	else
		*ret_branches = branches;
	return r;
}

void side_code_release_branches(struct side *branches)
{
	branches->symbols = NULL;
	side_release(branches);
}

static double total_of(const struct side *side)
{
	double total = 0;

	for (size_t i = 0; i < side->item_cnt; i++)
		total += side->items[i].samples;
	return total;
}

/* Scales the size of a burst to the new events, whose dispersion was not measured. */
static void scale_bursts(struct side *side, double before)
{
	double now = total_of(side);

	side->per_burst = fmax(1, before > 0 ? side->per_burst * now / before : 1);
	side->dispersion = 0;
}

/* Only for a side from a store: the keys of a text give its kind. */
static void turn_into_branches(struct side *side)
{
	struct side branches;
	double paths = total_of(side);

	fill_branches(&branches, side);
	branches.measure = side->measure;
	branches.filter = side->filter;
	branches.words = side->words;
	side->words = NULL;
	branches.store = side->store;
	branches.symbols = side->symbols;
	branches.per_burst = side->per_burst;
	side->store = NULL;
	side->symbols = NULL;
	side_release(side);
	*side = branches;
	scale_bursts(side, paths - side->unreadable);
}

/* ---------------------------------------------------------------- calls */

/* Returns 1 for a call, 0 for none, -1 if that cannot be found out. */
static int is_call(const struct side *side, const struct side_item *item)
{
	struct pathprof_code *code = code_of(side, item);
	unsigned int len_bytes;
	char text[64];

	if (!code ||
	    pathprof_code_instruction(code, item->from, text, sizeof(text), &len_bytes) < 0)
		return -1;
	return text_is_call(text);
}

static void keep_calls(struct side *side)
{
	double edges = total_of(side);
	size_t kept = 0;

	for (size_t i = 0; i < side->item_cnt; i++) {
		int known = is_call(side, &side->items[i]);

		if (known > 0) {
			side->items[kept++] = side->items[i];
			continue;
		}
		if (known < 0)
			side->unreadable += side->items[i].samples;
		free(side->items[i].text);
	}
	side->item_cnt = kept;
	scale_bursts(side, edges - side->unreadable);
}

/* ---------------------------------------------------------------- functions */

/* The key is the function's name, which is the same in another build of the binary. */
static void name_function(struct side *side, struct side_item *item)
{
	const struct side_binary *binary;
	const struct symbol *symbol = side_function(side, item);
	_cleanup_free_ char *key = NULL;
	struct pathprof_build_id hashed;

	if (item->binary == SIDE_NO_BINARY) {
		item->text =
			ctl_strdup(item->from == PATHPROF_PLACE_KERNEL ? "[kernel]" : "[unknown]");
	} else if (symbol && symbol->bounded) {
		item->text = ctl_strdup(symbol->name);
		item->from = symbol->start;
	} else {
		binary = &side->binaries[item->binary];
		item->text = text_nameless(binary->name);
	}
	key = ctl_printf("%s\n%s",
			 item->binary == SIDE_NO_BINARY
				 ? ""
				 : text_base_name(side->binaries[item->binary].name),
			 item->text);
	pathprof_build_id_make(&hashed, PATHPROF_ID_NONE, key, strlen(key));
	item->key_hi = 0;
	item->key_lo = pathprof_event_group(&hashed);
}

static void name_functions(struct side *side)
{
	side_functions_ahead(side);
	for (size_t i = 0; i < side->item_cnt; i++)
		name_function(side, &side->items[i]);
}

int side_code_refine(struct side *side)
{
	if (!side->store)
		return 0;
	if (side->kind == SIDE_TIMES)
		name_functions(side);
	else if (side->kind == SIDE_BRANCHES)
		turn_into_branches(side);
	else if (side->kind == SIDE_CALLS)
		keep_calls(side);
	return 0;
}
