// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_function_paths.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_path_stack.h"
#include "oracle_stream.h"

#define BEFORE 0 /* block of the function before; the one behind has the last block */
#define FAR    UINT64_C(0x80000000)

/* ---------------------------------------------------------------- drawing */

struct drawing {
	struct oracle_function *f;
	enum oracle_shape shape;
	uint32_t first, cold_cnt, end; /* blocks of the function */
	uint64_t *random;
	struct pathprof_edge out[ORACLE_OUT_MAX];
	uint32_t out_cnt;
};

static uint32_t below(struct drawing *d, uint32_t cnt)
{
	return (uint32_t)(stream_random(d->random) % cnt);
}

static void lay_blocks(struct drawing *d)
{
	uint32_t at = 0x1000;

	for (uint32_t b = 0; b <= d->end; b++) {
		struct pathprof_graph_block *block = &d->f->blocks[b];
		uint32_t len = 2 + below(d, 30), last_len = 1 + below(d, 6);

		if (b == d->first || b == d->first + d->cold_cnt || b == d->end)
			at += 16; /* ranges have gaps between them */
		*block = (struct pathprof_graph_block){
			.start = at, .end = at + len, .last = at, .kind = PERF_BR_RET};
		if (last_len < len)
			block->last = block->end - last_len;
		block->function = b < d->first ? 0 : b < d->end ? 1 : 2;
		at += len;
	}
}

static void add_out(struct drawing *d, uint32_t kind, uint32_t to)
{
	for (uint32_t i = 0; i < d->out_cnt; i++)
		if (d->out[i].kind == kind && d->out[i].to == to)
			return;
	if (d->out_cnt < ORACLE_OUT_MAX)
		d->out[d->out_cnt++] = (struct pathprof_edge){.to = to, .kind = kind};
}

/* The block behind b, or none where its range ends. */
static uint32_t behind(const struct drawing *d, uint32_t b)
{
	return b + 1 == d->end || b + 1 == d->first + d->cold_cnt ? PATHPROF_GRAPH_NONE : b + 1;
}

/* Mostly a little ahead. */
static uint32_t target(struct drawing *d, uint32_t b)
{
	uint32_t ahead = d->end - 1 - b, most = d->shape == ORACLE_FORWARD ? 16 : 2;

	if (ahead && below(d, most))
		return b + 1 + below(d, ahead < 4 ? ahead : 4);
	return d->first + below(d, d->end - d->first);
}

static uint32_t stranger(struct drawing *d)
{
	uint32_t which = below(d, 5);

	return which == 0 ? PATHPROF_GRAPH_NONE : which < 3 ? BEFORE : d->end;
}

static void draw_conditional(struct drawing *d, uint32_t b)
{
	uint32_t next = behind(d, b);

	add_out(d, PATHPROF_EDGE_NOT_TAKEN, next);
	/* One way stays: a number does not tell two ways out of the function. */
	if (next != PATHPROF_GRAPH_NONE && d->shape == ORACLE_ANY && !below(d, 6))
		add_out(d, PATHPROF_EDGE_TAIL, stranger(d));
	else
		add_out(d, PATHPROF_EDGE_TAKEN, target(d, b));
}

static void draw_indirect(struct drawing *d, uint32_t b)
{
	uint32_t kind = below(d, 4) ? PATHPROF_EDGE_SWITCH : PATHPROF_EDGE_GUESSED;

	for (uint32_t i = below(d, 5); i; i--)
		add_out(d, kind, below(d, 12) ? target(d, b) : stranger(d));
}

static void draw_call(struct drawing *d, uint32_t b)
{
	if (below(d, 16))
		add_out(d, PATHPROF_EDGE_CONTINUE, behind(d, b));
	if (!below(d, 3))
		add_out(d, PATHPROF_EDGE_UNWIND, below(d, 12) ? target(d, b) : stranger(d));
	if (below(d, 3))
		add_out(d, PATHPROF_EDGE_CALL, below(d, 4) ? stranger(d) : d->first + d->cold_cnt);
}

static uint32_t draw_kind(struct drawing *d, uint32_t b)
{
	static const uint8_t any[] = {0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 6},
			     forward[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4};

	switch (d->shape) {
	case ORACLE_ANY:
		return any[below(d, sizeof(any))];
	case ORACLE_FORWARD:
		return b + 1 == d->end ? PERF_BR_RET : forward[below(d, sizeof(forward))];
	default:
		return b + 1 == d->end ? PERF_BR_RET : (b - d->first) % 2 ? 0 : PERF_BR_COND;
	}
}

static void draw_out(struct drawing *d, uint32_t b, uint32_t kind)
{
	switch (kind) {
	case PERF_BR_COND:
		if (d->shape != ORACLE_DIAMONDS) {
			draw_conditional(d, b);
			break;
		}
		add_out(d, PATHPROF_EDGE_NOT_TAKEN, b + 1);
		add_out(d, PATHPROF_EDGE_TAKEN, b + 2);
		break;
	case PERF_BR_UNCOND:
		if (d->shape == ORACLE_ANY && !below(d, 6))
			add_out(d, PATHPROF_EDGE_TAIL, stranger(d));
		else
			add_out(d, PATHPROF_EDGE_JUMP, target(d, b));
		break;
	case PERF_BR_IND:
		draw_indirect(d, b);
		break;
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		draw_call(d, b);
		break;
	case 0:
		if (d->shape != ORACLE_ANY || below(d, 16))
			add_out(d, PATHPROF_EDGE_FALL, behind(d, b));
		break;
	default:
		break;
	}
}

static int by_kind(const void *x, const void *y)
{
	const struct pathprof_edge *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static void draw_edges(struct drawing *d)
{
	struct oracle_function *f = d->f;
	uint32_t cnt = 0;

	for (uint32_t b = 0; b <= d->end; b++) {
		f->blocks[b].first_edge = cnt;
		if (b < d->first || b >= d->end)
			continue;
		d->out_cnt = 0;
		f->blocks[b].kind = draw_kind(d, b);
		draw_out(d, b, f->blocks[b].kind);
		qsort(d->out, d->out_cnt, sizeof(d->out[0]), by_kind);
		memcpy(&f->edges[cnt], d->out, d->out_cnt * sizeof(d->out[0]));
		cnt += d->out_cnt;
	}
	f->blocks[d->end + 1].first_edge = cnt;
	f->graph.edge_cnt = cnt;
}

static void part(struct oracle_function *f, uint32_t i, uint32_t first, uint32_t cnt)
{
	f->parts[i] = (struct pathprof_graph_part){.first_block = first, .block_cnt = cnt};
	if (cnt) {
		f->parts[i].start = f->blocks[first].start;
		f->parts[i].end = f->blocks[first + cnt - 1].end;
	}
}

void oracle_function_draw(struct oracle_function *ret_f, enum oracle_shape shape,
			  uint32_t block_cnt, uint64_t *random)
{
	struct drawing d = {.f = ret_f, .shape = shape, .first = 1, .random = random};
	uint32_t hot;

	if (!block_cnt || block_cnt + 2 > ORACLE_BLOCKS_MAX)
		abort();
	memset(ret_f, 0, sizeof(*ret_f));
	d.end = d.first + block_cnt;
	d.cold_cnt = shape == ORACLE_ANY && block_cnt > 3 ? below(&d, block_cnt / 2) : 0;
	hot = d.first + d.cold_cnt;
	lay_blocks(&d);
	draw_edges(&d);
	part(ret_f, 0, BEFORE, 1);
	part(ret_f, 1, hot, d.end - hot);
	part(ret_f, 2, d.first, d.cold_cnt);
	part(ret_f, 3, d.end, 1);
	ret_f->functions[0] = (struct pathprof_graph_function){.entry = BEFORE, .part_cnt = 1};
	ret_f->functions[1] = (struct pathprof_graph_function){
		.entry = hot, .first_part = 1, .part_cnt = d.cold_cnt ? 2 : 1};
	ret_f->functions[2] =
		(struct pathprof_graph_function){.entry = d.end, .first_part = 3, .part_cnt = 1};
	ret_f->graph.functions = ret_f->functions;
	ret_f->graph.parts = ret_f->parts;
	ret_f->graph.blocks = ret_f->blocks;
	ret_f->graph.edges = ret_f->edges;
	ret_f->graph.names = "";
	ret_f->graph.names_bytes = 1;
	ret_f->graph.function_cnt = 3;
	ret_f->graph.part_cnt = 4;
	ret_f->graph.block_cnt = d.end + 1;
}

/* ---------------------------------------------------------------- paths by definition */

/* The target of the direct branch at a block's end. */
static uint64_t branch_target(const struct oracle_function *f, uint32_t block)
{
	const struct pathprof_graph_block *b = &f->blocks[block];

	for (uint32_t e = b[0].first_edge; e < b[1].first_edge; e++)
		if (f->edges[e].kind == PATHPROF_EDGE_TAKEN ||
		    f->edges[e].kind == PATHPROF_EDGE_JUMP ||
		    f->edges[e].kind == PATHPROF_EDGE_TAIL)
			return f->edges[e].to == PATHPROF_GRAPH_NONE
				       ? FAR
				       : f->blocks[f->edges[e].to].start;
	return FAR;
}

bool oracle_is_cut(const struct oracle_function *f, const struct pathprof_flow *flow,
		   enum pathprof_cut cut, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &flow->edges[edge];
	uint32_t block = flow->nodes[e->from].block;

	if (cut == PATHPROF_CUT_BACK_EDGES)
		return e->retreating;
	switch (f->blocks[block].kind) {
	case PERF_BR_COND:
	case PERF_BR_UNCOND:
		return branch_target(f, block) <= f->blocks[block].last;
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		return cut == PATHPROF_CUT_CALLS || e->kind == PATHPROF_EDGE_UNWIND;
	default:
		return f->blocks[block].kind == PERF_BR_IND;
	}
}

struct listing {
	const struct oracle_function *f;
	const struct pathprof_flow *flow;
	enum pathprof_cut cut;
	struct oracle_flow_path now;
	struct oracle_flow_path *paths;
	size_t cnt, room;
};

static void list(struct listing *l)
{
	if (l->cnt < l->room)
		l->paths[l->cnt] = l->now;
	l->cnt++;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the function is long */
static void list_from(struct listing *l, uint32_t node)
{
	const struct pathprof_flow_node *n = &l->flow->nodes[node];

	if (l->now.edge_cnt == ORACLE_PATH_MAX)
		abort();
	for (uint32_t e = n[0].first_edge; e < n[1].first_edge && l->cnt <= l->room; e++) {
		l->now.edges[l->now.edge_cnt++] = e;
		if (oracle_is_cut(l->f, l->flow, l->cut, e))
			list(l);
		else
			list_from(l, l->flow->edges[e].to);
		l->now.edge_cnt--;
	}
	if (n->exits || n[0].first_edge == n[1].first_edge)
		list(l);
}

/* Nodes where paths begin: round after round until no more are found. */
static void find_starts(const struct listing *l, bool *is_start)
{
	bool reached[ORACLE_BLOCKS_MAX] = {true}, more = true;

	is_start[0] = true;
	while (more) {
		more = false;
		for (uint32_t e = 0; e < l->flow->edge_cnt; e++) {
			const struct pathprof_flow_edge *edge = &l->flow->edges[e];

			if (!reached[edge->from])
				continue;
			more |= !reached[edge->to];
			reached[edge->to] = true;
			is_start[edge->to] |= oracle_is_cut(l->f, l->flow, l->cut, e);
		}
	}
}

size_t oracle_function_paths(const struct oracle_function *f, const struct pathprof_flow *flow,
			     enum pathprof_cut cut, struct oracle_flow_path *paths, size_t room)
{
	struct listing l = {.f = f, .flow = flow, .cut = cut, .paths = paths, .room = room};
	bool is_start[ORACLE_BLOCKS_MAX] = {false};

	find_starts(&l, is_start);
	for (uint32_t v = 0; v < flow->node_cnt; v++) {
		l.now = (struct oracle_flow_path){.start = v};
		if (is_start[v])
			list_from(&l, v);
	}
	return l.cnt;
}

/* ---------------------------------------------------------------- walking */

struct walker {
	const struct oracle_function *f;
	const struct pathprof_flow *flow;
	uint64_t *random;
	struct pp_path_config config;
	struct pp_path_stack stack;
	struct oracle_popped now; /* the path the function is on, as far as its way is concerned */
	bool odd;                 /* it began behind a path of 32 branches */
	oracle_popped_fn *fn;
	void *context;
};

static void begin_way(struct walker *w, uint32_t node)
{
	w->now = (struct oracle_popped){.node = node};
}

static bool is_inside(const struct walker *w, uint64_t start)
{
	for (uint32_t b = 0; b < w->f->graph.block_cnt; b++)
		if (start == w->f->blocks[b].start)
			return w->f->blocks[b].function == ORACLE_FUNCTION;
	return false;
}

static bool feed(struct walker *w, const struct pp_branch *b, struct pp_path *ret_popped)
{
	return pp_path_stack_step(&w->stack, &w->config, b, ret_popped);
}

/* One branch. natural: it ends a path of any length. Returns whether another path begins. */
static bool step(struct walker *w, const struct pp_branch *b, bool natural)
{
	struct pp_path popped;

	if (!feed(w, b, &popped)) {
		w->odd &= !natural;
		return natural;
	}
	w->now.start = popped.start;
	w->now.length = PP_DESC_LENGTH(popped.desc);
	w->now.outcomes = PP_DESC_OUTCOMES(popped.desc);
	if (w->odd)
		w->now.end = ORACLE_END_UNKNOWN;
	else if (!natural && w->now.end == ORACLE_END_HERE)
		w->now.end = ORACLE_END_LENGTH;
	if (is_inside(w, popped.start))
		w->fn(w->context, &w->now);
	w->odd = !natural;
	return true;
}

static struct pp_branch branch(uint32_t kind, uint64_t from, uint64_t to)
{
	return (struct pp_branch){from, to, to, PP_BRANCH_INFO(kind, 1), 1};
}

static void call(struct walker *w)
{
	uint64_t entry = w->f->blocks[w->flow->nodes[0].block].start;
	struct pp_branch b = branch(PP_KIND_CALL, w->f->blocks[BEFORE].start, entry);
	struct pp_path popped;

	pp_path_stack_clear(&w->stack);
	feed(w, &b, &popped);
	w->odd = false;
	begin_way(w, 0);
}

/* Another function runs a branch, or none, and returns. */
static void run_on(struct walker *w, uint64_t next)
{
	struct pp_branch forward = branch(PP_KIND_COND, next + 1, next + 9),
			 back = branch(PP_KIND_RET, next + 9, FAR);

	w->now.end = ORACLE_END_ELSE;
	w->now.next = next == FAR ? UINT64_MAX : next;
	if (stream_random(w->random) % 2 == 0 || !step(w, &forward, false))
		step(w, &back, true);
}

static const struct pathprof_edge *pick(struct walker *w, uint32_t node, uint32_t kinds)
{
	const struct pathprof_graph_block *b = &w->f->blocks[w->flow->nodes[node].block];
	const struct pathprof_edge *found = NULL;
	uint32_t seen = 0;

	for (uint32_t e = b[0].first_edge; e < b[1].first_edge; e++)
		if (kinds >> w->f->edges[e].kind & 1 && stream_random(w->random) % ++seen == 0)
			found = &w->f->edges[e];
	return found;
}

static uint64_t address(const struct walker *w, const struct pathprof_edge *edge)
{
	return edge->to == PATHPROF_GRAPH_NONE ? FAR : w->f->blocks[edge->to].start;
}

/* Follows an edge and adds it to the way; returns its target node, or none outside the function. */
static uint32_t take(struct walker *w, uint32_t node, const struct pathprof_edge *edge)
{
	const struct pathprof_flow_node *n = &w->flow->nodes[node];

	for (uint32_t e = n[0].first_edge; edge && e < n[1].first_edge; e++) {
		const struct pathprof_flow_edge *found = &w->flow->edges[e];

		if (found->kind != edge->kind || w->flow->nodes[found->to].block != edge->to)
			continue;
		if (w->now.edge_cnt < ORACLE_WAY_MAX)
			w->now.edges[w->now.edge_cnt++] = e;
		return found->to;
	}
	return PATHPROF_GRAPH_NONE;
}

#define KIND(k) (1u << PATHPROF_EDGE_##k)

/* A conditional or direct jump. */
static uint32_t walk_branch(struct walker *w, uint32_t node)
{
	uint32_t block = w->flow->nodes[node].block, next;
	const struct pathprof_graph_block *b = &w->f->blocks[block];
	bool taken = b->kind != PERF_BR_COND || stream_random(w->random) % 2;
	const struct pathprof_edge *edge =
		pick(w, node, taken ? KIND(TAKEN) | KIND(TAIL) | KIND(JUMP) : KIND(NOT_TAKEN));
	uint64_t to = branch_target(w->f, block);
	struct pp_branch record = {b->last, to, taken ? to : b->end,
				   taken ? PP_BRANCH_INFO(b->kind, 1) : PP_BRANCH_INFO(b->kind, 0),
				   1};

	w->now.length_here++;
	next = take(w, node, edge);
	if (step(w, &record, to <= b->last))
		begin_way(w, next);
	else if (next == PATHPROF_GRAPH_NONE)
		run_on(w, address(w, edge));
	return next;
}

static uint32_t walk_indirect(struct walker *w, uint32_t node)
{
	uint32_t block = w->flow->nodes[node].block, next;
	const struct pathprof_edge *edge = pick(w, node, KIND(SWITCH) | KIND(GUESSED));
	struct pp_branch record =
		branch(PP_KIND_IJMP, w->f->blocks[block].last, edge ? address(w, edge) : FAR);

	w->now.length_here++;
	w->now.indirect = true;
	next = take(w, node, edge);
	step(w, &record, true);
	begin_way(w, next);
	return next;
}

/* The callee returns at once. */
static void call_through(struct walker *w, const struct pathprof_graph_block *b)
{
	uint64_t callee = w->f->blocks[BEFORE].start;
	struct pp_branch there = branch(b->kind, b->last, callee),
			 back = branch(PP_KIND_RET, callee + 1, b->end);
	struct pp_path popped;

	if (feed(w, &there, &popped) || !feed(w, &back, &popped) || popped.start != callee)
		abort();
}

static uint32_t walk_on(struct walker *w, uint32_t node, uint32_t kind)
{
	const struct pathprof_edge *edge = pick(w, node, kind);
	uint32_t next = take(w, node, edge);

	if (edge && next == PATHPROF_GRAPH_NONE)
		run_on(w, address(w, edge));
	return next;
}

static uint32_t walk_call(struct walker *w, uint32_t node)
{
	const struct pathprof_edge *edge = pick(w, node, KIND(UNWIND));

	if (edge && stream_random(w->random) % 8 == 0) {
		pp_path_stack_clear(&w->stack); /* an exception repairs the stack */
		return take(w, node, edge);
	}
	call_through(w, &w->f->blocks[w->flow->nodes[node].block]);
	return walk_on(w, node, KIND(CONTINUE));
}

static uint32_t walk_block(struct walker *w, uint32_t node)
{
	const struct pathprof_graph_block *b = &w->f->blocks[w->flow->nodes[node].block];
	struct pp_branch back = branch(PP_KIND_RET, b->last, FAR);

	switch (b->kind) {
	case PERF_BR_COND:
	case PERF_BR_UNCOND:
		return walk_branch(w, node);
	case PERF_BR_IND:
		return walk_indirect(w, node);
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		return walk_call(w, node);
	case PERF_BR_RET:
		step(w, &back, true);
		return PATHPROF_GRAPH_NONE;
	default:
		return walk_on(w, node, KIND(FALL));
	}
}

void oracle_function_walk(const struct oracle_function *f, const struct pathprof_flow *flow,
			  unsigned int step_cnt, uint64_t *random, oracle_popped_fn *fn,
			  void *context)
{
	struct walker w = {.f = f, .flow = flow, .random = random, .fn = fn, .context = context};
	uint32_t node = PATHPROF_GRAPH_NONE;

	pp_path_config_bl(&w.config);
	while (step_cnt--) {
		if (node == PATHPROF_GRAPH_NONE) {
			call(&w);
			node = 0;
		}
		node = walk_block(&w, node);
	}
}
