/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reading of numbers out of bytes that come from outside: .eh_frame, exception tables.
 *
 * A cursor cannot leave its bytes. A read past their end gives 0 and sets `bad`, which sticks, so
 * that callers look once, at the end of a record.
 *
 * Ownership: the bytes are the caller's. Source: Linux Standard Base 5.0, chapter 10.5 (pointer
 * encodings); DWARF 4, 7.6 (LEB128).
 */
#ifndef PP_CURSOR_H
#define PP_CURSOR_H

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pp_cursor {
	const uint8_t *base;
	size_t at, end;
	uint64_t vaddr; /* of base[0] */
	bool bad;
};

#define PP_ENCODING_FORMAT   0x0f
#define PP_ENCODING_RELATIVE 0x70

static inline uint64_t pp_cursor_take(struct pp_cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (c->bad || bytes > c->end - c->at) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->base + c->at, bytes);
	c->at += bytes;
	return value;
}

static inline void pp_cursor_skip(struct pp_cursor *c, uint64_t bytes)
{
	if (c->bad || bytes > c->end - c->at)
		c->bad = true;
	else
		c->at += bytes;
}

static inline uint64_t pp_cursor_take_signed(struct pp_cursor *c, size_t bytes)
{
	unsigned int unused = (unsigned int)(64 - 8 * bytes);

	return (uint64_t)((int64_t)(pp_cursor_take(c, bytes) << unused) >> unused);
}

/* Bits beyond the 64th are dropped. */
static inline uint64_t pp_cursor_take_leb(struct pp_cursor *c, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = pp_cursor_take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift = shift < 64 ? shift + 7 : shift;
	} while ((byte & 0x80) && !c->bad);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return value;
}

/* By the format of a DW_EH_PE_* encoding alone. */
static inline uint64_t pp_cursor_take_value(struct pp_cursor *c, uint8_t encoding)
{
	switch (encoding & PP_ENCODING_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return pp_cursor_take(c, 8);
	case DW_EH_PE_udata4:
		return pp_cursor_take(c, 4);
	case DW_EH_PE_sdata4:
		return pp_cursor_take_signed(c, 4);
	case DW_EH_PE_udata2:
		return pp_cursor_take(c, 2);
	case DW_EH_PE_sdata2:
		return pp_cursor_take_signed(c, 2);
	case DW_EH_PE_uleb128:
		return pp_cursor_take_leb(c, false);
	case DW_EH_PE_sleb128:
		return pp_cursor_take_leb(c, true);
	default:
		c->bad = true;
		return 0;
	}
}

/* A vaddr; a value of 0 stays 0, which stands for none. Linked files have these two kinds. */
static inline uint64_t pp_cursor_take_address(struct pp_cursor *c, uint8_t encoding)
{
	uint64_t here = c->vaddr + c->at;
	uint64_t value = pp_cursor_take_value(c, encoding);

	switch (encoding & (PP_ENCODING_RELATIVE | DW_EH_PE_indirect)) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return value ? here + value : 0;
	default:
		c->bad = true;
		return 0;
	}
}

#endif
