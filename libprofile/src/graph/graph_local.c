// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Blocks and predecessors of one function as far as it has been read, for reading backwards from an
 * indirect jump. Built anew for each look at a function; see pp_builder.h.
 */
#include "pp_builder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

/*
 * A call counts as writing its result only: compilers read another register behind a call only when
 * they know that the callee preserves it.
 */
#define CALL_WRITES (1u << 0)

static int add_block(struct pp_local *l, uint64_t start, uint64_t range_end)
{
	struct pp_local_block block = {.start = start, .parent = PP_NONE};
	struct pp_text *text = &l->b->text;
	uint64_t at = start;

	for (;;) {
		uint8_t mark = *pp_text_mark(text, at);
		const uint8_t *next;
		struct pp_insn insn;

		block.last = at;
		block.end = at + (mark & PP_MARK_LEN);
		if (mark & PP_MARK_BRANCH) {
			pp_text_decode(text, at, &insn);
			block.kind = insn.kind;
		}
		if (mark & (PP_MARK_BRANCH | PP_MARK_STOP))
			break;
		next = pp_text_mark(text, block.end);
		if (block.end >= range_end || !next || !(*next & PP_MARK_LEN) ||
		    (*next & PP_MARK_LEADER))
			break;
		at = block.end;
	}
	return pp_vector_add(&l->blocks, &block) ? 0 : -ENOMEM;
}

static int add_range(struct pp_local *l, uint32_t range)
{
	const struct pp_state *state = pp_owner_state(l->b, range);

	for (uint64_t at = state->start; at < state->end; at++) {
		const uint8_t *mark = pp_text_mark(&l->b->text, at);

		if (!mark)
			break;
		if (range >= l->b->ranges.cnt && at != state->start && (*mark & PP_MARK_GUESS))
			break;
		if ((*mark & PP_MARK_LEADER) && (*mark & PP_MARK_LEN) &&
		    add_block(l, at, state->end))
			return -ENOMEM;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct pp_local_block *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The last block that starts at or before vaddr. */
static uint32_t last_before(const struct pp_local *l, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, l->blocks.cnt, pp_local_block(l, (uint32_t)i)->start > vaddr);

	return low ? (uint32_t)low - 1 : PP_NONE;
}

uint32_t pp_local_find(const struct pp_local *l, uint64_t vaddr)
{
	uint32_t at = last_before(l, vaddr);

	/* Overlapping blocks may read the same bytes: take the one that ends with this instruction.
	 */
	for (uint32_t back = 0; at != PP_NONE && back < PP_INSN_MAX; back++) {
		if (pp_local_block(l, at)->last == vaddr)
			return at;
		at = at ? at - 1 : PP_NONE;
	}
	return PP_NONE;
}

static uint32_t starting_at(const struct pp_local *l, uint64_t vaddr)
{
	uint32_t at = last_before(l, vaddr);

	return at != PP_NONE && pp_local_block(l, at)->start == vaddr ? at : PP_NONE;
}

static int link_to(struct pp_local *l, uint32_t from, uint64_t vaddr)
{
	struct pp_link link = {from, starting_at(l, vaddr)};

	return link.to == PP_NONE || pp_vector_add(&l->links, &link) ? 0 : -ENOMEM;
}

static int link_switch(struct pp_local *l, uint32_t from, uint64_t jump)
{
	const struct pp_builder *b = l->b;
	uint32_t at = pp_map_get(&b->switch_at, jump);
	const struct pp_switch *s;

	if (at == PP_NONE)
		return 0;
	s = PP_AT(b->switches, struct pp_switch, at);
	for (uint32_t t = 0; t < s->cnt; t++) {
		if (link_to(l, from, *PP_AT(b->targets, uint64_t, s->first + t)))
			return -ENOMEM;
	}
	return 0;
}

static int link_block(struct pp_local *l, uint32_t from)
{
	const struct pp_local_block *block = pp_local_block(l, from);
	uint8_t mark = *pp_text_mark(&l->b->text, block->last);
	struct pp_insn insn = {0};
	uint64_t pad;
	int r = 0;

	if (mark & PP_MARK_STOP)
		return 0;
	if (mark & PP_MARK_BRANCH)
		pp_text_decode(&l->b->text, block->last, &insn);
	if (insn.kind == PP_KIND_COND || insn.kind == PP_KIND_JMP)
		r = link_to(l, from, insn.target);
	if (insn.kind == PP_KIND_CALL || insn.kind == PP_KIND_ICALL) {
		pad = pp_explore_pad(l->b, block->last);
		if (pad)
			r = link_to(l, from, pad);
		if (r || !pp_explore_call_returns(l->b, block->last, &insn))
			return r;
	}
	if (insn.kind == PP_KIND_IJMP)
		return link_switch(l, from, block->last);
	if (r || insn.kind == PP_KIND_JMP || insn.kind == PP_KIND_RET)
		return r;
	return link_to(l, from, block->end);
}

static int sort_preds(struct pp_local *l)
{
	uint32_t at = 0;

	l->preds = calloc(l->links.cnt + 1, sizeof(l->preds[0]));
	if (!l->preds)
		return -ENOMEM;
	for (size_t i = 0; i < l->links.cnt; i++)
		pp_local_block(l, PP_AT(l->links, struct pp_link, i)->to)->pred_cnt++;
	for (uint32_t i = 0; i < l->blocks.cnt; i++) {
		struct pp_local_block *block = pp_local_block(l, i);

		block->first_pred = at;
		at += block->pred_cnt;
		block->pred_cnt = 0;
	}
	for (size_t i = 0; i < l->links.cnt; i++) {
		const struct pp_link *link = PP_AT(l->links, struct pp_link, i);
		struct pp_local_block *block = pp_local_block(l, link->to);

		l->preds[block->first_pred + block->pred_cnt++] = link->from;
	}
	return 0;
}

int pp_local_init(struct pp_local *l, struct pp_builder *b, uint32_t family)
{
	int rc = 0;

	*l = (struct pp_local){.b = b, .family = family};
	l->blocks.size_bytes = sizeof(struct pp_local_block);
	l->links.size_bytes = sizeof(struct pp_link);
	l->leaves.size_bytes = sizeof(struct pp_leaf);
	for (uint32_t r = family; r != PP_NONE && !rc; r = pp_owner_state(b, r)->next)
		rc = add_range(l, r);
	if (!rc)
		qsort(l->blocks.data, l->blocks.cnt, sizeof(struct pp_local_block), by_start);
	for (uint32_t i = 0; i < l->blocks.cnt && !rc; i++)
		rc = link_block(l, i);
	if (!rc)
		rc = sort_preds(l);
	if (rc)
		pp_local_release(l);
	return rc;
}

void pp_local_release(struct pp_local *l)
{
	free(l->blocks.data);
	free(l->links.data);
	free(l->leaves.data);
	free(l->preds);
}

uint32_t pp_op_register(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? (uint32_t)(whole - ZYDIS_REGISTER_RAX)
		       : PP_NONE;
}

static uint32_t written(const struct pp_op *op)
{
	uint32_t defs = 0;

	for (uint32_t i = 0; i < op->insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &op->operands[i];
		uint32_t reg;

		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = pp_op_register(o->reg.value);
		if (reg != PP_NONE)
			defs |= 1u << reg;
	}
	return op->insn.mnemonic == ZYDIS_MNEMONIC_CALL ? (defs | CALL_WRITES) & ~(1u << PP_REG_SP)
							: defs;
}

bool pp_op_read(struct pp_local *l, uint64_t vaddr, struct pp_op *ret_op)
{
	uint32_t len;
	const uint8_t *bytes = pp_text_bytes(&l->b->text, vaddr, &len);

	if (!bytes || !pp_builder_spend(l->b))
		return false;
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&l->b->text.operands, bytes, len, &ret_op->insn,
					       ret_op->operands)))
		return false;
	ret_op->vaddr = vaddr;
	ret_op->defs = written(ret_op);
	return true;
}

bool pp_op_writes_memory(const struct pp_op *op)
{
	return op->insn.operand_count && op->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       (op->operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

bool pp_op_writes_flags(const struct pp_op *op)
{
	const ZydisAccessedFlags *f = op->insn.cpu_flags;

	return f && ((f->modified | f->set_0 | f->set_1 | f->undefined) &
		     (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF));
}
