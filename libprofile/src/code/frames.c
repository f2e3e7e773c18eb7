// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Function bounds from .eh_frame, which even stripped binaries keep.
 *
 * Workload: read once a handle, when the first offset without a symbol is asked for (cc1: 40,000
 * functions), then searched. The section comes from outside: a cursor that cannot leave it reads
 * everything. A record that would leave it ends the reading with what was found before; one that is
 * damaged within is passed over.
 *
 * Source: Linux Standard Base 5.0, chapter 10.6 (.eh_frame); System V ABI for x86-64, 4.2.4.
 */
#include "pp_code.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vector.h"

#define RSP 7
#define RIP 16 /* the column of the return address */
/* No compiler writes a longer beginning of a CIE. Functions that use two of them in turn would have
 * one read again each. */
#define CIE_BYTES_MAX 256

/* The properties that a CIE gives its functions. */
struct cie {
	size_t at; /* in the section */
	uint8_t address_encoding, exceptions_encoding;
	bool has_length; /* augmentation data have a length before them */
	bool signal, valid;
};

/* Reads an augmentation "zPLR..." up to the first unknown letter. */
static void read_augmentation(struct pp_cursor *c, const char *augmentation, struct cie *cie)
{
	if (*augmentation != 'z')
		return;
	cie->has_length = true;
	pp_cursor_take_leb(c, false);
	while (*++augmentation && !c->bad) {
		if (*augmentation == 'R')
			cie->address_encoding = (uint8_t)pp_cursor_take(c, 1);
		else if (*augmentation == 'P')
			pp_cursor_take_value(c, (uint8_t)pp_cursor_take(c, 1));
		else if (*augmentation == 'L')
			cie->exceptions_encoding = (uint8_t)pp_cursor_take(c, 1);
		else if (*augmentation == 'S')
			cie->signal = true;
		else if (*augmentation != 'B')
			return;
	}
}

/* c stands behind the id field of a CIE. */
static void read_cie(struct pp_cursor *c, struct cie *cie)
{
	uint8_t version = (uint8_t)pp_cursor_take(c, 1);
	const char *augmentation = (const char *)c->base + c->at;

	if (c->end - c->at > CIE_BYTES_MAX)
		c->end = c->at + CIE_BYTES_MAX;
	while (pp_cursor_take(c, 1) && !c->bad)
		;
	if (c->bad)
		return;
	pp_cursor_take_leb(c, false);
	pp_cursor_take_leb(c, true);
	if (version == 1)
		pp_cursor_take(c, 1);
	else
		pp_cursor_take_leb(c, false);
	read_augmentation(c, augmentation, cie);
	cie->valid = !c->bad;
}

/* A record's extent: c gets its contents, *ret_next the place of the one after it. */
static bool open_record(const struct pp_cursor *section, size_t at, struct pp_cursor *c,
			size_t *ret_next)
{
	uint64_t len;

	*c = *section;
	c->at = at;
	len = pp_cursor_take(c, 4);
	if (len == 0xffffffff)
		len = pp_cursor_take(c, 8);
	if (c->bad || len > c->end - c->at)
		return false;
	c->end = c->at + len;
	*ret_next = c->end;
	return true;
}

static struct cie open_cie(const struct pp_cursor *section, size_t at)
{
	struct cie cie = {
		.at = at,
		.address_encoding = DW_EH_PE_absptr,
		.exceptions_encoding = DW_EH_PE_omit,
	};
	struct pp_cursor c;
	size_t next;

	if (at < section->end && open_record(section, at, &c, &next) && pp_cursor_take(&c, 4) == 0)
		read_cie(&c, &cie);
	return cie;
}

/* How the canonical frame address is computed, and whether a register was saved. */
struct frame_rules {
	uint64_t reg, offset;
	bool computed, saved;
};

static void save_register(struct frame_rules *rules, uint64_t reg)
{
	rules->saved |= reg != RIP;
}

/* Takes an instruction whose operand is not in its opcode. False: behind the function's first
 * instruction. */
static bool apply_extended(struct pp_cursor *c, uint8_t op, struct frame_rules *rules)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		return true;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_GNU_args_size:
		pp_cursor_take_leb(c, false);
		return true;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		rules->reg = pp_cursor_take_leb(c, false);
		rules->offset = pp_cursor_take_leb(c, op == DW_CFA_def_cfa_sf);
		return true;
	case DW_CFA_def_cfa_register:
		rules->reg = pp_cursor_take_leb(c, false);
		return true;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		rules->offset = pp_cursor_take_leb(c, op == DW_CFA_def_cfa_offset_sf);
		return true;
	case DW_CFA_def_cfa_expression:
		rules->computed = true;
		pp_cursor_skip(c, pp_cursor_take_leb(c, false));
		return true;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_register:
		save_register(rules, pp_cursor_take_leb(c, false));
		pp_cursor_take_leb(c, false);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		save_register(rules, pp_cursor_take_leb(c, false));
		pp_cursor_skip(c, pp_cursor_take_leb(c, false));
		return true;
	default: /* advances, or is not known */
		return false;
	}
}

/*
 * Whether the rules that hold at the first instruction are others than those of a function that was
 * just called (CFA = rsp + 8, no register saved). c holds the instructions of an FDE.
 */
static bool begins_set_up(struct pp_cursor *c)
{
	struct frame_rules rules = {.reg = RSP, .offset = 8};

	while (c->at < c->end && !c->bad) {
		uint8_t op = (uint8_t)pp_cursor_take(c, 1);

		if ((op & 0xc0) == DW_CFA_advance_loc)
			break;
		if ((op & 0xc0) == DW_CFA_offset) {
			save_register(&rules, op & 0x3f);
			pp_cursor_take_leb(c, false);
		} else if ((op & 0xc0) == 0 && !apply_extended(c, op, &rules)) {
			break;
		}
	}
	return !c->bad && (rules.reg != RSP || rules.offset != 8 || rules.computed || rules.saved);
}

/* c stands behind the bounds of an FDE. Damaged bytes there leave the bounds as they are. */
static void read_details(struct pp_cursor *c, const struct cie *cie, struct pp_frame *frame)
{
	size_t instructions;
	uint64_t len;

	if (cie->has_length) {
		len = pp_cursor_take_leb(c, false);
		if (c->bad || len > c->end - c->at)
			return;
		instructions = c->at + len;
		if (cie->exceptions_encoding != DW_EH_PE_omit)
			frame->exceptions = pp_cursor_take_address(c, cie->exceptions_encoding);
		if (c->bad)
			frame->exceptions = 0;
		c->bad = false;
		c->at = instructions;
	}
	frame->signal = cie->signal;
	frame->set_up = begins_set_up(c);
}

/* Many functions share a CIE, mostly the one before them: *cie is that one, valid or not. */
static bool read_fde(const struct pp_cursor *section, struct pp_cursor *c, struct cie *cie,
		     struct pp_frame *ret_frame)
{
	size_t here = c->at;
	uint64_t back = pp_cursor_take(c, 4);

	if (c->bad || !back || back > here)
		return false;
	if (cie->at != here - back)
		*cie = open_cie(section, here - back);
	if (!cie->valid || cie->address_encoding == DW_EH_PE_omit)
		return false;
	uint64_t start = pp_cursor_take_address(c, cie->address_encoding);
	uint64_t len = pp_cursor_take_value(c, cie->address_encoding & 0x07);
	if (c->bad || !len || len > UINT64_MAX - start)
		return false;
	*ret_frame = (struct pp_frame){.start = start, .end = start + len};
	read_details(c, cie, ret_frame);
	return true;
}

static bool append(struct pathprof_code *code, size_t *room, const struct pp_frame *frame)
{
	if (pp_grow(&code->frames, code->frame_cnt, room) < 0)
		return false;
	code->frames[code->frame_cnt++] = *frame;
	return true;
}

static int by_start(const void *x, const void *y)
{
	const struct pp_frame *a = x, *b = y;

	return (a->start > b->start) - (a->start < b->start);
}

static void read_frames(struct pathprof_code *code, const struct pp_cursor *section)
{
	struct cie cie = {.at = SIZE_MAX};
	size_t at = 0, next, room = 0;
	struct pp_frame frame;
	struct pp_cursor c;

	while (at < section->end && open_record(section, at, &c, &next)) {
		if (read_fde(section, &c, &cie, &frame) && !append(code, &room, &frame))
			break;
		at = next;
	}
	if (code->frame_cnt)
		qsort(code->frames, code->frame_cnt, sizeof(code->frames[0]), by_start);
}

static void need_frames(struct pathprof_code *code)
{
	struct pp_section section;
	struct pp_cursor bytes;

	if (code->frames_state != PP_LAZY_NOT_YET)
		return;
	code->frames_state = PP_LAZY_THERE;
	if (pp_section_named(code, ".eh_frame", &section) && pp_section_open(&section, &bytes))
		read_frames(code, &bytes);
}

size_t pp_frames_all(struct pathprof_code *code, const struct pp_frame **ret_frames)
{
	need_frames(code);
	*ret_frames = code->frames;
	return code->frame_cnt;
}

const struct pp_frame *pp_frames_find(struct pathprof_code *code, uint64_t vaddr)
{
	size_t low;

	need_frames(code);
	low = pp_first(i, 0, code->frame_cnt, code->frames[i].start > vaddr);
	if (!low || vaddr >= code->frames[low - 1].end)
		return NULL;
	return &code->frames[low - 1];
}
