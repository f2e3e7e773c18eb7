// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Names for paths that outlive a build; see match.h.
 *
 * A function's blocks are numbered through its parts in order, the one where it begins first, so a
 * cold part may lie before or behind the hot one. The shape takes in, block by block, how the block
 * ends and where it leads: to which block of this function, or out of it. Which function a call
 * leads to is left out: a compiler renames clones (.part, .constprop) that it did not change. So
 * is how long a block is: a distance between two functions decides over the length of a jump.
 *
 * Two functions of one name and one shape (static ones of two files) share their keys, in every
 * build alike.
 */
#include "pathprof/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/search.h"
#include "pp_keys.h"

#define OUTSIDE UINT32_MAX

/* A function that has a name. */
struct named {
	uint64_t key;
	uint32_t function;
};

struct pathprof_matcher {
	const struct pathprof_graph *graph;
	uint64_t *keys;  /* [function_cnt] key_hi; 0: not worked out */
	uint64_t *known; /* [known_cnt] every key once, ascending; NULL: not asked for */
	size_t known_cnt;
	struct named *named; /* [named_cnt] by key; NULL: not asked for */
	size_t named_cnt;
};

int pathprof_matcher_new(struct pathprof_matcher **ret_matcher, const struct pathprof_graph *graph)
{
	struct pathprof_matcher *matcher = calloc(1, sizeof(*matcher));

	if (!matcher)
		return -ENOMEM;
	matcher->graph = graph;
	matcher->keys = calloc((size_t)graph->function_cnt + 1, sizeof(*matcher->keys));
	if (!matcher->keys) {
		free(matcher);
		return -ENOMEM;
	}
	*ret_matcher = matcher;
	return 0;
}

void pathprof_matcher_free(struct pathprof_matcher *matcher)
{
	if (!matcher)
		return;
	free(matcher->keys);
	free(matcher->known);
	free(matcher->named);
	free(matcher);
}

/* ---------------------------------------------------------------- shapes */

/* Which block of its function it is. */
static uint32_t number_of(const struct pathprof_graph *graph, uint32_t block)
{
	const struct pathprof_graph_function *f = &graph->functions[graph->blocks[block].function];
	uint32_t before = 0;

	for (uint32_t i = 0; i < f->part_cnt; i++) {
		const struct pathprof_graph_part *part = &graph->parts[f->first_part + i];

		if (block - part->first_block < part->block_cnt)
			return before + (block - part->first_block);
		before += part->block_cnt;
	}
	return OUTSIDE;
}

static uint64_t take_block(uint64_t hash, const struct pathprof_graph *graph, uint32_t block)
{
	const struct pathprof_graph_block *b = &graph->blocks[block];
	const uint32_t head[] = {b->kind, b[1].first_edge - b->first_edge};

	hash = XXH3_64bits_withSeed(head, sizeof(head), hash);
	for (uint32_t e = b->first_edge; e < b[1].first_edge; e++) {
		const struct pathprof_edge *edge = &graph->edges[e];
		bool own = edge->to != PATHPROF_GRAPH_NONE &&
			   graph->blocks[edge->to].function == b->function;
		const uint32_t words[] = {edge->kind, own ? number_of(graph, edge->to) : OUTSIDE};

		hash = XXH3_64bits_withSeed(words, sizeof(words), hash);
	}
	return hash;
}

static uint64_t shape_of(const struct pathprof_graph *graph, uint32_t function)
{
	const struct pathprof_graph_function *f = &graph->functions[function];
	uint64_t hash = 0;

	for (uint32_t i = 0; i < f->part_cnt; i++) {
		const struct pathprof_graph_part *part = &graph->parts[f->first_part + i];

		for (uint32_t b = 0; b < part->block_cnt; b++)
			hash = take_block(hash, graph, part->first_block + b);
	}
	return hash;
}

/* 0 where it has no name. */
static uint64_t key_of(struct pathprof_matcher *matcher, uint32_t function)
{
	const char *name = pathprof_graph_name(matcher->graph, function);
	uint64_t *key = &matcher->keys[function];

	if (!*key && name[0])
		*key = pp_key(PP_KEY_FUNCTION, XXH3_64bits(name, strlen(name)),
			      shape_of(matcher->graph, function), 0) |
		       1;
	return *key;
}

int pathprof_matcher_path(struct pathprof_matcher *matcher, uint64_t start, uint32_t length,
			  uint32_t outcomes, double weight, struct pathprof_event *ret_event)
{
	const struct pathprof_graph *graph = matcher->graph;
	uint32_t block = pathprof_graph_block_at(graph, start);
	uint64_t function;

	if (block == PATHPROF_GRAPH_NONE || graph->blocks[block].start != start)
		return -ENOENT;
	function = key_of(matcher, graph->blocks[block].function);
	if (!function)
		return -ENOENT;
	*ret_event = (struct pathprof_event){
		.key_hi = function,
		.key_lo = pp_key(PP_KEY_PORTABLE_PATH, number_of(graph, block), length, outcomes),
		.weight = weight,
	};
	return 0;
}

/* ---------------------------------------------------------------- what matches */

static int by_key(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static int list_named(struct pathprof_matcher *matcher)
{
	uint32_t cnt = matcher->graph->function_cnt;

	if (matcher->named)
		return 0;
	matcher->named = malloc(((size_t)cnt + 1) * sizeof(*matcher->named));
	if (!matcher->named)
		return -ENOMEM;
	for (uint32_t f = 0; f < cnt; f++) {
		matcher->named[matcher->named_cnt] = (struct named){key_of(matcher, f), f};
		matcher->named_cnt += matcher->named[matcher->named_cnt].key != 0;
	}
	if (matcher->named_cnt)
		qsort(matcher->named, matcher->named_cnt, sizeof(*matcher->named), by_key);
	return 0;
}

/* The first function of that key or a greater one. */
static size_t first_named(const struct pathprof_matcher *matcher, uint64_t key)
{
	return pp_first(i, 0, matcher->named_cnt, matcher->named[i].key >= key);
}

int pathprof_matcher_has(struct pathprof_matcher *matcher, uint64_t key_hi)
{
	int r = list_named(matcher);
	size_t at;

	if (r < 0)
		return r;
	at = first_named(matcher, key_hi);
	return at < matcher->named_cnt && matcher->named[at].key == key_hi;
}

/* Functions of one name and shape are one. */
static int list_known(struct pathprof_matcher *matcher)
{
	int r = list_named(matcher);

	if (r < 0)
		return r;
	matcher->known = malloc((matcher->named_cnt + 1) * sizeof(*matcher->known));
	if (!matcher->known)
		return -ENOMEM;
	for (size_t i = 0; i < matcher->named_cnt; i++)
		if (!i || matcher->named[i].key != matcher->named[i - 1].key)
			matcher->known[matcher->known_cnt++] = matcher->named[i].key;
	return 0;
}

int pathprof_matcher_functions(struct pathprof_matcher *matcher, const uint64_t **ret_keys,
			       size_t *ret_cnt)
{
	int r = matcher->known ? 0 : list_known(matcher);

	if (r < 0)
		return r;
	*ret_keys = matcher->known;
	*ret_cnt = matcher->known_cnt;
	return 0;
}

/* ---------------------------------------------------------------- places */

/* One function as number_of() numbers it; it has the shape of one with so many blocks. */
static uint64_t start_of(const struct pathprof_graph *graph, uint32_t function, uint32_t number)
{
	const struct pathprof_graph_function *f = &graph->functions[function];

	for (uint32_t i = 0; i < f->part_cnt; i++) {
		const struct pathprof_graph_part *part = &graph->parts[f->first_part + i];

		if (number < part->block_cnt)
			return graph->blocks[part->first_block + number].start;
		number -= part->block_cnt;
	}
	return 0;
}

int pathprof_matcher_places(struct pathprof_matcher *matcher, uint64_t start,
			    struct pathprof_matcher *other, pathprof_matcher_place_fn *fn,
			    void *context)
{
	const struct pathprof_graph *graph = matcher->graph;
	uint32_t block = pathprof_graph_block_at(graph, start);
	int r = list_named(other);
	uint64_t key;

	if (r < 0)
		return r;
	if (block == PATHPROF_GRAPH_NONE || graph->blocks[block].start != start)
		return -ENOENT;
	key = key_of(matcher, graph->blocks[block].function);
	r = -ENOENT;
	for (size_t i = first_named(other, key);
	     key && i < other->named_cnt && other->named[i].key == key; i++) {
		r = fn(context,
		       start_of(other->graph, other->named[i].function, number_of(graph, block)));
		if (r)
			break;
	}
	return r;
}
