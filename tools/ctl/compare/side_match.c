// SPDX-License-Identifier: GPL-2.0-or-later
/* Two sides over different builds: see side_load.h. */
#include "side_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "pathprof/events.h"
#include "pathprof/match.h"
#include "pathprof/portable.h"

/* The key that an item gets when all pairs are matched. Until then the item is found by its own
 * key. */
struct renamed {
	uint64_t key_hi, key_lo;
	bool is_of_pair; /* the other side has another build of its binary */
	bool is_matched; /* such a build has its function: the key is set */
};

struct matching {
	struct side *side;
	struct renamed *items; /* as the side's */
};

/* A build: its side's binary, and the source of its paths' names, which is its code or the
 * store. */
struct build {
	struct matching *of;
	struct side *side; /* of's */
	uint32_t binary;
	struct pathprof_graph *graph;
	struct pathprof_matcher *matcher;
	struct pathprof_portable *kept;
};

static bool has_build(const struct side *side, const struct side_binary *binary)
{
	for (uint32_t i = 0; i < side->binary_cnt; i++)
		if (pathprof_build_id_equal(&side->binaries[i].id, &binary->id))
			return true;
	return false;
}

/* Finds the first binary of that name, from `at` on, that `other` does not have. */
static uint32_t find_named(const struct side *side, uint32_t at, const struct side *other,
			   const char *name, bool whole)
{
	for (; at < side->binary_cnt; at++) {
		const char *own = side->binaries[at].name;

		if (!strcmp(whole ? own : text_base_name(own),
			    whole ? name : text_base_name(name)) &&
		    !has_build(other, &side->binaries[at]))
			return at;
	}
	return SIDE_NO_BINARY;
}

/* ---------------------------------------------------------------- one pair */

static void close_build(struct build *build)
{
	pathprof_matcher_free(build->matcher);
	pathprof_graph_free(build->graph);
	pathprof_portable_unref(build->kept);
	*build = (struct build){.of = build->of, .side = build->side, .binary = build->binary};
}

static int open_code(struct build *build, const struct ctl_options *options,
		     struct pathprof_error *why)
{
	const struct side_binary *binary = &build->side->binaries[build->binary];
	struct pathprof_code *code =
		symbols_code(build->side->symbols, &binary->id, binary->name, why);
	int r = code ? graphs_open(&build->graph, options, code, binary->name, why) : -ENOENT;

	return r < 0 ? r : pathprof_matcher_new(&build->matcher, build->graph);
}

/* Takes a function's name from the store, which is the only source without the code. */
static int take_name(void *context, const struct pathprof_portable_row *row)
{
	struct build *build = context;
	struct side *side = build->side;
	struct pathprof_event event;
	struct side_item *item;

	pathprof_event_of_path(&event, side->binaries[build->binary].group, row->start, row->length,
			       row->outcomes, 0);
	item = (struct side_item *)(uintptr_t)side_find(side, event.key_hi, event.key_lo);
	if (item && !item->function_name && row->function_name && *row->function_name)
		item->function_name = ctl_strdup(row->function_name);
	return 0;
}

/* If the file is gone, the names of its paths may have been stored when drift was measured. */
static int open_kept(struct build *build)
{
	struct side *side = build->side;
	const struct side_binary *binary = &side->binaries[build->binary];
	struct pathprof_error error;
	int r;

	if (!side->store)
		return -ENOENT;
	build->kept = pathprof_portable_new(&binary->id);
	if (!build->kept)
		return -ENOMEM;
	r = pathprof_portable_load(build->kept, side->store, &error);
	if (r == 0 && !build->kept->functions)
		r = -ENOENT;
	return r < 0 ? r
		     : pathprof_store_portable(side->store, &binary->id, take_name, build, &error);
}

/* Fails with the reason why there is no code, which says more than that no names were stored. */
static int open_build(struct build *build, const struct ctl_options *options,
		      struct pathprof_error *why)
{
	return open_code(build, options, why) == 0 ? 0 : open_kept(build);
}

/* The name of a path that outlives its build. -ENOENT: it has none. */
static int name_item(const struct build *build, const struct side_item *item,
		     struct pathprof_event *ret_event)
{
	const struct pathprof_portable_path *path;

	if (build->matcher)
		return pathprof_matcher_path(build->matcher, item->from, item->length,
					     item->outcomes, item->weight, ret_event);
	path = build->kept ? pathprof_portable_find(build->kept, item->key_lo) : NULL;
	if (!path || !path->function)
		return -ENOENT;
	*ret_event = (struct pathprof_event){
		.key_hi = path->function, .key_lo = path->place, .weight = item->weight};
	return 0;
}

static int compare_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns 1, 0 or -errno. */
static int has_function(const struct build *build, uint64_t key)
{
	const struct pathprof_portable *kept = build->kept;

	if (build->matcher)
		return pathprof_matcher_has(build->matcher, key);
	return kept && kept->function_cnt &&
	       bsearch(&key, kept->functions, kept->function_cnt, sizeof(key), compare_key);
}

/* Finds the keys of the build's items whose function the other one has. */
static int rename_items(const struct build *build, const struct build *other)
{
	const struct side *side = build->side;
	struct pathprof_event event;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < side->item_cnt; i++) {
		struct renamed *item = &build->of->items[i];

		if (side->items[i].binary != build->binary)
			continue;
		item->is_of_pair = true;
		if (item->is_matched || name_item(build, &side->items[i], &event) < 0)
			continue;
		r = has_function(other, event.key_hi);
		if (r > 0)
			*item = (struct renamed){event.key_hi, event.key_lo, true, true};
	}
	return r < 0 ? r : 0;
}

/* Code that cannot be read matches nothing. */
static int match_pair(struct build *a, struct build *b, const struct ctl_options *options,
		      struct side_match *match)
{
	int r = open_build(a, options, &match->why);

	if (r == 0)
		r = open_build(b, options, &match->why);
	match->binary_cnt++;
	match->failed_cnt += r < 0;
	if (r < 0) {
		close_build(a);
		close_build(b);
	}
	r = rename_items(a, b);
	if (r == 0)
		r = rename_items(b, a);
	close_build(a);
	close_build(b);
	return r;
}

/* ---------------------------------------------------------------- all of them */

/* Matches with each build in b that has the same name as a's binary, or else the same file name. */
static int match_binary(struct matching *a, struct matching *b, uint32_t index,
			const struct ctl_options *options, struct side_match *match)
{
	const struct side_binary *binary = &a->side->binaries[index];
	const char *name = binary->name;
	bool whole;
	int r = 0;

	if (!*name || binary->id.kind == PATHPROF_ID_JIT || has_build(b->side, binary))
		return 0;
	whole = find_named(b->side, 0, a->side, name, true) != SIDE_NO_BINARY;
	for (uint32_t at = 0; r == 0; at++) {
		struct build of_a = {.of = a, .side = a->side, .binary = index};
		struct build of_b = {.of = b, .side = b->side};

		at = find_named(b->side, at, a->side, name, whole);
		if (at == SIDE_NO_BINARY)
			break;
		of_b.binary = at;
		r = match_pair(&of_a, &of_b, options, match);
	}
	return r;
}

/* Gives items of pairs their keys, and drops those that no other build has. */
static int apply(struct matching *matching)
{
	struct side *side = matching->side;
	size_t kept = 0;

	for (size_t i = 0; i < side->item_cnt; i++) {
		const struct renamed *renamed = &matching->items[i];
		struct side_item *item = &side->items[i];

		if (renamed->is_of_pair && !renamed->is_matched) {
			free(item->function_name);
			continue;
		}
		if (renamed->is_matched) {
			item->key_hi = renamed->key_hi;
			item->key_lo = renamed->key_lo;
			item->portable = true;
		}
		side->items[kept++] = *item;
	}
	side->item_cnt = kept;
	return side_finish(side);
}

static struct matching matching_of(struct side *side)
{
	return (struct matching){.side = side,
				 .items = ctl_alloc((side->item_cnt + 1) * sizeof(struct renamed))};
}

static double share_left(const struct side *side, long double before)
{
	return before > 0 ? (double)(side->distribution.total / before) : 0;
}

int side_match_builds(struct side *a, struct side *b, const struct ctl_options *options,
		      struct side_match *ret_match)
{
	struct side_match match = {.a_share = 1, .b_share = 1};
	long double a_total = a->distribution.total, b_total = b->distribution.total;
	struct matching of_a = matching_of(a), of_b = matching_of(b);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < a->binary_cnt; i++)
		r = match_binary(&of_a, &of_b, i, options, &match);
	if (r == 0 && match.binary_cnt)
		r = apply(&of_a);
	if (r == 0 && match.binary_cnt)
		r = apply(&of_b);
	free(of_a.items);
	free(of_b.items);
	if (r < 0)
		return r;
	match.a_share = share_left(a, a_total);
	match.b_share = share_left(b, b_total);
	*ret_match = match;
	return 0;
}
