// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The value of a register before an instruction, found by reading backwards: a constant, or
 * constant + coefficient x leaf. That covers how compilers address jump tables:
 *
 *     load8(table + 8 x index)            and       base + sign-extended load4(table + 4 x index)
 *
 * with the parts in other registers, on the stack (code that is not optimised), or set up long
 * before, in front of a loop. If several definitions reach a point, the value is known if all of
 * them are the same constant.
 *
 * Source: Cifuentes and Van Emmerik, Recovery of Jump Table Case Statements from Binary Code
 * (1999), for the normal forms. Depth and reads are bounded.
 */
#include "pp_builder.h"

#include <stdlib.h>

#define DEPTH_MAX 12
#define DEFS_MAX  256

/* A register, or a place on the stack. */
struct place {
	bool slot;
	uint32_t reg; /* a slot's base register */
	int64_t distance;
	uint32_t size_bytes;
};

static const struct pp_value unknown = {.kind = PP_VALUE_UNKNOWN};

static struct pp_value value_of_register(struct pp_local *l, uint32_t reg, struct pp_point point,
					 uint32_t depth);

static struct pp_value constant(uint64_t c)
{
	return (struct pp_value){.kind = PP_VALUE_LINEAR, .leaf = PP_NONE, .constant = c};
}

static bool is_constant(const struct pp_value *v)
{
	return v->kind == PP_VALUE_LINEAR && v->leaf == PP_NONE;
}

static struct pp_value of_leaf(struct pp_local *l, const struct pp_leaf *leaf, uint32_t coefficient)
{
	if (!pp_vector_add(&l->leaves, leaf)) {
		l->b->failed = true;
		return unknown;
	}
	return (struct pp_value){
		.kind = PP_VALUE_LINEAR,
		.leaf = (uint32_t)l->leaves.cnt - 1,
		.coefficient = coefficient,
	};
}

static struct pp_value of_register(struct pp_local *l, uint32_t reg, struct pp_point point,
				   uint32_t coefficient)
{
	struct pp_leaf leaf = {.reg = reg, .point = point};

	return of_leaf(l, &leaf, coefficient);
}

static struct pp_value sum(struct pp_value a, struct pp_value b)
{
	if (a.kind == PP_VALUE_UNKNOWN || b.kind == PP_VALUE_UNKNOWN)
		return unknown;
	if (a.leaf != PP_NONE && b.leaf != PP_NONE)
		return unknown;
	if (a.leaf == PP_NONE) {
		b.constant += a.constant;
		return b;
	}
	a.constant += b.constant;
	return a;
}

/* ---------------------------------------------------------------- definitions */

static bool is_slot(const ZydisDecodedOperand *o, struct place *ret_slot)
{
	uint32_t base;

	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	base = pp_op_register(o->mem.base);
	if (base != PP_REG_SP && base != PP_REG_BP)
		return false;
	*ret_slot = (struct place){true, base, o->mem.disp.value, o->size / 8};
	return true;
}

/* Whether op writes the place; *ret_lost: op changes the slot's base register. */
static bool writes(const struct pp_op *op, const struct place *p, bool *ret_lost)
{
	struct place slot;

	if (!p->slot)
		return op->defs >> p->reg & 1;
	if (pp_op_writes_memory(op) && is_slot(&op->operands[0], &slot) && slot.reg == p->reg &&
	    slot.distance == p->distance)
		return true;
	*ret_lost = op->defs >> p->reg & 1;
	return false;
}

/* The last write of p in block before vaddr. 1: found; 0: none; -1: lost. */
static int last_write(struct pp_local *l, uint32_t block, uint64_t vaddr, const struct place *p,
		      struct pp_point *ret_point)
{
	struct pp_local_block *blk = pp_local_block(l, block);
	uint32_t defs = 0;
	struct pp_op op;
	int found = 0;

	if (!p->slot && (blk->defs >> 31) && !(blk->defs >> p->reg & 1))
		return 0;
	for (uint64_t at = blk->start; at < vaddr; at += op.insn.length) {
		bool lost = false;

		if (!pp_op_read(l, at, &op))
			return -1;
		defs |= op.defs;
		if (writes(&op, p, &lost)) {
			*ret_point = (struct pp_point){block, at};
			found = 1;
		} else if (lost) {
			found = -1;
		}
	}
	if (vaddr == blk->end)
		blk->defs = defs | 1u << 31;
	return found;
}

/*
 * All writes of p that reach point, *ret_cnt of them, at most DEFS_MAX. Returns false when unknown
 * definitions may reach it too.
 */
static bool reaching(struct pp_local *l, const struct place *p, struct pp_point point,
		     struct pp_point *points, size_t *ret_cnt)
{
	struct pp_vector stack = {.size_bytes = sizeof(uint32_t)};
	uint32_t search = ++l->search, block = point.block;
	uint64_t until = point.vaddr;
	bool known = true;

	*ret_cnt = 0;
	for (;;) {
		const struct pp_local_block *blk = pp_local_block(l, block);
		int found = *ret_cnt < DEFS_MAX && pp_builder_spend(l->b)
				    ? last_write(l, block, until, p, &points[*ret_cnt])
				    : -1;

		if (found == 1)
			++*ret_cnt;
		known = known && found >= 0 && (found || blk->pred_cnt);
		for (uint32_t i = 0; !found && i < blk->pred_cnt; i++) {
			uint32_t pred = l->preds[blk->first_pred + i];

			if (pp_local_block(l, pred)->seen == search)
				continue;
			pp_local_block(l, pred)->seen = search;
			if (!pp_vector_add(&stack, &pred))
				l->b->failed = true;
		}
		if (!stack.cnt)
			break;
		block = *PP_AT(stack, uint32_t, --stack.cnt);
		until = pp_local_block(l, block)->end;
	}
	free(stack.data);
	return known;
}

/* ---------------------------------------------------------------- instructions */

static struct pp_value address_of(struct pp_local *l, const struct pp_op *op,
				  const ZydisDecodedOperand *o, struct pp_point point,
				  uint32_t depth)
{
	struct pp_value v = constant((uint64_t)o->mem.disp.value);
	uint32_t reg;

	if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
		return unknown;
	if (o->mem.base == ZYDIS_REGISTER_RIP) {
		v.constant += op->vaddr + op->insn.length;
	} else if (o->mem.base != ZYDIS_REGISTER_NONE) {
		reg = pp_op_register(o->mem.base);
		v = reg == PP_NONE ? unknown : sum(v, value_of_register(l, reg, point, depth));
	}
	if (o->mem.index == ZYDIS_REGISTER_NONE || v.kind == PP_VALUE_UNKNOWN)
		return v;
	reg = pp_op_register(o->mem.index);
	if (reg == PP_NONE)
		return unknown;
	/* A scaled register is an index: the search for its bound begins here. */
	return sum(v, o->mem.scale > 1 ? of_register(l, reg, point, o->mem.scale)
				       : value_of_register(l, reg, point, depth));
}

static struct pp_value merge(struct pp_local *l, const struct pp_point *points, size_t cnt,
			     const struct place *p, uint32_t depth);

static struct pp_value load(struct pp_local *l, const struct pp_op *op,
			    const ZydisDecodedOperand *o, struct pp_point point, bool sign,
			    uint32_t depth)
{
	struct pp_leaf leaf = {
		.load = true, .sign = sign, .size_bytes = o->size / 8, .point = point};
	struct pp_point points[DEFS_MAX];
	struct place slot;
	size_t cnt;

	if (is_slot(o, &slot)) {
		if (!reaching(l, &slot, point, points, &cnt) || !cnt)
			return unknown;
		return merge(l, points, cnt, &slot, depth);
	}
	leaf.address = address_of(l, op, o, point, depth);
	return leaf.address.kind == PP_VALUE_UNKNOWN ? unknown : of_leaf(l, &leaf, 1);
}

static struct pp_value of_operand(struct pp_local *l, const struct pp_op *op, uint32_t i,
				  struct pp_point point, bool sign, uint32_t depth)
{
	const ZydisDecodedOperand *o = &op->operands[i];
	uint32_t reg;

	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return constant(o->imm.value.u);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return load(l, op, o, point, sign, depth);
	case ZYDIS_OPERAND_TYPE_REGISTER:
		reg = pp_op_register(o->reg.value);
		return reg == PP_NONE ? unknown : value_of_register(l, reg, point, depth);
	default:
		return unknown;
	}
}

static struct pp_value extended(struct pp_local *l, struct pp_value v)
{
	if (v.kind == PP_VALUE_UNKNOWN)
		return v;
	if (is_constant(&v))
		return constant((uint64_t)(int64_t)(int32_t)v.constant);
	if (v.constant || v.coefficient != 1)
		return unknown;
	PP_AT(l->leaves, struct pp_leaf, v.leaf)->sign = true;
	return v;
}

static struct pp_value shifted(struct pp_local *l, const struct pp_op *op, struct pp_point point,
			       uint32_t depth)
{
	uint32_t reg = pp_op_register(op->operands[0].reg.value);
	uint64_t by = op->operands[1].imm.value.u;

	if (op->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || by > 4 || reg == PP_NONE)
		return unknown;
	return of_register(l, reg, point, 1u << by);
}

/* The value of the register that op, at point, writes. */
static struct pp_value of_definition(struct pp_local *l, const struct pp_op *op,
				     struct pp_point point, uint32_t depth)
{
	struct pp_value v;

	if (op->operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER &&
	    op->insn.mnemonic != ZYDIS_MNEMONIC_MOV)
		return unknown;
	switch (op->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		v = of_operand(l, op, 1, point, false, depth);
		if (is_constant(&v) && op->operands[0].size == 32)
			v.constant = (uint32_t)v.constant;
		return v;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		if (op->operands[1].size != 32)
			return unknown;
		v = of_operand(l, op, 1, point, true, depth);
		return extended(l, v);
	case ZYDIS_MNEMONIC_CDQE:
		return extended(l, value_of_register(l, 0, point, depth));
	case ZYDIS_MNEMONIC_LEA:
		return address_of(l, op, &op->operands[1], point, depth);
	case ZYDIS_MNEMONIC_ADD:
		v = of_operand(l, op, 1, point, false, depth);
		return v.kind == PP_VALUE_UNKNOWN
			       ? v
			       : sum(v, of_operand(l, op, 0, point, false, depth));
	case ZYDIS_MNEMONIC_SUB:
		v = of_operand(l, op, 1, point, false, depth);
		if (!is_constant(&v))
			return unknown;
		return sum(constant(-v.constant), of_operand(l, op, 0, point, false, depth));
	case ZYDIS_MNEMONIC_SHL:
		return shifted(l, op, point, depth);
	case ZYDIS_MNEMONIC_XOR:
		return op->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       op->operands[0].reg.value == op->operands[1].reg.value
			       ? constant(0)
			       : unknown;
	default:
		return unknown;
	}
}

static struct pp_value value_at(struct pp_local *l, struct pp_point point, uint32_t depth)
{
	struct pp_op op;

	return pp_op_read(l, point.vaddr, &op) ? of_definition(l, &op, point, depth) : unknown;
}

static struct pp_value merge(struct pp_local *l, const struct pp_point *points, size_t cnt,
			     const struct place *p, uint32_t depth)
{
	struct pp_value v;

	if (!depth || !cnt)
		return unknown;
	v = value_at(l, points[0], depth - 1);
	for (size_t i = 1; i < cnt && v.kind != PP_VALUE_UNKNOWN; i++) {
		struct pp_value other = value_at(l, points[i], depth - 1);

		if (!is_constant(&v) || !is_constant(&other) || v.constant != other.constant)
			return unknown;
	}
	return v;
}

/* ---------------------------------------------------------------- copies in circles */

/* The source of a copy: a place at a point. */
struct source {
	struct place place;
	struct pp_point point;
};

/* Whether op only copies 8 bytes between registers and the stack; *ret_from: the source. */
static bool is_copy(const struct pp_op *op, struct place *ret_from)
{
	const ZydisDecodedOperand *to = &op->operands[0], *from = &op->operands[1];
	struct place slot;

	if (op->insn.mnemonic != ZYDIS_MNEMONIC_MOV || to->size != 64 ||
	    (to->type != ZYDIS_OPERAND_TYPE_REGISTER && !is_slot(to, &slot)))
		return false;
	if (is_slot(from, ret_from))
		return true;
	if (from->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	*ret_from = (struct place){.reg = pp_op_register(from->reg.value)};
	return ret_from->reg != PP_NONE;
}

/* The search for the one constant that all copies of a place come from. */
struct hunt {
	struct pp_vector sources; /* struct source, to be looked at */
	struct pp_map seen;       /* definitions, by their vaddr */
	bool found;
	uint64_t constant;
};

static bool hunt_behind(struct pp_local *l, struct hunt *h, const struct source *source)
{
	if (pp_vector_add(&h->sources, source))
		return true;
	l->b->failed = true;
	return false;
}

/* false: the definition is neither a copy nor that constant. */
static bool hunt_definition(struct pp_local *l, struct hunt *h, struct pp_point point)
{
	struct source source = {.point = point};
	struct pp_value v;
	struct pp_op op;

	if (pp_map_get(&h->seen, point.vaddr) != PP_NONE)
		return true;
	if (pp_map_put(&h->seen, point.vaddr, 0)) {
		l->b->failed = true;
		return false;
	}
	if (!pp_op_read(l, point.vaddr, &op))
		return false;
	if (is_copy(&op, &source.place))
		return hunt_behind(l, h, &source);
	v = of_definition(l, &op, point, 1);
	if (!is_constant(&v) || (h->found && v.constant != h->constant))
		return false;
	h->found = true;
	h->constant = v.constant;
	return true;
}

/*
 * A constant that is spilled around calls in a loop comes from itself, over many copies: each
 * definition is looked at once.
 */
static bool constant_of(struct pp_local *l, const struct place *place, struct pp_point point,
			uint64_t *ret_constant)
{
	struct hunt h = {.sources.size_bytes = sizeof(struct source)};
	struct source source = {*place, point};
	struct pp_point points[DEFS_MAX];
	bool good = hunt_behind(l, &h, &source);

	while (good && h.sources.cnt) {
		size_t cnt;

		source = *PP_AT(h.sources, struct source, --h.sources.cnt);
		good = reaching(l, &source.place, source.point, points, &cnt);
		for (size_t i = 0; i < cnt && good; i++)
			good = hunt_definition(l, &h, points[i]);
	}
	*ret_constant = h.constant;
	free(h.sources.data);
	pp_map_release(&h.seen);
	return good && h.found;
}

static struct pp_value value_of_register(struct pp_local *l, uint32_t reg, struct pp_point point,
					 uint32_t depth)
{
	struct place p = {.reg = reg};
	struct pp_point points[DEFS_MAX];
	struct pp_value v = unknown;
	uint64_t c;
	size_t cnt;

	/* Near the jump, where a table's address is asked for, chains of copies are followed too.
	 */
	if (depth + 2 >= DEPTH_MAX && constant_of(l, &p, point, &c))
		return constant(c);
	if (depth && reaching(l, &p, point, points, &cnt))
		v = merge(l, points, cnt, &p, depth);
	return v.kind == PP_VALUE_UNKNOWN ? of_register(l, reg, point, 1) : v;
}

size_t pp_value_targets(struct pp_local *l, const struct pp_op *jump, struct pp_point point,
			struct pp_value *values, size_t max)
{
	const ZydisDecodedOperand *o = &jump->operands[0];
	struct place p = {.slot = false};
	struct pp_point points[DEFS_MAX];
	struct pp_leaf leaf;
	size_t cnt = 0;

	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !is_slot(o, &p)) {
		leaf = (struct pp_leaf){.load = true, .size_bytes = 8, .point = point};
		leaf.address = address_of(l, jump, o, point, DEPTH_MAX);
		values[0] = leaf.address.kind == PP_VALUE_UNKNOWN ? unknown : of_leaf(l, &leaf, 1);
		return 1;
	}
	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
		p.reg = pp_op_register(o->reg.value);
	if (p.reg == PP_NONE)
		return 0;
	reaching(l, &p, point, points, &cnt);
	for (size_t i = 0; i < cnt && i < max; i++)
		values[i] = value_at(l, points[i], DEPTH_MAX);
	return cnt < max ? cnt : max;
}
