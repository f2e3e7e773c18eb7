// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Instructions' counts and branches, put together by source position; see pp_source_pieces.h. */
#include "pp_source_pieces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
	char **names;         /* of the graph's functions that have none, made up */
	struct frames frames; /* of the piece being put together */
	struct pp_piece piece;
	uint64_t end;          /* of its last instruction */
	uint32_t branch, time; /* the next to be told */
};

/* binary+0xSTART, as functions without a symbol are called everywhere. */
static const char *made_up_name(struct cutting *c, uint32_t function)
{
	const struct pathprof_graph *g = c->x->graph;
	uint32_t first = g->functions[function].first_part;

	if (!c->names[function] &&
	    asprintf(&c->names[function], "%s+0x%" PRIx64, pp_export_binary(c->x),
		     (uint64_t)g->parts[first].start) < 0)
		c->names[function] = NULL;
	return c->names[function];
}

/* NULL: no memory. */
static const char *name_of(struct cutting *c, uint32_t function)
{
	const char *name;

	if (function == PATHPROF_GRAPH_NONE)
		return "[unknown]";
	name = pathprof_graph_name(c->x->graph, function);
	return name[0] ? name : made_up_name(c, function);
}

/* Debug information without the function may still have the line (-gline-tables-only). */
static void line_frame(struct cutting *c, uint64_t offset, struct frames *ret_frames)
{
	const char *file = "";
	int line = 0;

	pathprof_code_line(c->x->code, offset, &file, &line);
	ret_frames->cnt = 1;
	ret_frames->of[0] = (struct pathprof_source_frame){
		.file = file,
		.dir = "",
		.line = (uint32_t)line,
		.copies = 1,
	};
}

/* function: the graph's, which has the outermost frame's name as all views show it. */
static int find_frames(struct cutting *c, uint64_t offset, uint32_t function,
		       struct frames *ret_frames)
{
	const char *name = name_of(c, function);
	int cnt = c->inlines ? pathprof_inlines_at(c->inlines, offset, ret_frames->of,
						   PP_PIECE_FRAMES_MAX)
			     : 0;

	if (!name)
		return -ENOMEM;
	if (cnt < 0)
		return cnt;
	ret_frames->cnt = cnt > PP_PIECE_FRAMES_MAX ? PP_PIECE_FRAMES_MAX : (uint32_t)cnt;
	if (!cnt)
		line_frame(c, offset, ret_frames);
	if (!cnt || (cnt <= PP_PIECE_FRAMES_MAX && function != PATHPROF_GRAPH_NONE)) {
		ret_frames->of[ret_frames->cnt - 1].linkage_name = name;
		ret_frames->of[ret_frames->cnt - 1].name = name;
	}
	return 0;
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
	return piece.instructions || piece.branches || piece.time_ns ? c->fn(c->context, &piece)
								     : 0;
}

/* The piece that offset belongs to is the one at hand, or becomes it. */
static int turn_to(struct cutting *c, uint64_t offset, uint32_t function)
{
	struct frames frames;
	int r = find_frames(c, offset, function, &frames);

	if (r)
		return r;
	if (offset == c->end && same_frames(&frames, &c->frames))
		return 0;
	r = flush(c);
	c->frames = frames;
	c->piece.offset = offset;
	return r;
}

static void take_branch(struct cutting *c)
{
	const struct pathprof_branch_count *b = &c->x->profile->branches[c->branch++];

	c->piece.branches = pp_count_sum(c->piece.branches, b->count);
	c->piece.mispredicted = pp_count_sum(c->piece.mispredicted, b->mispredicted);
}

static uint32_t function_at(const struct cutting *c, uint64_t offset)
{
	uint32_t b = pathprof_graph_block_at(c->x->graph, offset);

	return b == PATHPROF_GRAPH_NONE ? b : c->x->graph->blocks[b].function;
}

/* A piece of what no range has; what is at one offset is one piece. */
static int turn_to_other(struct cutting *c, uint64_t offset)
{
	int r = 0;

	if (c->piece.offset != offset || c->end != PATHPROF_OUTSIDE)
		r = turn_to(c, offset, function_at(c, offset));
	c->end = PATHPROF_OUTSIDE;
	return r;
}

static void take_time(struct cutting *c)
{
	c->piece.time_ns += c->x->profile->times[c->time++].ns;
}

/* Time before `up_to` at places that no range has. */
static int take_other_times(struct cutting *c, uint64_t up_to)
{
	const struct pathprof_branch_profile *p = c->x->profile;
	int r = 0;

	while (!r && c->time < p->time_cnt && p->times[c->time].place < up_to) {
		r = turn_to_other(c, p->times[c->time].place);
		take_time(c);
	}
	return r;
}

/* Branches before `up_to` of functions that no range has, and time, in order of offset. */
static int take_others(struct cutting *c, uint64_t up_to)
{
	const struct pathprof_branch_profile *p = c->x->profile;
	int r = 0;

	while (!r && c->branch < p->branch_cnt && p->branches[c->branch].from < up_to) {
		uint64_t from = p->branches[c->branch].from;

		r = take_other_times(c, from + 1);
		if (!r)
			r = turn_to_other(c, from);
		take_branch(c);
	}
	return r ? r : take_other_times(c, up_to);
}

static int take_insn(void *context, const struct pp_insn_count *insn)
{
	struct cutting *c = context;
	const struct pathprof_branch_profile *p = c->x->profile;
	int r = take_others(c, insn->offset);

	if (!r)
		r = turn_to(c, insn->offset, insn->function);
	c->end = insn->offset + insn->len_bytes;
	c->piece.instructions = pp_count_sum(c->piece.instructions, insn->count);
	if (c->time < p->time_cnt && p->times[c->time].place == insn->offset)
		take_time(c);
	while (c->branch < p->branch_cnt && p->branches[c->branch].from == insn->offset)
		take_branch(c);
	return r;
}

static int cut(struct cutting *c)
{
	int r = pathprof_inlines_open(&c->inlines, c->x->code, NULL);

	if (r && r != -ENOENT)
		return r;
	r = pp_insn_counts_each(c->x, take_insn, c);
	if (!r)
		r = take_others(c, PATHPROF_OUTSIDE);
	return r ? r : flush(c);
}

int pp_source_pieces_each(const struct pp_export *x, pp_piece_fn *fn, void *context)
{
	uint32_t function_cnt = x->graph->function_cnt;
	struct cutting cutting = {
		.x = x,
		.fn = fn,
		.context = context,
		.names = calloc((size_t)function_cnt + 1, sizeof(char *)),
		.piece = {.offset = PATHPROF_OUTSIDE},
		.end = PATHPROF_OUTSIDE,
	};
	int r = cutting.names ? cut(&cutting) : -ENOMEM;

	pathprof_inlines_free(cutting.inlines);
	for (uint32_t i = 0; cutting.names && i < function_cnt; i++)
		free(cutting.names[i]);
	free(cutting.names);
	return r;
}
