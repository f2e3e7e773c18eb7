// SPDX-License-Identifier: GPL-2.0-or-later
/* The pieces of paths, cut at calls: see untested_work.h. */
#include "untested_work.h"

#include "../text/text.h"

#define INSTRUCTION_SIZE 256

/* Returns true if *at is behind the next call of a block. Code that was walked can be read
 * again. */
static bool behind_call(struct pathprof_code *code, uint64_t *at, uint64_t end)
{
	char text[INSTRUCTION_SIZE];
	unsigned int len;

	while (*at < end) {
		if (pathprof_code_instruction(code, *at, text, sizeof(text), &len) < 0)
			return false;
		*at += len;
		if (text_is_call(text))
			return true;
	}
	return false;
}

/* The pieces of a path, as they are cut. */
struct cutting {
	struct untested_work *w;
	const struct untested_item *path;
	uint64_t start;
	uint32_t first; /* branch of the path, and block */
	bool is_fresh;
	bool is_tested; /* the whole path, hence all of its pieces */
};

int untested_pieces_settle(struct untested_work *w, struct untested_item *unit,
			   const struct untested_item *part)
{
	struct untested_way way;

	return untested_settle(w, unit, part,
			       untested_code_walk_piece(w, &part->key, &way) ? &way : NULL);
}

/* Ends the piece before branch `end` of the path. */
static int end_piece(const struct cutting *c, uint32_t end)
{
	uint32_t length = end - c->first;
	struct untested_item part = *c->path, *unit;
	int r;

	part.key.start = c->start;
	part.key.length = length;
	part.key.outcomes = length < 32 ? (c->path->key.outcomes >> c->first) & ((1u << length) - 1)
					: c->path->key.outcomes;
	r = untested_add(c->w, &part.key, &part, &unit);
	if (r < 0 || c->is_tested || untested_set_has(c->w, &part.key))
		return r;
	return untested_pieces_settle(c->w, unit, &part);
}

/*
 * A piece that began behind a call and ended with the path's 32nd branch is not counted, since it
 * goes on in the tested set. Nor is the first piece of a path that begins behind another's 32nd
 * branch. Pieces of paths that were tested whole are not looked up.
 */
int untested_pieces_cut(struct untested_work *w, const struct untested_item *path,
			const struct untested_way *way)
{
	struct pathprof_code *code = untested_code_of(w, path->key.binary);
	struct cutting c = {.w = w, .path = path, .start = path->key.start, .is_fresh = true};
	uint32_t length = path->key.length;
	int r = 0;

	c.is_tested = untested_set_has_path(w, &path->key);
	for (uint32_t block = 0; block < way->cnt && r == 0; block++) {
		uint64_t at = way->blocks[block].start;

		while (r == 0 && behind_call(code, &at, way->blocks[block].end)) {
			r = end_piece(&c, block);
			c.start = at;
			c.first = block;
			c.is_fresh = false;
		}
	}
	if (r == 0 && (c.is_fresh || length < 32))
		r = end_piece(&c, length);
	return r;
}
