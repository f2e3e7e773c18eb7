// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Indirect jumps: through a table (switch, computed goto), out of the function (a tail call by
 * pointer), or not understood.
 *
 * A jump is looked at once what leads to it has been read; targets found bring more code, and what
 * was not understood is looked at again. A table whose length no comparison bounds ends where an
 * entry leads out of the function or into the middle of an instruction, or where another table
 * or any other object begins whose address code takes. In a table with a bound, invalid entries are
 * skipped: compilers fill holes with them.
 *
 * A jump that stays unresolved is given guesses: the tables of addresses within the function that
 * its code mentions (a computed goto whose table pointer was computed elsewhere), else the labels
 * whose address it takes, else all code of the function that was not reached.
 *
 * Workload: cc1 has 10^4 indirect jumps. See pp_builder.h.
 */
#include "pp_builder.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vector.h"

#define VALUES_MAX    64
#define ENTRIES_MAX   65536
#define GUESSES_MAX   4096
#define DEPTH_UNKNOWN INT64_MIN

/* How entries of a table become targets. */
struct table {
	uint64_t start, base;
	uint32_t entry_bytes;
	struct pp_bound bound;
};

/* ---------------------------------------------------------------- targets */

/* Whether the function may go on at vaddr. */
static bool is_target(const struct pp_local *l, uint64_t vaddr)
{
	struct pp_builder *b = l->b;
	uint32_t range = pp_owner_of(b, vaddr);
	const uint8_t *mark = pp_text_mark(&b->text, vaddr);

	if (!mark)
		return false;
	if (range == PP_NONE) {
		const struct pp_state *s = pp_owner_state(b, l->family);

		return l->family >= b->ranges.cnt && vaddr >= s->start && vaddr < s->end;
	}
	/* The owner of a cold part may be in doubt: unreachable code of one function ends where
	another's cold part begins, and both have jumps there. */
	return pp_owner_family(b, range) == l->family || b->ranges.ranges[range].maybe_cold;
}

static bool is_boundary(struct pp_builder *b, uint64_t vaddr)
{
	const uint8_t *mark = pp_text_mark(&b->text, vaddr);

	return (*mark & PP_MARK_LEN) || !pp_text_is_inside(&b->text, vaddr);
}

static bool read_entry(struct pp_builder *b, const struct table *t, uint64_t index,
		       uint64_t *ret_target)
{
	uint64_t at = t->start + index * t->entry_bytes;
	int32_t distance;

	if (t->entry_bytes == 8)
		return !pp_data_read(b->code, at, ret_target, 8);
	if (pp_data_read(b->code, at, &distance, sizeof(distance)))
		return false;
	*ret_target = t->base + (uint64_t)(int64_t)distance;
	return true;
}

static bool add_target(struct pp_builder *b, uint64_t target)
{
	if (pp_vector_add(&b->targets, &target))
		return true;
	b->failed = true;
	return false;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the targets from first on and removes duplicates. Returns how many are left. */
static uint32_t settle(struct pp_builder *b, size_t first)
{
	size_t cnt = b->targets.cnt - first, kept = 0;
	uint64_t *targets;

	if (!cnt)
		return 0;
	targets = PP_AT(b->targets, uint64_t, first);
	qsort(targets, cnt, sizeof(targets[0]), by_address);
	for (size_t i = 0; i < cnt; i++) {
		if (!kept || targets[kept - 1] != targets[i])
			targets[kept++] = targets[i];
	}
	b->targets.cnt = first + kept;
	return (uint32_t)kept;
}

/* The first place behind vaddr that code takes the address of. */
static uint64_t next_object(const struct pp_builder *b, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, b->object_cnt, b->objects[i] > vaddr);

	return low < b->object_cnt ? b->objects[low] : UINT64_MAX;
}

/* Whether vaddr is the end of a range of the function: compilers let unreachable cases lead there.
 */
static bool is_hole(const struct pp_local *l, uint64_t vaddr)
{
	for (uint32_t r = l->family; r != PP_NONE; r = pp_owner_state(l->b, r)->next)
		if (pp_owner_state(l->b, r)->end == vaddr)
			return true;
	return false;
}

/* Adds the targets of a table up to its end. Returns how many there were. */
static size_t read_table(const struct pp_local *l, const struct table *t)
{
	struct pp_builder *b = l->b;
	uint64_t end = t->bound.sure ? UINT64_MAX : next_object(b, t->start), target;
	size_t cnt = 0;

	for (uint64_t i = 0; i <= t->bound.max && i < ENTRIES_MAX; i++) {
		uint64_t at = t->start + i * t->entry_bytes;
		bool good;

		if (at >= end || (!t->bound.sure && i && pp_map_get(&b->tables, at) != PP_NONE))
			break;
		if (!pp_builder_spend(b) || !read_entry(b, t, i, &target))
			break;
		good = is_target(l, target) && is_boundary(b, target);
		if (!good && !t->bound.sure && !is_hole(l, target))
			break;
		if (!good)
			continue;
		if (!add_target(b, target))
			break;
		cnt++;
	}
	return cnt;
}

/* ---------------------------------------------------------------- tables */

/* Whether a value is loaded from a table; *ret_table and *ret_index describe it. */
static bool is_table(const struct pp_local *l, const struct pp_value *v, struct table *ret_table,
		     struct pp_leaf *ret_index)
{
	const struct pp_leaf *load, *index;

	if (v->kind != PP_VALUE_LINEAR || v->leaf == PP_NONE || v->coefficient != 1)
		return false;
	load = PP_AT(l->leaves, struct pp_leaf, v->leaf);
	if (!load->load || load->address.kind != PP_VALUE_LINEAR || load->address.leaf == PP_NONE)
		return false;
	index = PP_AT(l->leaves, struct pp_leaf, load->address.leaf);
	if (index->load || load->address.coefficient != load->size_bytes)
		return false;
	if (load->size_bytes == 8 ? v->constant != 0 : load->size_bytes != 4)
		return false;
	*ret_table = (struct table){
		.start = load->address.constant,
		.base = v->constant,
		.entry_bytes = load->size_bytes,
	};
	*ret_index = *index;
	return pp_data_is_constant(l->b->code, ret_table->start);
}

enum outcome { NOTHING, FOUND, POSTPONED };

/* Tables without a bound wait until the bounded ones are read, whose starts show their ends. */
static enum outcome try_value(struct pp_local *l, const struct pp_value *v)
{
	struct pp_leaf index;
	struct table table;

	if (v->kind == PP_VALUE_LINEAR && v->leaf == PP_NONE)
		return is_target(l, v->constant) && add_target(l->b, v->constant) ? FOUND : NOTHING;
	if (!is_table(l, v, &table, &index))
		return NOTHING;
	if (pp_map_put(&l->b->tables, table.start, 0))
		l->b->failed = true;
	table.bound = pp_bound_of(l, index.reg, index.point);
	if (!table.bound.sure && l->b->bounded_only)
		return POSTPONED;
	return read_table(l, &table) ? FOUND : NOTHING;
}

/* Notes where a jump leads: targets[first..first + cnt). */
static void note(struct pp_builder *b, uint64_t jump, size_t first, uint32_t cnt, uint32_t kind)
{
	struct pp_switch s = {.jump = jump, .first = (uint32_t)first, .cnt = cnt, .kind = kind};
	uint32_t at = pp_map_get(&b->switch_at, jump);

	if (at != PP_NONE)
		*PP_AT(b->switches, struct pp_switch, at) = s;
	else if (pp_map_put(&b->switch_at, jump, (uint32_t)b->switches.cnt) ||
		 !pp_vector_add(&b->switches, &s))
		b->failed = true;
}

static void reach_all(struct pp_builder *b, uint32_t range, size_t first, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		pp_explore_reach(b, range, *PP_AT(b->targets, uint64_t, first + i));
}

static void keep(struct pp_builder *b, const struct pp_place *jump, size_t first)
{
	uint32_t cnt = settle(b, first);

	note(b, jump->vaddr, first, cnt, PATHPROF_EDGE_SWITCH);
	reach_all(b, jump->range, first, cnt);
}

/* ---------------------------------------------------------------- tail calls */

static int64_t shift_of(const struct pp_op *op, int64_t depth)
{
	const ZydisDecodedOperand *o = op->operands;

	switch (op->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		return depth + 8;
	case ZYDIS_MNEMONIC_POP:
		return depth - 8;
	case ZYDIS_MNEMONIC_LEAVE:
		return 0; /* the frame pointer was pushed first */
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return DEPTH_UNKNOWN;
		return op->insn.mnemonic == ZYDIS_MNEMONIC_SUB ? depth + o[1].imm.value.s
							       : depth - o[1].imm.value.s;
	case ZYDIS_MNEMONIC_LEA:
		if (pp_op_register(o[1].mem.base) == PP_REG_SP)
			return depth - o[1].mem.disp.value;
		/* A frame that was aligned keeps its old stack pointer in a register. */
		return pp_op_register(o[1].mem.base) == PP_REG_BP ? 8 - o[1].mem.disp.value : 0;
	case ZYDIS_MNEMONIC_MOV:
		return pp_op_register(o[1].reg.value) == PP_REG_BP ? 8 : DEPTH_UNKNOWN;
	default:
		return DEPTH_UNKNOWN;
	}
}

/* Whether op sets the stack pointer independently of its old value. */
static bool sets_depth(const struct pp_op *op)
{
	return op->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE ||
	       op->insn.mnemonic == ZYDIS_MNEMONIC_MOV ||
	       (op->insn.mnemonic == ZYDIS_MNEMONIC_LEA &&
		pp_op_register(op->operands[1].mem.base) != PP_REG_SP);
}

/* The stack's depth in bytes behind a block that is entered with the given depth. */
static int64_t depth_behind(struct pp_local *l, uint32_t block, int64_t depth)
{
	const struct pp_local_block *blk = pp_local_block(l, block);
	struct pp_op op;

	for (uint64_t at = blk->start; at < blk->end; at += op.insn.length) {
		if (!pp_op_read(l, at, &op))
			return DEPTH_UNKNOWN;
		if (!(op.defs >> PP_REG_SP & 1) || op.insn.mnemonic == ZYDIS_MNEMONIC_CALL)
			continue;
		if (depth != DEPTH_UNKNOWN || sets_depth(&op))
			depth = shift_of(&op, depth);
	}
	return depth;
}

/* Marks each block with its predecessor on a shortest path from the function's start. */
static void find_ways(struct pp_local *l)
{
	uint32_t *firsts = calloc(l->blocks.cnt + 1, sizeof(firsts[0]));
	uint32_t *nexts = calloc(l->links.cnt + 1, sizeof(nexts[0]));
	uint32_t *queue = calloc(l->blocks.cnt + 1, sizeof(queue[0]));
	uint64_t start = pp_owner_state(l->b, l->family)->start;
	uint32_t head = 0, tail = 0;

	if (!firsts || !nexts || !queue) {
		l->b->failed = true;
		goto out;
	}
	for (size_t i = 0; i < l->links.cnt; i++) {
		uint32_t from = PP_AT(l->links, struct pp_link, i)->from;

		nexts[i] = firsts[from];
		firsts[from] = (uint32_t)i + 1;
	}
	for (uint32_t i = 0; i < l->blocks.cnt; i++) {
		if (pp_local_block(l, i)->start == start) {
			pp_local_block(l, i)->parent = i;
			queue[tail++] = i;
		}
	}
	while (head < tail) {
		uint32_t from = queue[head++];

		for (uint32_t i = firsts[from]; i; i = nexts[i - 1]) {
			uint32_t to = PP_AT(l->links, struct pp_link, i - 1)->to;

			if (pp_local_block(l, to)->parent != PP_NONE)
				continue;
			pp_local_block(l, to)->parent = from;
			queue[tail++] = to;
		}
	}
out:
	free(firsts);
	free(nexts);
	free(queue);
}

/* Whether the function has popped its frame by the end of block. */
static bool is_frame_gone(struct pp_local *l, uint32_t block)
{
	struct pp_vector way = {.size_bytes = sizeof(uint32_t)};
	int64_t depth = 0;
	bool known = true;

	for (uint32_t at = block; known; at = pp_local_block(l, at)->parent) {
		known = pp_local_block(l, at)->parent != PP_NONE && pp_builder_spend(l->b);
		if (known && !pp_vector_add(&way, &at)) {
			l->b->failed = true;
			known = false;
		}
		if (pp_local_block(l, at)->parent == at)
			break;
	}
	while (known && way.cnt)
		depth = depth_behind(l, *PP_AT(way, uint32_t, --way.cnt), depth);
	free(way.data);
	return known && depth == 0;
}

/* ---------------------------------------------------------------- guesses */

static size_t first_constant(const struct pp_builder *b, uint64_t insn)
{
	return pp_first(i, 0, b->constants.cnt,
			PP_AT(b->constants, struct pp_constant, i)->insn >= insn);
}

/* Tries value as a table of at least two targets, the first not the function's start. */
static size_t try_constant(struct pp_local *l, uint64_t value, bool unused)
{
	struct pp_builder *b = l->b;
	struct table t = {.start = value, .base = value, .bound = {ENTRIES_MAX - 1, false}};
	size_t first = b->targets.cnt, cnt = 0;

	if ((unused && pp_map_get(&b->tables, value) != PP_NONE) ||
	    !pp_data_is_constant(b->code, value))
		return 0;
	for (t.entry_bytes = 8; t.entry_bytes >= 4 && cnt < 2; t.entry_bytes -= 4) {
		b->targets.cnt = first;
		cnt = read_table(l, &t);
		if (cnt &&
		    *PP_AT(b->targets, uint64_t, first) == pp_owner_state(b, l->family)->start)
			cnt = 0;
	}
	if (cnt < 2)
		b->targets.cnt = first;
	return cnt < 2 ? 0 : cnt;
}

/* Tables that the function's code mentions; unused: only those that no resolved jump uses. */
static bool guess_tables(struct pp_local *l, bool unused)
{
	struct pp_builder *b = l->b;
	size_t before = b->targets.cnt;

	for (uint32_t r = l->family; r != PP_NONE; r = pp_owner_state(b, r)->next) {
		const struct pp_state *s = pp_owner_state(b, r);

		for (size_t i = first_constant(b, s->start); i < b->constants.cnt; i++) {
			const struct pp_constant *c = PP_AT(b->constants, struct pp_constant, i);

			if (c->insn >= s->end || b->targets.cnt - before > ENTRIES_MAX ||
			    !pp_builder_spend(b))
				break;
			try_constant(l, c->value, unused);
		}
	}
	return b->targets.cnt > before;
}

/* Labels of the function whose address its code takes, for example to keep them on the stack. */
static bool guess_labels(struct pp_local *l)
{
	struct pp_builder *b = l->b;
	size_t before = b->targets.cnt;

	for (uint32_t r = l->family; r != PP_NONE; r = pp_owner_state(b, r)->next) {
		const struct pp_state *s = pp_owner_state(b, r);

		for (size_t i = first_constant(b, s->start); i < b->constants.cnt; i++) {
			const struct pp_constant *c = PP_AT(b->constants, struct pp_constant, i);

			if (c->insn >= s->end || b->targets.cnt - before > GUESSES_MAX)
				break;
			if (is_target(l, c->value) && is_boundary(b, c->value) &&
			    c->value != pp_owner_state(b, l->family)->start)
				add_target(b, c->value);
		}
	}
	return b->targets.cnt > before;
}

/* The end of the bytes from vaddr on that nothing has reached; end or the segment's end at most. */
static uint64_t end_of_gap(struct pp_builder *b, uint64_t vaddr, uint64_t end)
{
	const uint8_t *mark = pp_text_mark(&b->text, vaddr);

	while (vaddr < end && mark && !(*mark & PP_MARK_LEN))
		mark = pp_text_mark(&b->text, ++vaddr);
	return vaddr;
}

/* Adds the starts of the function's code that nothing has reached. */
static void guess_gaps(struct pp_local *l)
{
	struct pp_builder *b = l->b;
	uint32_t cnt = 0;

	for (uint32_t r = l->family; r != PP_NONE; r = pp_owner_state(b, r)->next) {
		const struct pp_state *s = pp_owner_state(b, r);
		uint64_t at = s->start;

		while (at < s->end && cnt < GUESSES_MAX && r < b->ranges.cnt) {
			const uint8_t *mark = pp_text_mark(&b->text, at);
			struct pp_insn insn;
			uint32_t len;

			if (!mark)
				break;
			len = *mark & PP_MARK_LEN;
			if (!len && !pp_text_is_padding(&b->text, at, at + 1)) {
				cnt += add_target(b, at);
				at = end_of_gap(b, at, s->end);
				continue;
			}
			if (!len)
				len = pp_text_decode(&b->text, at, &insn);
			at += len ? len : 1;
		}
	}
}

/* ---------------------------------------------------------------- one jump, all jumps */

enum verdict { LATER, DONE };

/* Takes a jump for a tail call through a pointer that the dynamic linker or the program sets. */
static enum verdict leave(struct pp_builder *b, const struct pp_place *jump, const char *import)
{
	b->stats.indirect_tail_cnt++;
	if (!import || !pp_name_is_noreturn(import))
		pp_explore_returns(b, jump->range);
	return DONE;
}

static bool is_plt(const struct pp_builder *b, uint32_t range)
{
	return range < b->ranges.cnt && (b->ranges.ranges[range].flags & PATHPROF_FUNCTION_PLT);
}

/* Until a lazily bound PLT stub is bound, it jumps to its own next instruction, push NUMBER. */
static void bind_later(struct pp_builder *b, const struct pp_place *jump, uint64_t next)
{
	uint32_t len;
	const uint8_t *bytes = pp_text_bytes(&b->text, next, &len);
	size_t first = b->targets.cnt;

	if (!bytes || *bytes != 0x68 || next >= pp_owner_state(b, jump->range)->end)
		return;
	if (add_target(b, next))
		keep(b, jump, first);
}

/* Resolves jumps that need no look at their function: PLT stubs and imports. */
static enum verdict look_at_once(struct pp_builder *b, const struct pp_place *jump)
{
	struct pp_insn insn;
	const char *import;

	pp_text_decode(&b->text, jump->vaddr, &insn);
	import = pp_explore_import(b, jump->vaddr, &insn);
	if (is_plt(b, jump->range))
		bind_later(b, jump, jump->vaddr + insn.len);
	if (!import && is_plt(b, jump->range))
		import = b->ranges.ranges[jump->range].name;
	if (import || is_plt(b, jump->range))
		return leave(b, jump, import);
	return LATER;
}

/* Adds the targets of a jump's tables. */
static enum outcome read_tables(struct pp_local *l, const struct pp_op *op, struct pp_point point)
{
	struct pp_value values[VALUES_MAX];
	enum outcome all = NOTHING;
	size_t cnt;

	l->leaves.cnt = 0;
	cnt = pp_value_targets(l, op, point, values, VALUES_MAX);
	for (size_t i = 0; i < cnt && all != POSTPONED; i++) {
		enum outcome outcome = try_value(l, &values[i]);

		if (outcome != NOTHING)
			all = outcome;
	}
	return all;
}

static enum verdict look_at(struct pp_local *l, const struct pp_place *jump)
{
	struct pp_point point = {pp_local_find(l, jump->vaddr), jump->vaddr};
	size_t first = l->b->targets.cnt;
	enum verdict verdict = LATER;
	struct pp_op op;

	if (point.block == PP_NONE || !pp_op_read(l, jump->vaddr, &op))
		return LATER;
	switch (read_tables(l, &op, point)) {
	case FOUND:
		keep(l->b, jump, first);
		return DONE;
	case NOTHING:
		if (is_frame_gone(l, point.block) && !guess_tables(l, true) && !guess_labels(l))
			verdict = leave(l->b, jump, NULL);
		break;
	default:
		break;
	}
	l->b->targets.cnt = first;
	return verdict;
}

/* Looks at a jump again once more code is read: newly found paths to it may bring more targets. */
static enum verdict look_again(struct pp_local *l, const struct pp_place *jump)
{
	struct pp_point point = {pp_local_find(l, jump->vaddr), jump->vaddr};
	uint32_t at = pp_map_get(&l->b->switch_at, jump->vaddr), cnt;
	size_t first = l->b->targets.cnt;
	struct pp_op op;

	if (point.block == PP_NONE || !pp_op_read(l, jump->vaddr, &op))
		return LATER;
	if (read_tables(l, &op, point) == FOUND) {
		cnt = settle(l->b, first);
		if (cnt > PP_AT(l->b->switches, struct pp_switch, at)->cnt) {
			note(l->b, jump->vaddr, first, cnt, PATHPROF_EDGE_SWITCH);
			reach_all(l->b, jump->range, first, cnt);
			return DONE;
		}
	}
	l->b->targets.cnt = first;
	return LATER;
}

static int by_family(const void *a, const void *b)
{
	const struct pp_place *x = a, *y = b;

	if (x->range != y->range)
		return x->range < y->range ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_insn(const void *a, const void *b)
{
	const struct pp_constant *x = a, *y = b;

	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

typedef enum verdict look_fn(struct pp_local *l, const struct pp_place *jump);

/* Looks at all jumps of one function. Returns how many are resolved; the others go to left. */
static size_t look_at_function(struct pp_builder *b, const struct pp_place *jumps, size_t cnt,
			       look_fn *look, struct pp_vector *left)
{
	struct pp_local local;
	size_t done = 0;

	if (pp_local_init(&local, b, pp_owner_family(b, jumps[0].range))) {
		b->failed = true;
		return 0;
	}
	find_ways(&local);
	for (size_t i = 0; i < cnt; i++) {
		if (look(&local, &jumps[i]) == DONE)
			done++;
		else if (!pp_vector_add(left, &jumps[i]))
			b->failed = true;
	}
	pp_local_release(&local);
	return done;
}

/* How many of the sorted jumps from first on are in one range. */
static size_t of_one_range(const struct pp_vector *jumps, size_t first)
{
	const struct pp_place *place = PP_AT(*jumps, struct pp_place, first);
	size_t cnt = 1;

	while (first + cnt < jumps->cnt && place[cnt].range == place->range)
		cnt++;
	return cnt;
}

static size_t look_at_all(struct pp_builder *b, const struct pp_vector *jumps, look_fn *look,
			  struct pp_vector *left)
{
	size_t done = 0, cnt;

	for (size_t i = 0; i < jumps->cnt && !b->failed; i += cnt) {
		cnt = of_one_range(jumps, i);
		done += look_at_function(b, PP_AT(*jumps, struct pp_place, i), cnt, look, left);
	}
	return done;
}

static void list_objects(struct pp_builder *b)
{
	if (b->object_cnt == b->constants.cnt)
		return;
	if (b->constants.cnt)
		qsort(b->constants.data, b->constants.cnt, sizeof(struct pp_constant), by_insn);
	if (pp_resize(&b->objects, b->constants.cnt) < 0) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < b->constants.cnt; i++)
		b->objects[i] = PP_AT(b->constants, struct pp_constant, i)->value;
	qsort(b->objects, b->constants.cnt, sizeof(b->objects[0]), by_address);
	b->object_cnt = b->constants.cnt;
}

static void sort_pending(struct pp_builder *b)
{
	list_objects(b);
	if (b->pending.cnt)
		qsort(b->pending.data, b->pending.cnt, sizeof(struct pp_place), by_family);
}

static bool resolve(struct pp_builder *b)
{
	struct pp_vector jumps = b->pending, left = {.size_bytes = sizeof(struct pp_place)};
	size_t done = 0;

	sort_pending(b);
	b->pending = (struct pp_vector){.size_bytes = sizeof(struct pp_place)};
	for (size_t i = 0; i < jumps.cnt && !b->failed; i++) {
		const struct pp_place *jump = PP_AT(jumps, struct pp_place, i);

		if (look_at_once(b, jump) == DONE)
			done++;
		else if (!pp_vector_add(&left, jump))
			b->failed = true;
	}
	done += look_at_all(b, &left, look_at, &b->pending);
	for (size_t i = 0; i < left.cnt; i++) {
		const struct pp_place *jump = PP_AT(left, struct pp_place, i);

		if (pp_map_get(&b->switch_at, jump->vaddr) != PP_NONE &&
		    !pp_vector_add(&b->known, jump))
			b->failed = true;
	}
	free(jumps.data);
	free(left.data);
	return done;
}

bool pp_switch_resolve(struct pp_builder *b)
{
	b->bounded_only = true;
	if (resolve(b))
		return true;
	b->bounded_only = false;
	return resolve(b);
}

bool pp_switch_check(struct pp_builder *b)
{
	struct pp_vector left = {.size_bytes = sizeof(struct pp_place)};
	size_t done;

	if (b->known.cnt)
		qsort(b->known.data, b->known.cnt, sizeof(struct pp_place), by_family);
	done = look_at_all(b, &b->known, look_again, &left);
	free(left.data);
	return done;
}

/* Guesses the targets of a function's unresolved jumps: each may lead to all of them. */
static void guess(struct pp_local *l, const struct pp_place *jumps, size_t cnt)
{
	struct pp_builder *b = l->b;
	size_t first = b->targets.cnt;
	uint32_t target_cnt;

	if (!guess_tables(l, false) && !guess_labels(l))
		guess_gaps(l);
	target_cnt = settle(b, first);
	for (size_t i = 0; i < cnt; i++) {
		/* With all of the function reached, the jump can only leave it. */
		if (!target_cnt) {
			leave(b, &jumps[i], NULL);
			continue;
		}
		b->stats.unresolved_cnt++;
		pp_owner_state(b, pp_owner_root(b, jumps->range))->flags |=
			PATHPROF_FUNCTION_UNRESOLVED;
		note(b, jumps[i].vaddr, first, target_cnt, PATHPROF_EDGE_GUESSED);
	}
	reach_all(b, jumps->range, first, target_cnt);
	pp_explore_returns(b, jumps->range);
}

bool pp_switch_give_up(struct pp_builder *b)
{
	struct pp_vector jumps = b->pending;
	size_t cnt;

	sort_pending(b);
	b->pending = (struct pp_vector){.size_bytes = sizeof(struct pp_place)};
	for (size_t i = 0; i < jumps.cnt && !b->failed; i += cnt) {
		const struct pp_place *jump = PP_AT(jumps, struct pp_place, i);
		struct pp_local local;

		cnt = of_one_range(&jumps, i);
		if (pp_local_init(&local, b, pp_owner_family(b, jump->range))) {
			b->failed = true;
			break;
		}
		guess(&local, jump, cnt);
		pp_local_release(&local);
	}
	free(jumps.data);
	return jumps.cnt;
}
