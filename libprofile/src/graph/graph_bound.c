// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The bound of a jump table's index, found by reading backwards from its use to the comparison that
 * guards it.
 *
 *     mov  ecx, eax        index is ecx          mov eax, [rbp-20]
 *     cmp  eax, 6      or  sub before cmp,   or  cmp eax, 6  (other register, spilled, ...)
 *     ja   default
 *
 * Going back, both the index and the compared operand are followed through copies, additions of
 * constants and the stack; when both are in the same place at the same time, the comparison bounds
 * the index. If several paths lead to the jump, each of them must have a bound.
 *
 * Bounded by blocks and instructions looked at. See pp_builder.h.
 */
#include "pp_builder.h"

#include <string.h>

#define BLOCKS_MAX 24
#define INSNS_MAX  256 /* read of a block, from its end */
#define GUARDS_MAX 8
#define INDEX_MAX  65536

/*
 * The place of a value, a register or memory by the parts of its address; and how the value
 * followed differs from the content: value = (content + added >> shift) + added_after.
 */
struct place {
	bool lost, memory;
	uint32_t reg, index, scale;
	int64_t distance;
	int64_t added, added_after;
	uint32_t shift;
};

/* A comparison on the way, and the largest content that passes it. */
struct guard {
	struct place place;
	int64_t max;
};

/* A conditional jump whose comparison is still to come. */
struct condition {
	ZydisMnemonic mnemonic;
	bool taken;
};

struct trail {
	struct place index;
	struct guard guards[GUARDS_MAX];
	struct condition conditions[GUARDS_MAX];
	uint32_t guard_cnt, condition_cnt;
	int64_t weak; /* bound by a width or a mask; INT64_MAX: none */
};

/* ---------------------------------------------------------------- places */

static struct place of_operand(const struct pp_op *op, const ZydisDecodedOperand *o)
{
	struct place p = {.lost = true, .index = PP_NONE};

	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		p.reg = pp_op_register(o->reg.value);
		p.lost = p.reg == PP_NONE;
	} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.segment != ZYDIS_REGISTER_FS &&
		   o->mem.segment != ZYDIS_REGISTER_GS) {
		p.memory = true;
		p.lost = false;
		p.reg = pp_op_register(o->mem.base);
		p.index = pp_op_register(o->mem.index);
		p.scale = o->mem.scale;
		p.distance = o->mem.disp.value;
		if (o->mem.base == ZYDIS_REGISTER_RIP)
			p.distance += (int64_t)(op->vaddr + op->insn.length);
	}
	return p;
}

static bool same(const struct place *a, const struct place *b)
{
	if (a->lost || b->lost || a->memory != b->memory || a->reg != b->reg)
		return false;
	return !a->memory || (a->index == b->index && a->distance == b->distance &&
			      (a->index == PP_NONE || a->scale == b->scale));
}

static bool is_defined(const struct place *p, uint32_t defs)
{
	if (p->reg != PP_NONE && (defs >> p->reg & 1))
		return true;
	return p->memory && p->index != PP_NONE && (defs >> p->index & 1);
}

/* op copied its operand i to p. */
static void came_from(struct place *p, const struct pp_op *op, uint32_t i)
{
	struct place before = *p;

	*p = of_operand(op, &op->operands[i]);
	p->added = before.added;
	p->added_after = before.added_after;
	p->shift = before.shift;
}

static bool is_small(int64_t value)
{
	return value > -INDEX_MAX && value < INDEX_MAX;
}

/* lea d, [s + constant] */
static void through_lea(struct place *p, const struct pp_op *op)
{
	const ZydisDecodedOperand *o = &op->operands[1];
	uint32_t base = pp_op_register(o->mem.base);

	if (o->mem.index != ZYDIS_REGISTER_NONE || base == PP_NONE ||
	    !is_small(o->mem.disp.value)) {
		p->lost = true;
		return;
	}
	p->reg = base;
	p->added += o->mem.disp.value;
}

static void add_constant(struct place *p, const struct pp_op *op, int sign)
{
	const ZydisDecodedOperand *o = &op->operands[1];

	if (o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !is_small(o->imm.value.s))
		p->lost = true;
	else
		p->added += sign * o->imm.value.s;
}

static void weaken(int64_t *weak, int64_t max)
{
	if (weak && max >= 0 && max < *weak)
		*weak = max;
}

/* A shift right: its width bounds the value; a comparison of the shifted operand may do better. */
static void through_shift(struct place *p, const struct pp_op *op, int64_t *weak)
{
	int64_t by = op->operands[1].imm.value.s;

	if (op->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || by <= 0 ||
	    by >= op->operands[0].size || p->shift) {
		p->lost = true;
		return;
	}
	weaken(weak, (INT64_MAX >> (by + 63 - op->operands[0].size)) + p->added);
	p->added_after = p->added;
	p->added = 0;
	p->shift = (uint32_t)by;
}

/* The value is computed here and followed no further; a mask bounds it. */
static void born(struct place *p, const struct pp_op *op, int64_t *weak)
{
	const ZydisDecodedOperand *o = &op->operands[1];

	if (op->insn.mnemonic == ZYDIS_MNEMONIC_AND && o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    o->imm.value.s >= 0 && !p->shift)
		weaken(weak, o->imm.value.s + p->added);
	p->lost = true;
}

/* Moves a place that is op's first operand from behind op to before it. */
static void through_write(struct place *p, const struct pp_op *op, int64_t *weak)
{
	const ZydisDecodedOperand *o = op->operands;

	switch (op->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOVZX:
		if (!p->shift)
			weaken(weak, (o[1].size == 8 ? 255 : 65535) + p->added);
		came_from(p, op, 1);
		break;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		came_from(p, op, 1);
		break;
	case ZYDIS_MNEMONIC_LEA:
		through_lea(p, op);
		break;
	case ZYDIS_MNEMONIC_ADD:
		add_constant(p, op, 1);
		break;
	case ZYDIS_MNEMONIC_SUB:
		add_constant(p, op, -1);
		break;
	case ZYDIS_MNEMONIC_INC:
		p->added++;
		break;
	case ZYDIS_MNEMONIC_DEC:
		p->added--;
		break;
	case ZYDIS_MNEMONIC_SHR:
		through_shift(p, op, weak);
		break;
	default:
		born(p, op, weak);
		break;
	}
}

/* Moves a place that depends on a register that op writes to before op. */
static void through_definition(struct place *p, const struct pp_op *op, int64_t *weak)
{
	const ZydisDecodedOperand *o = op->operands;
	bool whole = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		     pp_op_register(o[0].reg.value) == p->reg && !p->memory;

	if (op->insn.mnemonic == ZYDIS_MNEMONIC_CDQE && !p->memory && p->reg == 0)
		return;
	if (whole)
		through_write(p, op, weak);
	else
		p->lost = true;
}

static void go_before(struct place *p, const struct pp_op *op, int64_t *weak)
{
	struct place written;

	if (p->lost)
		return;
	if (is_defined(p, op->defs)) {
		through_definition(p, op, weak);
		return;
	}
	if (!p->memory || !pp_op_writes_memory(op))
		return;
	written = of_operand(op, &op->operands[0]);
	if (same(p, &written))
		through_write(p, op, weak);
}

/* ---------------------------------------------------------------- comparisons */

#define NO_BOUND INT64_MIN

/*
 * The largest operand with which the branch goes towards the jump. An operand that, unsigned, is at
 * or above a negative immediate is negative itself: case -5 and the like.
 */
static int64_t passes(const struct condition *c, int64_t imm)
{
	int64_t above = imm < 0 ? -1 : NO_BOUND, up_to = imm < 0 ? NO_BOUND : imm;

	switch (c->mnemonic) {
	case ZYDIS_MNEMONIC_JNBE:
		return c->taken ? above : up_to;
	case ZYDIS_MNEMONIC_JBE:
		return c->taken ? up_to : above;
	case ZYDIS_MNEMONIC_JNB:
		return c->taken ? above : up_to == NO_BOUND ? NO_BOUND : imm - 1;
	case ZYDIS_MNEMONIC_JB:
		return !c->taken ? above : up_to == NO_BOUND ? NO_BOUND : imm - 1;
	case ZYDIS_MNEMONIC_JNLE:
		return c->taken ? NO_BOUND : imm;
	case ZYDIS_MNEMONIC_JLE:
		return c->taken ? imm : NO_BOUND;
	case ZYDIS_MNEMONIC_JNL:
		return c->taken ? NO_BOUND : imm - 1;
	case ZYDIS_MNEMONIC_JL:
		return c->taken ? imm - 1 : NO_BOUND;
	default:
		return NO_BOUND;
	}
}

static bool is_unsigned(const struct condition *c)
{
	return c->mnemonic == ZYDIS_MNEMONIC_JNBE || c->mnemonic == ZYDIS_MNEMONIC_JBE ||
	       c->mnemonic == ZYDIS_MNEMONIC_JNB || c->mnemonic == ZYDIS_MNEMONIC_JB;
}

/* Unsigned immediates of 8 and 16 bits are zero-extended: as a byte, 0xa2 is not negative. */
static int64_t compared_with(const struct condition *c, const struct pp_op *op)
{
	int64_t imm = op->operands[1].imm.value.s;

	if (!is_unsigned(c) || op->operands[0].size > 16)
		return imm;
	return op->operands[0].size == 8 ? (int64_t)(uint8_t)imm : (int64_t)(uint16_t)imm;
}

/* Takes op for the comparison of all waiting conditions. The trail is before op already. */
static void take_guards(struct trail *t, const struct pp_op *op)
{
	const ZydisDecodedOperand *o = op->operands;
	bool compares = (op->insn.mnemonic == ZYDIS_MNEMONIC_CMP ||
			 op->insn.mnemonic == ZYDIS_MNEMONIC_SUB) &&
			o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	for (uint32_t i = 0; i < t->condition_cnt && compares; i++) {
		int64_t max = passes(&t->conditions[i], compared_with(&t->conditions[i], op));

		if (max == NO_BOUND || t->guard_cnt == GUARDS_MAX)
			continue;
		t->guards[t->guard_cnt++] =
			(struct guard){.place = of_operand(op, &o[0]), .max = max};
	}
	t->condition_cnt = 0;
}

/* Whether a comparison is of the index; *ret_max is then the index's maximum. */
static bool meets(const struct trail *t, int64_t *ret_max)
{
	for (uint32_t i = 0; i < t->guard_cnt; i++) {
		const struct guard *g = &t->guards[i];
		int64_t max;

		if (!same(&t->index, &g->place) || g->place.shift)
			continue;
		max = g->max - g->place.added + t->index.added;
		if (max < 0)
			continue;
		max = (max >> t->index.shift) + t->index.added_after;
		if (max < 0 || max >= INDEX_MAX)
			continue;
		*ret_max = max;
		return true;
	}
	return false;
}

static void step_back(struct trail *t, const struct pp_op *op)
{
	bool flags = t->condition_cnt && pp_op_writes_flags(op);

	go_before(&t->index, op, &t->weak);
	for (uint32_t i = 0; i < t->guard_cnt; i++)
		go_before(&t->guards[i].place, op, NULL);
	if (flags)
		take_guards(t, op);
}

/* ---------------------------------------------------------------- the way back */

/* Reads a block backwards from vaddr. Returns true when a bound was found. */
static bool walk_block(struct pp_local *l, struct trail *t, uint32_t block, uint64_t vaddr,
		       int64_t *ret_max)
{
	uint64_t at[INSNS_MAX];
	uint32_t cnt = 0;
	struct pp_op op;

	for (uint64_t a = pp_local_block(l, block)->start; a < vaddr;) {
		const uint8_t *mark = pp_text_mark(&l->b->text, a);

		if (!mark || !(*mark & PP_MARK_LEN))
			return false;
		at[cnt++ % INSNS_MAX] = a;
		a += *mark & PP_MARK_LEN;
	}
	for (uint32_t left = cnt < INSNS_MAX ? cnt : INSNS_MAX; left; left--) {
		if (!pp_op_read(l, at[--cnt % INSNS_MAX], &op))
			return false;
		step_back(t, &op);
		if (meets(t, ret_max))
			return true;
		if (t->index.lost)
			return false;
	}
	return false;
}

/* Notes which way the branch of a predecessor went. */
static void note_condition(struct pp_local *l, struct trail *t, uint32_t pred, uint32_t block)
{
	const struct pp_local_block *from = pp_local_block(l, pred);
	const struct pp_local_block *to = pp_local_block(l, block);
	struct pp_insn insn;
	struct pp_op op;

	if (from->kind != PP_KIND_COND || t->condition_cnt == GUARDS_MAX ||
	    !pp_text_decode(&l->b->text, from->last, &insn) || insn.target == from->end ||
	    !pp_op_read(l, from->last, &op))
		return;
	t->conditions[t->condition_cnt++] =
		(struct condition){op.insn.mnemonic, insn.target == to->start};
}

/* The bound of all paths together. */
struct verdict {
	int64_t max;
	bool all;
};

/* A block to read backwards next, with the trail of its path. */
struct way {
	struct trail trail;
	uint32_t block;
};

static void end_way(struct verdict *v, bool found, int64_t max)
{
	v->all = v->all && found;
	if (found && max > v->max)
		v->max = max;
}

static uint32_t branch_out(struct pp_local *l, const struct way *way, uint32_t search,
			   struct way *ways, uint32_t cnt, struct verdict *v)
{
	struct pp_local_block *block = pp_local_block(l, way->block);

	/* A block in which this path found its bound is not marked: another path may find none
	 * there. */
	block->seen = search;
	if (!block->pred_cnt)
		end_way(v, false, 0);
	for (uint32_t i = 0; i < block->pred_cnt; i++) {
		uint32_t pred = l->preds[block->first_pred + i];
		struct pp_local_block *p = pp_local_block(l, pred);

		if (p->seen == search)
			continue;
		if (cnt == BLOCKS_MAX) {
			end_way(v, false, 0);
			return cnt;
		}
		ways[cnt] = (struct way){way->trail, pred};
		note_condition(l, &ways[cnt].trail, pred, way->block);
		cnt++;
	}
	return cnt;
}

struct pp_bound pp_bound_of(struct pp_local *l, uint32_t reg, struct pp_point point)
{
	struct way ways[BLOCKS_MAX], way = {.block = point.block};
	struct verdict v = {.max = -1, .all = true};
	uint32_t cnt = 0, looked_at = 0, search = ++l->search;
	uint64_t from = point.vaddr;
	int64_t max = 0, weak = INT64_MAX;

	way.trail.index = (struct place){.reg = reg, .index = PP_NONE};
	way.trail.weak = INT64_MAX;
	for (;;) {
		if (walk_block(l, &way.trail, way.block, from, &max))
			end_way(&v, true, max);
		else if (way.trail.index.lost || ++looked_at > BLOCKS_MAX)
			end_way(&v, false, 0);
		else
			cnt = branch_out(l, &way, search, ways, cnt, &v);
		if (way.trail.weak < weak)
			weak = way.trail.weak;
		while (cnt && pp_local_block(l, ways[cnt - 1].block)->seen == search)
			cnt--;
		if (!cnt || !v.all)
			break;
		way = ways[--cnt];
		from = pp_local_block(l, way.block)->end;
	}
	if (v.all && v.max >= 0)
		return (struct pp_bound){(uint64_t)v.max, true};
	return (struct pp_bound){weak < INDEX_MAX ? (uint64_t)weak : INDEX_MAX - 1, false};
}
