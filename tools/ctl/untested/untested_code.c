// SPDX-License-Identifier: GPL-2.0-or-later
/* Code that tested paths and pieces ran through: see untested_work.h. */
#include "untested_work.h"

struct pathprof_code *untested_code_of(const struct untested_work *w, uint32_t binary)
{
	const struct untested_binary *b = &w->u->binaries[binary];

	return symbols_code(w->symbols, &b->id, b->name, NULL);
}

static int take_block(void *context, const struct pathprof_block *block)
{
	struct untested_way *way = context;

	if (way->cnt < UNTESTED_BLOCKS_MAX)
		way->blocks[way->cnt++] = *block;
	return 0;
}

/* Returns false if the code is not available, or does not have that path. */
bool untested_code_walk(const struct untested_work *w, const struct tested_key *key,
			struct untested_way *ret_way)
{
	struct pathprof_code *code = untested_code_of(w, key->binary);

	ret_way->cnt = 0;
	return code && pathprof_code_walk(code, key->start, key->length, key->outcomes, take_block,
					  ret_way, NULL) == 0;
}

bool untested_code_walk_piece(const struct untested_work *w, const struct tested_key *key,
			      struct untested_way *ret_way)
{
	struct pathprof_code *code = untested_code_of(w, key->binary);

	ret_way->cnt = 0;
	return code && pathprof_code_walk_piece(code, key->start, key->length, key->outcomes,
						take_block, ret_way, NULL) == 0;
}

static int cover_block(struct untested_coverage *c, const struct pathprof_block *block)
{
	uint32_t len = (uint32_t)(block->end - block->start);
	uint32_t known = pp_map_get(&c->ends, block->end);
	int r = 0;

	if (known == PP_TABLE_NONE || known < len)
		r = pp_map_put(&c->ends, block->end, len);
	if (r == 0)
		r = pp_map_put(&c->edges, block->end << 1 | (block->taken != 0), 1);
	return r < 0 ? r : pp_map_put(&c->starts, block->start, 1);
}

typedef bool walk_fn(const struct untested_work *w, const struct tested_key *key,
		     struct untested_way *ret_way);

static int cover(struct untested_work *w, uint32_t binary, const struct pp_keyed *keys,
		 walk_fn *walk)
{
	struct untested_coverage *c = &w->coverage[binary];
	struct untested_way way;
	int r = 0;

	for (uint32_t i = 0; i < keys->cnt && r == 0; i++) {
		const struct tested_key *key = pp_keyed_item(keys, i);

		if (key->binary != binary || !walk(w, key, &way))
			continue;
		for (uint32_t j = 0; j < way.cnt && r == 0; j++)
			r = cover_block(c, &way.blocks[j]);
	}
	return r;
}

int untested_code_cover(struct untested_work *w, uint32_t binary)
{
	struct untested_coverage *c = &w->coverage[binary];
	int r;

	if (c->is_read)
		return 0;
	c->is_read = true;
	r = cover(w, binary, &w->paths, untested_code_walk);
	return r < 0 ? r : cover(w, binary, &w->pieces, untested_code_walk_piece);
}

uint64_t untested_code_ran_from(const struct untested_coverage *c,
				const struct pathprof_block *block)
{
	uint32_t known = pp_map_get(&c->ends, block->end);

	return block->end - (known == PP_TABLE_NONE ? 0 : known);
}

bool untested_code_is_new_block(const struct untested_coverage *c,
				const struct pathprof_block *block)
{
	return untested_code_ran_from(c, block) > block->start;
}

bool untested_code_is_new_edge(const struct untested_coverage *c,
			       const struct pathprof_block *block)
{
	return pp_map_get(&c->edges, block->end << 1 | (block->taken != 0)) == PP_TABLE_NONE;
}

bool untested_code_begins_at(const struct untested_coverage *c, uint64_t start)
{
	return pp_map_get(&c->starts, start) != PP_TABLE_NONE;
}
