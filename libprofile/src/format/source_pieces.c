// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Instructions' counts and branches, put together by source position; see pp_source_pieces.h. */
#include "pp_source_pieces.h"

#include <errno.h>
#include <string.h>

#include "pp_insn_counts.h"

struct frames {
	struct pathprof_source_frame of[PP_PIECE_FRAMES_MAX];
	uint32_t cnt;
};

struct cutting {
	const struct pp_export *x;
	struct pathprof_inlines *inlines; /* NULL: there are none */
	pp_piece_fn *fn;
	void *context;
	struct frames frames; /* of the piece being put together */
	struct pp_piece piece;
	uint64_t end;    /* of its last instruction */
	uint32_t branch; /* the next to be told */
};

static void find_frames(const struct cutting *c, uint64_t offset, struct frames *ret_frames)
{
	const struct pathprof_graph *g = c->x->graph;
	uint32_t b = pathprof_graph_block_at(g, offset);
	const char *name =
		b == PATHPROF_GRAPH_NONE ? "" : pathprof_graph_name(g, g->blocks[b].function);

	ret_frames->cnt = c->inlines ? pathprof_inlines_at(c->inlines, offset, ret_frames->of,
							   PP_PIECE_FRAMES_MAX)
				     : 0;
	if (ret_frames->cnt > PP_PIECE_FRAMES_MAX)
		ret_frames->cnt = PP_PIECE_FRAMES_MAX;
	if (ret_frames->cnt)
		return;
	if (!name[0])
		name = "[unknown]";
	ret_frames->of[0] = (struct pathprof_source_frame){
		.linkage_name = name, .name = name, .file = "", .copies = 1};
	ret_frames->cnt = 1;
}

static bool same_frames(const struct frames *a, const struct frames *b)
{
	if (a->cnt != b->cnt)
		return false;
	for (uint32_t i = 0; i < a->cnt; i++)
		if (a->of[i].line != b->of[i].line ||
		    strcmp(a->of[i].linkage_name, b->of[i].linkage_name) != 0 ||
		    strcmp(a->of[i].file, b->of[i].file) != 0)
			return false;
	return true;
}

static int flush(struct cutting *c)
{
	struct pp_piece piece = c->piece;

	c->piece = (struct pp_piece){0};
	piece.frames = c->frames.of;
	piece.frame_cnt = c->frames.cnt;
	return piece.instructions || piece.branches ? c->fn(c->context, &piece) : 0;
}

/* The piece that offset belongs to is the one at hand, or becomes it. */
static int turn_to(struct cutting *c, uint64_t offset)
{
	struct frames frames;
	int rc;

	find_frames(c, offset, &frames);
	if (offset == c->end && same_frames(&frames, &c->frames))
		return 0;
	rc = flush(c);
	c->frames = frames;
	c->piece.offset = offset;
	return rc;
}

static void take_branch(struct cutting *c)
{
	const struct pathprof_branch_count *b = &c->x->profile->branches[c->branch++];

	c->piece.branches = pp_count_sum(c->piece.branches, b->count);
	c->piece.mispredicted = pp_count_sum(c->piece.mispredicted, b->mispredicted);
}

/* Branches before `up_to` of functions that no range has. */
static int take_others(struct cutting *c, uint64_t up_to)
{
	const struct pathprof_branch_profile *p = c->x->profile;
	int rc = 0;

	while (!rc && c->branch < p->branch_cnt && p->branches[c->branch].from < up_to) {
		rc = turn_to(c, p->branches[c->branch].from);
		c->end = PATHPROF_OUTSIDE;
		take_branch(c);
	}
	return rc;
}

static int take_insn(void *context, const struct pp_insn_count *insn)
{
	struct cutting *c = context;
	const struct pathprof_branch_profile *p = c->x->profile;
	int rc = take_others(c, insn->offset);

	if (!rc)
		rc = turn_to(c, insn->offset);
	c->end = insn->offset + insn->len_bytes;
	c->piece.instructions = pp_count_sum(c->piece.instructions, insn->count);
	while (c->branch < p->branch_cnt && p->branches[c->branch].from == insn->offset)
		take_branch(c);
	return rc;
}

int pp_source_pieces_each(const struct pp_export *x, pp_piece_fn *fn, void *context)
{
	struct cutting cutting = {
		.x = x,
		.fn = fn,
		.context = context,
		.end = PATHPROF_OUTSIDE,
	};
	int rc = pathprof_inlines_open(&cutting.inlines, x->code, NULL);

	if (rc == -ENOENT)
		cutting.inlines = NULL;
	else if (rc)
		return rc;
	rc = pp_insn_counts_each(x, take_insn, &cutting);
	if (!rc)
		rc = take_others(&cutting, PATHPROF_OUTSIDE);
	if (!rc)
		rc = flush(&cutting);
	pathprof_inlines_free(cutting.inlines);
	return rc;
}
