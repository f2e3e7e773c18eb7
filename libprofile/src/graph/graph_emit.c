// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * From marks to the arrays of a graph: ranges by file offset, their blocks, the edges of each.
 *
 * Which parts are one function is decided here for good. Blocks of two readings of the same bytes
 * overlap; blocks of one reading never do. See pp_builder.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "pp_builder.h"
#include "pp_graph.h"

/* A range on its way to become a part. */
struct unit {
	uint64_t start, end; /* vaddrs */
	uint64_t offset;
	uint32_t range;
	uint32_t function; /* index in the graph */
	uint32_t first_block, block_cnt;
};

struct emit {
	struct pp_builder *b;
	uint32_t *owners;  /* by range: the range its function begins with */
	uint32_t *numbers; /* by range: the function that begins with it */
	struct unit *units;
	uint32_t unit_cnt, function_cnt;
	struct pp_vector blocks; /* struct pathprof_graph_block */
	struct pp_vector edges;  /* struct pathprof_edge */
	struct pp_vector names;
	uint8_t *landing; /* by block: a call's landing pad */
};

/* ---------------------------------------------------------------- who belongs to whom */

/* Whether the tables do not say which function the range belongs to. */
static bool is_open(const struct pp_builder *b, uint32_t range)
{
	return range < b->ranges.cnt && b->ranges.ranges[range].maybe_cold &&
	       !pp_owner_state(b, range)->called && pp_owner_root(b, range) == range;
}

static int by_origin(const void *a, const void *b)
{
	const struct pp_joint *x = a, *y = b;

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Cold parts that jump to cold parts: a few rounds reach all that a compiler makes. */
#define JOIN_ROUNDS 16

static void join(struct emit *e)
{
	struct pp_builder *b = e->b;
	bool changed = true;

	if (b->joints.cnt)
		qsort(b->joints.data, b->joints.cnt, sizeof(struct pp_joint), by_origin);
	for (int round = 0; changed && round < JOIN_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < b->joints.cnt; i++) {
			const struct pp_joint *j = PP_AT(b->joints, struct pp_joint, i);

			if (e->owners[j->to] != PP_NONE || e->owners[j->from] == PP_NONE)
				continue;
			e->owners[j->to] = e->owners[j->from];
			changed = true;
		}
	}
}

static int find_owners(struct emit *e)
{
	struct pp_builder *b = e->b;

	e->owners = calloc(b->states.cnt + 1, sizeof(e->owners[0]));
	if (!e->owners)
		return -ENOMEM;
	for (uint32_t r = 0; r < b->states.cnt; r++)
		e->owners[r] = is_open(b, r) ? PP_NONE : pp_owner_root(b, r);
	join(e);
	for (uint32_t r = 0; r < b->states.cnt; r++) {
		if (e->owners[r] == PP_NONE)
			e->owners[r] = r;
	}
	/* An owner may itself belong to another function. */
	for (uint32_t r = 0; r < b->states.cnt; r++) {
		uint32_t owner = e->owners[e->owners[r]];

		e->owners[r] = e->owners[owner] == owner ? owner : r;
	}
	return 0;
}

/* ---------------------------------------------------------------- units */

static int by_offset(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static const struct pp_text_part *part_of(const struct pp_builder *b, uint64_t vaddr)
{
	for (uint32_t i = 0; i < b->text.cnt; i++) {
		const struct pp_text_part *p = &b->text.parts[i];

		if (vaddr >= p->vaddr && vaddr - p->vaddr < p->len_bytes)
			return p;
	}
	return NULL;
}

/* A guess ends behind the last instruction before the next one. */
static uint64_t end_of_guess(struct pp_builder *b, const struct pp_state *state)
{
	uint64_t end = state->start + 1;

	for (uint64_t at = state->start; at < state->end; at++) {
		const uint8_t *mark = pp_text_mark(&b->text, at);

		if (!mark || ((*mark & PP_MARK_GUESS) && at != state->start))
			break;
		if ((*mark & PP_MARK_LEN) && at + (*mark & PP_MARK_LEN) > end)
			end = at + (*mark & PP_MARK_LEN);
	}
	return end < state->end ? end : state->end;
}

static int make_units(struct emit *e)
{
	struct pp_builder *b = e->b;

	e->units = calloc(b->states.cnt + 1, sizeof(e->units[0]));
	if (!e->units)
		return -ENOMEM;
	for (uint32_t r = 0; r < b->states.cnt; r++) {
		const struct pp_state *state = pp_owner_state(b, r);
		const struct pp_text_part *part = part_of(b, state->start);
		struct unit *unit = &e->units[e->unit_cnt];

		if (!part)
			continue;
		*unit = (struct unit){.start = state->start, .end = state->end, .range = r};
		if (r >= b->ranges.cnt)
			unit->end = end_of_guess(b, state);
		if (unit->end - part->vaddr > part->len_bytes)
			unit->end = part->vaddr + part->len_bytes;
		unit->offset = part->offset + (state->start - part->vaddr);
		e->unit_cnt++;
	}
	qsort(e->units, e->unit_cnt, sizeof(e->units[0]), by_offset);
	/* A range that grew into a gap ends where a range found there later begins. */
	for (uint32_t i = 0; i + 1 < e->unit_cnt; i++) {
		struct unit *unit = &e->units[i];

		if (unit->end - unit->start > unit[1].offset - unit->offset)
			unit->end = unit->start + (unit[1].offset - unit->offset);
	}
	return 0;
}

/* Parts of a function whose first range is not in the file's code become functions. */
static int number_functions(struct emit *e)
{
	e->numbers = malloc((e->b->states.cnt + 1) * sizeof(e->numbers[0]));
	if (!e->numbers)
		return -ENOMEM;
	memset(e->numbers, 0xff, (e->b->states.cnt + 1) * sizeof(e->numbers[0]));
	for (uint32_t i = 0; i < e->unit_cnt; i++)
		e->numbers[e->units[i].range] = 0;
	for (uint32_t i = 0; i < e->unit_cnt; i++) {
		uint32_t range = e->units[i].range;

		if (e->numbers[e->owners[range]] == PP_NONE)
			e->owners[range] = range;
		if (e->owners[range] == range)
			e->numbers[range] = e->function_cnt++;
	}
	for (uint32_t i = 0; i < e->unit_cnt; i++)
		e->units[i].function = e->numbers[e->owners[e->units[i].range]];
	return 0;
}

/* ---------------------------------------------------------------- blocks */

static int add_block(struct emit *e, const struct unit *unit, uint64_t start)
{
	struct pp_text *text = &e->b->text;
	uint64_t shift = unit->start - unit->offset;
	struct pathprof_graph_block block = {.start = (uint32_t)(start - shift),
					     .function = unit->function};

	for (uint64_t at = start;;) {
		uint8_t mark = *pp_text_mark(text, at);
		const uint8_t *next;
		struct pp_insn insn;

		block.last = (uint32_t)(at - shift);
		at += mark & PP_MARK_LEN;
		block.end = (uint32_t)(at - shift);
		if (mark & PP_MARK_BRANCH) {
			pp_text_decode(text, block.last + shift, &insn);
			block.kind = insn.kind;
		}
		next = at < unit->end ? pp_text_mark(text, at) : NULL;
		if ((mark & (PP_MARK_BRANCH | PP_MARK_STOP)) || !next || !(*next & PP_MARK_LEN) ||
		    (*next & PP_MARK_LEADER))
			break;
	}
	return pp_vector_add(&e->blocks, &block) ? 0 : -ENOMEM;
}

static int make_blocks(struct emit *e)
{
	for (uint32_t i = 0; i < e->unit_cnt; i++) {
		struct unit *unit = &e->units[i];

		unit->first_block = (uint32_t)e->blocks.cnt;
		for (uint64_t at = unit->start; at < unit->end; at++) {
			uint8_t mark = *pp_text_mark(&e->b->text, at);

			if ((mark & PP_MARK_LEADER) && (mark & PP_MARK_LEN) &&
			    add_block(e, unit, at))
				return -ENOMEM;
		}
		unit->block_cnt = (uint32_t)e->blocks.cnt - unit->first_block;
	}
	return e->blocks.cnt < UINT32_MAX ? 0 : -EFBIG;
}

/* The block that begins at vaddr; PP_NONE. */
static uint32_t block_at(const struct emit *e, uint64_t vaddr)
{
	const struct pathprof_graph_block *blocks = e->blocks.data;
	const struct pp_text_part *part = part_of(e->b, vaddr);
	size_t low;
	uint64_t offset;

	if (!part)
		return PP_NONE;
	offset = part->offset + (vaddr - part->vaddr);
	low = pp_first(i, 0, e->blocks.cnt, blocks[i].start >= offset);
	return low < e->blocks.cnt && blocks[low].start == offset ? (uint32_t)low : PP_NONE;
}

/* ---------------------------------------------------------------- edges */

static int add_edge(struct emit *e, uint32_t kind, uint32_t to)
{
	struct pathprof_edge edge = {to, kind};

	return pp_vector_add(&e->edges, &edge) ? 0 : -ENOMEM;
}

static int add_edge_at(struct emit *e, uint32_t kind, uint64_t vaddr)
{
	return add_edge(e, kind, block_at(e, vaddr));
}

/* Adds a direct jump within its function, or to the beginning of another (a tail call). */
static int add_jump(struct emit *e, const struct unit *unit, uint32_t kind, uint64_t target)
{
	uint32_t range = pp_owner_of(e->b, target);
	uint32_t other = range == PP_NONE ? pp_map_get(&e->b->guesses, target) : range;
	bool tail = other != PP_NONE && other != unit->range && e->owners[other] == other &&
		    e->owners[unit->range] != other && pp_owner_state(e->b, other)->start == target;

	return add_edge_at(e, tail ? PATHPROF_EDGE_TAIL : kind, target);
}

static int add_call(struct emit *e, const struct unit *unit, uint64_t vaddr,
		    const struct pp_insn *insn)
{
	uint64_t pad = pp_explore_pad(e->b, vaddr);
	int r = 0;

	if (pp_explore_goes_on(e->b, vaddr + insn->len, pp_owner_state(e->b, unit->range)->end) &&
	    pp_explore_call_returns(e->b, vaddr, insn))
		r = add_edge_at(e, PATHPROF_EDGE_CONTINUE, vaddr + insn->len);
	if (!r && pad) {
		uint32_t to = block_at(e, pad);

		r = add_edge(e, PATHPROF_EDGE_UNWIND, to);
		if (to != PP_NONE)
			e->landing[to] = 1;
	}
	if (!r && insn->kind == PP_KIND_CALL)
		r = add_edge_at(e, PATHPROF_EDGE_CALL, insn->target);
	return r;
}

static int by_jump(const void *a, const void *b)
{
	const struct pp_switch *x = a, *y = b;

	return x->jump < y->jump ? -1 : x->jump > y->jump;
}

static int by_to(const void *a, const void *b)
{
	const struct pathprof_edge *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

/*
 * Edges of one kind from first on ascend by their blocks, which are in the order of the file.
 * Segments may lie in another order in memory, by which targets ascend.
 */
static void sort_edges(struct emit *e, size_t first)
{
	if (e->edges.cnt > first)
		qsort(PP_AT(e->edges, struct pathprof_edge, first), e->edges.cnt - first,
		      sizeof(struct pathprof_edge), by_to);
}

static int add_switch(struct emit *e, const struct unit *unit, uint64_t jump)
{
	bool is_stub = unit->range < e->b->ranges.cnt &&
		       (e->b->ranges.ranges[unit->range].flags & PATHPROF_FUNCTION_PLT);
	const struct pp_switch key = {.jump = jump};
	const struct pp_switch *s = e->b->switches.cnt
					    ? bsearch(&key, e->b->switches.data, e->b->switches.cnt,
						      sizeof(key), by_jump)
					    : NULL;
	size_t first = e->edges.cnt;

	for (uint32_t i = 0; s && i < s->cnt; i++) {
		uint32_t to = block_at(e, *PP_AT(e->b->targets, uint64_t, s->first + i));

		/* Targets at which no block was found are left out. */
		if (to != PP_NONE && add_edge(e, s->kind, to))
			return -ENOMEM;
	}
	sort_edges(e, first);
	if (s && s->kind == PATHPROF_EDGE_SWITCH && !is_stub) {
		e->b->stats.switch_cnt++;
		e->b->stats.switch_target_cnt += s->cnt;
	}
	return 0;
}

static int add_edges(struct emit *e, const struct unit *unit,
		     const struct pathprof_graph_block *block)
{
	uint64_t shift = unit->start - unit->offset, vaddr = block->last + shift;
	uint64_t next = block->end + shift;
	uint8_t mark = *pp_text_mark(&e->b->text, vaddr);
	struct pp_insn insn;

	if (mark & PP_MARK_STOP)
		return 0;
	if (!(mark & PP_MARK_BRANCH)) {
		uint32_t to = block_at(e, next);

		return to == PP_NONE ? 0 : add_edge(e, PATHPROF_EDGE_FALL, to);
	}
	pp_text_decode(&e->b->text, vaddr, &insn);
	switch (insn.kind) {
	case PP_KIND_COND:
		return add_edge_at(e, PATHPROF_EDGE_NOT_TAKEN, next)
			       ? -ENOMEM
			       : add_jump(e, unit, PATHPROF_EDGE_TAKEN, insn.target);
	case PP_KIND_JMP:
		return add_jump(e, unit, PATHPROF_EDGE_JUMP, insn.target);
	case PP_KIND_IJMP:
		return add_switch(e, unit, vaddr);
	case PP_KIND_RET:
		return 0;
	default:
		return add_call(e, unit, vaddr, &insn);
	}
}

static int make_edges(struct emit *e)
{
	e->landing = calloc(e->blocks.cnt + 1, 1);
	if (!e->landing)
		return -ENOMEM;
	if (e->b->switches.cnt)
		qsort(e->b->switches.data, e->b->switches.cnt, sizeof(struct pp_switch), by_jump);
	for (uint32_t i = 0; i < e->unit_cnt; i++) {
		const struct unit *unit = &e->units[i];

		for (uint32_t k = 0; k < unit->block_cnt; k++) {
			struct pathprof_graph_block *block = PP_AT(
				e->blocks, struct pathprof_graph_block, unit->first_block + k);

			block->first_edge = (uint32_t)e->edges.cnt;
			if (add_edges(e, unit, block))
				return -ENOMEM;
		}
	}
	for (size_t i = 0; i < e->blocks.cnt; i++)
		e->b->stats.landing_pad_cnt += e->landing[i];
	return e->edges.cnt < UINT32_MAX ? 0 : -EFBIG;
}

/* ---------------------------------------------------------------- arrays */

static int add_name(struct emit *e, const char *name, uint32_t *ret_at)
{
	*ret_at = name ? (uint32_t)e->names.cnt : 0;
	if (!name && e->names.cnt)
		return 0;
	for (const char *at = name ? name : "";; at++) {
		if (!pp_vector_add(&e->names, at))
			return -ENOMEM;
		if (!*at)
			break;
	}
	return e->names.cnt < UINT32_MAX ? 0 : -EFBIG;
}

static uint32_t flags_of(const struct emit *e, uint32_t range, bool has_entry)
{
	const struct pp_builder *b = e->b;
	const struct pp_state *state = pp_owner_state(b, range);
	uint32_t flags = state->flags;

	if (range < b->ranges.cnt)
		flags |= b->ranges.ranges[range].flags;
	if (has_entry && !state->returns && pp_owner_root(b, range) == range)
		flags |= PATHPROF_FUNCTION_NORETURN;
	return flags;
}

static int make_functions(struct emit *e, struct pathprof_graph_function *functions)
{
	uint32_t empty;
	int r = add_name(e, NULL, &empty);

	for (uint32_t i = 0; i < e->unit_cnt && !r; i++) {
		const struct unit *unit = &e->units[i];
		struct pathprof_graph_function *f = &functions[unit->function];
		bool has_entry =
			unit->block_cnt &&
			PP_AT(e->blocks, struct pathprof_graph_block, unit->first_block)->start ==
				unit->offset;

		f->part_cnt++;
		if (e->owners[unit->range] != unit->range)
			continue;
		f->entry = has_entry ? unit->first_block : PATHPROF_GRAPH_NONE;
		f->flags = flags_of(e, unit->range, has_entry);
		r = add_name(e,
			     unit->range < e->b->ranges.cnt ? e->b->ranges.ranges[unit->range].name
							    : NULL,
			     &f->name);
	}
	return r;
}

static void make_parts(const struct emit *e, struct pathprof_graph_function *functions,
		       struct pathprof_graph_part *parts, uint32_t *fill)
{
	uint32_t at = 0;

	for (uint32_t f = 0; f < e->function_cnt; f++) {
		functions[f].first_part = at;
		fill[f] = at + 1;
		at += functions[f].part_cnt;
	}
	for (uint32_t i = 0; i < e->unit_cnt; i++) {
		const struct unit *unit = &e->units[i];
		bool first = e->owners[unit->range] == unit->range;
		uint32_t part =
			first ? functions[unit->function].first_part : fill[unit->function]++;

		parts[part] = (struct pathprof_graph_part){
			.start = (uint32_t)unit->offset,
			.end = (uint32_t)(unit->offset + (unit->end - unit->start)),
			.first_block = unit->first_block,
			.block_cnt = unit->block_cnt,
		};
	}
}

static int pack(struct pathprof_graph **ret_graph, struct emit *e,
		struct pathprof_graph_function *functions, uint32_t *fill)
{
	struct pathprof_graph counts = {
		.function_cnt = e->function_cnt,
		.part_cnt = e->unit_cnt,
		.block_cnt = (uint32_t)e->blocks.cnt,
		.edge_cnt = (uint32_t)e->edges.cnt,
		.stats = e->b->stats,
	};
	struct pathprof_graph_block *blocks;
	struct pp_graph *g;
	int r = make_functions(e, functions);

	if (r)
		return r;
	counts.names_bytes = (uint32_t)e->names.cnt;
	counts.stats.joined_cnt = e->unit_cnt - e->function_cnt;
	r = pp_graph_new(&g, &counts);
	if (r)
		return r;
	make_parts(e, functions, (struct pathprof_graph_part *)g->graph.parts, fill);
	memcpy((void *)g->graph.functions, functions, e->function_cnt * sizeof(functions[0]));
	blocks = (struct pathprof_graph_block *)g->graph.blocks;
	if (e->blocks.cnt)
		memcpy(blocks, e->blocks.data, e->blocks.cnt * sizeof(blocks[0]));
	blocks[e->blocks.cnt].first_edge = counts.edge_cnt;
	if (e->edges.cnt)
		memcpy((void *)g->graph.edges, e->edges.data,
		       e->edges.cnt * sizeof(struct pathprof_edge));
	memcpy((void *)g->graph.names, e->names.data, e->names.cnt);
	*ret_graph = &g->graph;
	return 0;
}

static int make_arrays(struct pathprof_graph **ret_graph, struct emit *e)
{
	struct pathprof_graph_function *functions =
		calloc(e->function_cnt + 1, sizeof(functions[0]));
	uint32_t *fill = calloc(e->function_cnt + 1, sizeof(fill[0]));
	int r = functions && fill ? pack(ret_graph, e, functions, fill) : -ENOMEM;

	free(functions);
	free(fill);
	return r;
}

int pp_emit(struct pathprof_graph **ret_graph, struct pp_builder *b)
{
	struct emit e = {
		.b = b,
		.blocks.size_bytes = sizeof(struct pathprof_graph_block),
		.edges.size_bytes = sizeof(struct pathprof_edge),
		.names.size_bytes = 1,
	};
	int r = find_owners(&e);

	if (!r)
		r = make_units(&e);
	if (!r)
		r = number_functions(&e);
	if (!r)
		r = make_blocks(&e);
	if (!r)
		r = make_edges(&e);
	if (!r)
		r = make_arrays(ret_graph, &e);
	free(e.owners);
	free(e.numbers);
	free(e.units);
	free(e.landing);
	free(e.blocks.data);
	free(e.edges.data);
	free(e.names.data);
	return r;
}
