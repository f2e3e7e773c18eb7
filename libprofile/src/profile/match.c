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

#include "pp_keys.h"

#define OUTSIDE UINT32_MAX

struct pathprof_matcher {
	const struct pathprof_graph *graph;
	uint64_t *keys;  /* [function_cnt] key_hi; 0: not worked out */
	uint64_t *known; /* [known_cnt] every key once, ascending; NULL: not asked for */
	size_t known_cnt;
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

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Functions of one name and shape are one. */
static size_t keep_different(uint64_t *keys, size_t cnt)
{
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++)
		if (!kept || keys[kept - 1] != keys[i])
			keys[kept++] = keys[i];
	return kept;
}

static int list_known(struct pathprof_matcher *matcher)
{
	uint32_t cnt = matcher->graph->function_cnt;
	uint64_t *known = malloc(((size_t)cnt + 1) * sizeof(*known));

	if (!known)
		return -ENOMEM;
	for (uint32_t f = 0; f < cnt; f++) {
		known[matcher->known_cnt] = key_of(matcher, f);
		matcher->known_cnt += known[matcher->known_cnt] != 0;
	}
	if (matcher->known_cnt)
		qsort(known, matcher->known_cnt, sizeof(*known), by_value);
	matcher->known_cnt = keep_different(known, matcher->known_cnt);
	matcher->known = known;
	return 0;
}

int pathprof_matcher_has(struct pathprof_matcher *matcher, uint64_t key_hi)
{
	int r = matcher->known ? 0 : list_known(matcher);

	if (r < 0)
		return r;
	return matcher->known_cnt && bsearch(&key_hi, matcher->known, matcher->known_cnt,
					     sizeof(key_hi), by_value) != NULL;
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
