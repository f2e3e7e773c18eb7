// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * From .eh_frame to rows: see pathprof/unwind.h. frames.c says which functions there are, and
 * libdw's interpreter which rules hold from where to where in each. Code that it leaves out, as
 * Go's linker does, may be in .debug_frame: symbols say which functions there are then.
 *
 * Workload: once a file, in a process apart: 10^4 rows take some 30 ms, 10^6 some seconds.
 */
#include "pathprof/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pp_code.h"

/* In the frame that the kernel leaves a handler, as glibc describes it: struct ucontext. */
#define SIGNAL_RSP 160
#define SIGNAL_RIP 168
#define PLT_OPS    9

struct builder {
	struct pathprof_code *code;
	Dwarf_CFI *cfi;
	uint64_t bias; /* vaddr = the CFI's address + bias */
	struct pathprof_unwind_table table;
	size_t room, max;
	uint64_t end; /* of the last function, a vaddr */
};

/* register + offset */
static bool is_sum(const Dwarf_Op *op, uint64_t *ret_register, int64_t *ret_offset)
{
	if (op->atom == DW_OP_bregx) {
		*ret_register = op->number;
		*ret_offset = (int64_t)op->number2;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*ret_register = op->atom - DW_OP_breg0;
		*ret_offset = (int64_t)op->number;
	} else {
		return false;
	}
	return true;
}

/* Saved at register + offset, by an expression; libdw puts the CFA on the stack before it. */
static bool is_at_register(const Dwarf_Op *ops, size_t op_cnt, uint64_t *ret_register,
			   int64_t *ret_offset)
{
	return op_cnt == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       is_sum(&ops[1], ret_register, ret_offset);
}

static bool is_at_rsp(const Dwarf_Op *ops, size_t op_cnt, int64_t offset)
{
	uint64_t reg;
	int64_t at;

	return is_at_register(ops, op_cnt, &reg, &at) && reg == PATHPROF_UNWIND_RSP && at == offset;
}

/* Whether the expression is the one of linkers for the PLT: rsp + 8 + ((rip & 15) >= N) * 8. */
static bool is_plt(const Dwarf_Op *ops, size_t op_cnt)
{
	static const uint8_t atoms[PLT_OPS] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					       DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};

	if (op_cnt != PLT_OPS || ops[0].number != 8 || ops[1].number != 0 ||
	    ops[4].atom < DW_OP_lit0 || ops[4].atom > DW_OP_lit15)
		return false;
	for (size_t i = 0; i < PLT_OPS; i++)
		if (atoms[i] && ops[i].atom != atoms[i])
			return false;
	return true;
}

static void set_cfa(struct pathprof_unwind_row *row, const Dwarf_Op *ops, size_t op_cnt)
{
	uint64_t reg = 0;
	int64_t offset = 0;

	row->rule = PATHPROF_UNWIND_TOO_HARD;
	if (is_plt(ops, op_cnt)) {
		row->rule = PATHPROF_UNWIND_PLT;
		row->cfa_offset = ops[4].atom - DW_OP_lit0;
		return;
	}
	if (op_cnt < 1 || op_cnt > 2 || !is_sum(ops, &reg, &offset) || reg >= PATHPROF_UNWIND_RIP ||
	    offset != (int32_t)offset)
		return;
	if (op_cnt == 2 && ops[1].atom != DW_OP_deref)
		return;
	row->rule = op_cnt == 1 ? PATHPROF_UNWIND_PLAIN : PATHPROF_UNWIND_MEMORY;
	row->registers = (uint8_t)reg;
	row->cfa_offset = (int32_t)offset;
}

/* Saved at CFA + offset. */
static bool is_at_cfa(const Dwarf_Op *ops, size_t op_cnt, int64_t *ret_offset)
{
	if (!op_cnt || op_cnt > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    (op_cnt == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*ret_offset = op_cnt == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

static void set_rbp(struct pathprof_unwind_row *row, Dwarf_Frame *frame)
{
	enum pathprof_unwind_rbp_rule rule = PATHPROF_UNWIND_RBP_LOST;
	Dwarf_Op memory[3], *ops = NULL;
	uint64_t reg = 0;
	int64_t offset = 0;
	size_t cnt = 0;

	if (dwarf_frame_register(frame, PATHPROF_UNWIND_RBP, memory, &ops, &cnt) == 0) {
		if (!cnt && !ops)
			rule = PATHPROF_UNWIND_RBP_SAME;
		else if (cnt && is_at_cfa(ops, cnt, &offset))
			rule = PATHPROF_UNWIND_RBP_AT_CFA;
		else if (is_at_register(ops, cnt, &reg, &offset) && reg == PATHPROF_UNWIND_RBP)
			rule = PATHPROF_UNWIND_RBP_AT_RBP;
	}
	if (offset != (int16_t)offset)
		rule = PATHPROF_UNWIND_RBP_LOST;
	row->rbp_offset = rule == PATHPROF_UNWIND_RBP_LOST ? 0 : (int16_t)offset;
	row->registers |= (uint8_t)(rule << 4);
}

/* Nearly always right under the CFA. */
static void set_return_address(struct pathprof_unwind_row *row, Dwarf_Frame *frame, bool signal)
{
	const uint8_t cfa_rule = row->rule;
	Dwarf_Op memory[3], *ops = NULL;
	int64_t offset = 0;
	size_t cnt = 0;

	row->rule = PATHPROF_UNWIND_TOO_HARD;
	if (dwarf_frame_register(frame, PATHPROF_UNWIND_RIP, memory, &ops, &cnt) != 0)
		return;
	if (!cnt && ops == memory)
		row->rule = PATHPROF_UNWIND_FIRST;
	else if (signal && is_at_rsp(ops, cnt, SIGNAL_RIP) && cfa_rule == PATHPROF_UNWIND_MEMORY &&
		 row->cfa_offset == SIGNAL_RSP)
		row->rule = PATHPROF_UNWIND_SIGNAL;
	else if (ops && is_at_cfa(ops, cnt, &offset) && offset == -8)
		row->rule = cfa_rule;
}

static bool is_same(const struct pathprof_unwind_row *a, const struct pathprof_unwind_row *b)
{
	return a->function == b->function && a->cfa_offset == b->cfa_offset &&
	       a->rbp_offset == b->rbp_offset && a->rule == b->rule && a->registers == b->registers;
}

static int append(struct builder *b, const struct pathprof_unwind_row *row)
{
	struct pathprof_unwind_table *table = &b->table;
	int r;

	if (table->row_cnt && is_same(&table->rows[table->row_cnt - 1], row))
		return 0;
	if (table->row_cnt >= b->max)
		return -E2BIG;
	r = pp_grow(&table->rows, table->row_cnt, &b->room);
	if (r == 0)
		table->rows[table->row_cnt++] = *row;
	return r;
}

/* vaddr's file offset, as rows have it. False: it has none. */
static bool place_of(const struct builder *b, uint64_t vaddr, uint32_t *ret_offset)
{
	uint64_t offset;

	if (pathprof_code_vaddr_to_offset(b->code, vaddr, &offset) < 0 || offset > UINT32_MAX)
		return false;
	*ret_offset = (uint32_t)offset;
	return true;
}

/* The rules at pc, and until where they hold; what libdw cannot read is too hard. */
static uint64_t add_rules(struct builder *b, const struct pp_frame *function, uint64_t pc,
			  struct pathprof_unwind_row *row)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops = NULL;
	Dwarf_Addr end = 0;
	size_t cnt = 0;

	row->rule = PATHPROF_UNWIND_TOO_HARD;
	if (dwarf_cfi_addrframe(b->cfi, pc - b->bias, &frame) != 0)
		return function->end;
	dwarf_frame_info(frame, NULL, &end, NULL);
	end += b->bias;
	if (dwarf_frame_cfa(frame, &ops, &cnt) == 0) {
		set_cfa(row, ops, cnt);
		set_return_address(row, frame, function->signal);
		set_rbp(row, frame);
	}
	free(frame);
	return end > pc && end < function->end ? end : function->end;
}

static int add_function(struct builder *b, const struct pp_frame *function)
{
	uint64_t pc = function->start;
	uint32_t start, at;
	int r = 0;

	if (!place_of(b, function->start, &start))
		return 0;
	while (r == 0 && pc < function->end && place_of(b, pc, &at)) {
		struct pathprof_unwind_row row = {.start = at, .function = start};

		pc = add_rules(b, function, pc, &row);
		r = append(b, &row);
	}
	b->end = function->end;
	return r;
}

/* From the end of a function to the next one there is padding, or code of which nothing is known.
 */
static int add_gap(struct builder *b, uint64_t until)
{
	struct pathprof_unwind_row row = {.rule = PATHPROF_UNWIND_NONE};

	/* the last byte: the end itself may lie in no segment */
	if (!b->table.row_cnt || until <= b->end || !place_of(b, b->end - 1, &row.start))
		return 0;
	row.start++;
	return append(b, &row);
}

/* A gap that begins where a function does comes behind it. */
static int by_start(const void *x, const void *y)
{
	const struct pathprof_unwind_row *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->rule == PATHPROF_UNWIND_NONE) - (b->rule == PATHPROF_UNWIND_NONE);
}

/* Segments may lie in a file in another order than in memory, or over one another. */
static void put_in_order(struct pathprof_unwind_table *table)
{
	size_t to = 0;

	if (table->row_cnt)
		qsort(table->rows, table->row_cnt, sizeof(table->rows[0]), by_start);
	for (size_t i = 0; i < table->row_cnt; i++)
		if (!to || table->rows[i].start > table->rows[to - 1].start)
			table->rows[to++] = table->rows[i];
	table->row_cnt = to;
}

/* The functions of .eh_frame. */
static int add_frames(struct builder *b)
{
	const struct pp_frame *functions;
	size_t cnt = pp_frames_all(b->code, &functions);
	int r = 0;

	for (size_t i = 0; i < cnt && r == 0; i++) {
		if (functions[i].start < b->end)
			continue;
		r = add_gap(b, functions[i].start);
		if (r == 0)
			r = add_function(b, &functions[i]);
	}
	return r == 0 ? add_gap(b, UINT64_MAX) : r;
}

/* Whether one of the first cnt rows, which are in order, has rules at vaddr. */
static bool has_rules(const struct builder *b, size_t cnt, uint64_t vaddr)
{
	const struct pathprof_unwind_table first = {b->table.rows, cnt};
	uint32_t at;

	return place_of(b, vaddr, &at) && pathprof_unwind_table_find(&first, at);
}

/* The functions of symbols that have no rules yet. */
static int add_symbols(struct builder *b)
{
	const struct pp_symbol *symbols;
	size_t cnt = pp_symbols_all(b->code, &symbols), known = b->table.row_cnt;
	int r = 0;

	b->end = 0;
	for (size_t i = 0; i < cnt && r == 0; i++) {
		const struct pp_frame function = {.start = symbols[i].start, .end = symbols[i].end};

		if (!symbols[i].sized || function.start < b->end ||
		    has_rules(b, known, function.start))
			continue;
		r = add_gap(b, function.start);
		if (r == 0)
			r = add_function(b, &function);
	}
	return r == 0 ? add_gap(b, UINT64_MAX) : r;
}

static int build_from_eh_frame(struct builder *b)
{
	int r;

	b->cfi = dwarf_getcfi_elf(b->code->elf);
	if (!b->cfi)
		return 0;
	r = add_frames(b);
	dwarf_cfi_end(b->cfi);
	put_in_order(&b->table);
	return r;
}

/* Only where there is one, for all other debugging information is opened with it. The debug file
 * may have been linked for another address, as that of a file that was prelinked. */
static int build_from_debug_frame(struct builder *b)
{
	struct pp_section section;
	Dwarf_Addr bias;
	int r;

	if (!pp_section_named(b->code, ".debug_frame", &section) || pp_dwfl_open_dwarf(b->code))
		return 0;
	b->cfi = dwfl_module_dwarf_cfi(b->code->module, &bias);
	if (!b->cfi)
		return 0;
	b->bias = bias - b->code->bias;
	r = add_symbols(b);
	put_in_order(&b->table);
	return r;
}

int pathprof_unwind_table_new(struct pathprof_unwind_table *ret_table, struct pathprof_code *code,
			      size_t row_max)
{
	struct builder builder = {.code = code, .max = row_max};
	int r;

	if (code->apart)
		return -EOPNOTSUPP;
	r = build_from_eh_frame(&builder);
	if (r == 0)
		r = build_from_debug_frame(&builder);
	if (r == 0 && !builder.table.row_cnt)
		r = -ENOENT;
	if (r < 0)
		pathprof_unwind_table_release(&builder.table);
	else
		*ret_table = builder.table;
	return r;
}

int pathprof_unwind_table_check(const struct pathprof_unwind_row *rows, size_t row_cnt)
{
	for (size_t i = 0; i < row_cnt; i++) {
		const struct pathprof_unwind_row *row = &rows[i];

		if ((i && row->start <= row[-1].start) || row->function > row->start ||
		    row->rule >= PATHPROF_UNWIND_RULE_CNT ||
		    row->registers >> 4 >= PATHPROF_UNWIND_RBP_RULE_CNT)
			return -EBADMSG;
	}
	return 0;
}

void pathprof_unwind_table_release(struct pathprof_unwind_table *table)
{
	free(table->rows);
	*table = (struct pathprof_unwind_table){0};
}

const struct pathprof_unwind_row *
pathprof_unwind_table_find(const struct pathprof_unwind_table *table, uint64_t offset)
{
	size_t low = pp_first(i, 0, table->row_cnt, table->rows[i].start > offset);

	if (!low || table->rows[low - 1].rule == PATHPROF_UNWIND_NONE)
		return NULL;
	return &table->rows[low - 1];
}
