/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * How long an x86-64 instruction is, by its form: prefixes, opcode map, ModRM and immediate. The
 * operation need not be known, so instructions of future processors have a length as well.
 *
 * Workload: instructions that the decoding library does not know, and the few near a page's end.
 *
 * Locking and ownership: none; pure functions over the caller's bytes. Any context.
 *
 * Source: Intel SDM volume 2, chapter 2 and appendix A (opcode maps, ModRM and immediate columns);
 * Intel APX architecture specification (REX2, EVEX map 4); AMD64 manual volume 6 (XOP).
 */
#ifndef PP_INSN_LEN_H
#define PP_INSN_LEN_H

#include "pp_types.h"

enum pp_len_map {
	PP_MAP_ONE_BYTE,
	PP_MAP_0F,
	PP_MAP_0F38, /* no immediate; this and all later ones: ModRM */
	PP_MAP_0F3A, /* ModRM, a byte of immediate */
	PP_MAP_4,    /* EVEX: what the one-byte map and 0F have, with more registers */
	PP_MAP_7,    /* ModRM, four bytes of immediate */
};

struct pp_shape {
	const __u8 *code;
	__u32 len, at; /* bytes there are, bytes consumed */
	__u32 map;     /* enum pp_len_map */
	__u32 opcode;
	__u8 is_operand_16, is_address_32, is_wide;
	__u8 is_vector; /* VEX, EVEX, XOP: all but vzeroupper have a ModRM byte */
	__u8 is_rex2;
	__u8 is_regular; /* of a form where the opcode does not matter; see pp_insn_len_by_form() */
};

/* Zero past the end: the length comes out too great then. */
PP_INLINE __u32 pp_len_next(struct pp_shape *s)
{
	__u32 i = s->at++;

	return i < s->len ? s->code[i] : 0;
}

/* ---------------------------------------------------------------- prefixes and opcode */

PP_INLINE __u32 pp_len_prefixes(struct pp_shape *s)
{
	int i;

	PP_NO_UNROLL
	for (i = 0; i < 16; i++) {
		__u32 byte = pp_len_next(s);

		switch (byte) {
		case 0x66:
			s->is_operand_16 = 1;
			break;
		case 0x67:
			s->is_address_32 = 1;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		case 0x40 ... 0x4f:
			s->is_wide = (byte & 8) != 0;
			return pp_len_next(s);
		default:
			return byte;
		}
	}
	return 0;
}

/* By the number that VEX and EVEX give a map. 0 and those without instructions: not regular. */
PP_INLINE void pp_len_vector_map(struct pp_shape *s, __u32 map)
{
	s->is_vector = 1;
	s->is_regular = map >= 1 && map <= 7;
	s->map = map == 1   ? PP_MAP_0F
		 : map == 3 ? PP_MAP_0F3A
		 : map == 4 ? PP_MAP_4
		 : map == 7 ? PP_MAP_7
			    : PP_MAP_0F38;
}

PP_INLINE void pp_len_vex(struct pp_shape *s, __u32 first)
{
	__u32 map = 1;

	if (first == 0xc4) {
		map = pp_len_next(s) & 0x1f;
		pp_len_next(s);
	} else {
		pp_len_next(s);
	}
	pp_len_vector_map(s, map);
	if (map == 4)
		s->is_regular = 0;
	s->opcode = pp_len_next(s);
	/* The mask jumps of Knights Corner. */
	if (map == 1 && (s->opcode & 0xf0) == 0x80)
		s->is_regular = 0;
}

PP_INLINE void pp_len_evex(struct pp_shape *s)
{
	__u32 payload;

	pp_len_vector_map(s, pp_len_next(s) & 7);
	payload = pp_len_next(s);
	s->is_wide = payload >> 7;
	s->is_operand_16 = (payload & 3) == 1;
	pp_len_next(s);
	s->opcode = pp_len_next(s);
}

/* 8F with a map of 8 to 10; else it is pop. */
PP_INLINE __u32 pp_len_xop(struct pp_shape *s)
{
	__u32 map = (s->at < s->len ? s->code[s->at] : 0) & 0x1f;

	if (map < 8 || map > 10)
		return 0;
	s->is_vector = s->is_regular = 1;
	s->map = map == 8 ? PP_MAP_0F3A : map == 9 ? PP_MAP_0F38 : PP_MAP_7;
	s->at += 2;
	s->opcode = pp_len_next(s);
	return 1;
}

/* Legacy instructions with 32 registers. Some rows of the maps are no instructions there. */
PP_INLINE void pp_len_rex2(struct pp_shape *s)
{
	__u32 payload = pp_len_next(s), row;

	s->is_rex2 = 1;
	s->is_wide = (payload & 8) != 0;
	s->map = payload & 0x80 ? PP_MAP_0F : PP_MAP_ONE_BYTE;
	s->opcode = pp_len_next(s);
	row = s->opcode >> 4;
	if (s->map == PP_MAP_0F)
		s->is_regular = row != 3 && row != 8;
	else
		s->is_regular =
			(row != 4 && row != 7 && row != 10 && row != 14 && s->opcode != 0x0f) ||
			s->opcode == 0xa1;
}

PP_INLINE void pp_len_map_0f(struct pp_shape *s)
{
	s->map = PP_MAP_0F;
	s->opcode = pp_len_next(s);
	s->is_regular = s->opcode == 0x01;
	if (s->opcode != 0x38 && s->opcode != 0x3a)
		return;
	s->map = s->opcode == 0x38 ? PP_MAP_0F38 : PP_MAP_0F3A;
	s->is_regular = 1;
	s->opcode = pp_len_next(s);
}

PP_INLINE void pp_len_opcode(struct pp_shape *s)
{
	s->opcode = pp_len_prefixes(s);
	switch (s->opcode) {
	case 0x0f:
		pp_len_map_0f(s);
		return;
	case 0x62:
		pp_len_evex(s);
		return;
	case 0x8f:
		pp_len_xop(s);
		return;
	case 0xc4:
	case 0xc5:
		pp_len_vex(s, s->opcode);
		return;
	case 0xd5:
		pp_len_rex2(s);
		return;
	default:
		return;
	}
}

/* ---------------------------------------------------------------- ModRM */

PP_INLINE __u32 pp_len_has_modrm_0f(__u32 opcode)
{
	switch (opcode) {
	case 0x05 ... 0x09:
	case 0x0b:
	case 0x0e:
	case 0x30 ... 0x37:
	case 0x77:
	case 0x80 ... 0x8f:
	case 0xa0 ... 0xa2:
	case 0xa8 ... 0xaa:
	case 0xc8 ... 0xcf:
		return 0;
	default:
		return 1;
	}
}

PP_INLINE __u32 pp_len_has_modrm(const struct pp_shape *s)
{
	if (s->is_vector)
		return s->map != PP_MAP_0F || s->opcode != 0x77;
	if (s->map == PP_MAP_0F)
		return pp_len_has_modrm_0f(s->opcode);
	if (s->map != PP_MAP_ONE_BYTE)
		return 1;
	switch (s->opcode) {
	case 0x00 ... 0x3f:
		return (s->opcode & 7) < 4;
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x80 ... 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0 ... 0xd3:
	case 0xd8 ... 0xdf:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return 1;
	default:
		return 0;
	}
}

/* The ModRM byte; SIB and displacement are consumed as well. */
PP_INLINE __u32 pp_len_modrm(struct pp_shape *s)
{
	__u32 modrm = pp_len_next(s);
	__u32 mod = modrm >> 6;
	__u32 base = modrm & 7;

	if (mod == 3)
		return modrm;
	if (base == 4)
		base = pp_len_next(s) & 7;
	if (mod == 1)
		s->at += 1;
	else if (mod == 2 || base == 5)
		s->at += 4;
	return modrm;
}

/* ---------------------------------------------------------------- immediate */

/* The length of an immediate of the operand's size, which is at most four bytes. */
PP_INLINE __u32 pp_len_operand(const struct pp_shape *s)
{
	return s->is_operand_16 && !s->is_wide ? 2 : 4;
}

PP_INLINE __u32 pp_len_immediate_0f(const struct pp_shape *s)
{
	switch (s->opcode) {
	case 0x80 ... 0x8f:
		return s->is_vector ? 0 : 4;
	case 0x70 ... 0x73:
	case 0xc2:
	case 0xc4 ... 0xc6:
		return 1;
	case 0x0f:
	case 0xa4:
	case 0xac:
	case 0xba:
		return !s->is_vector;
	default:
		return 0;
	}
}

PP_INLINE __u32 pp_len_immediate_4(const struct pp_shape *s, __u32 modrm)
{
	switch (s->opcode) {
	case 0x24: /* shld */
	case 0x2c: /* shrd */
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xd4: /* sha1rnds4 */
		return 1;
	case 0x69:
	case 0x81:
		return pp_len_operand(s);
	case 0xf6:
		return (modrm >> 3 & 7) < 2 ? 1 : 0;
	case 0xf7:
		return (modrm >> 3 & 7) < 2 ? pp_len_operand(s) : 0;
	default:
		return 0;
	}
}

PP_INLINE __u32 pp_len_immediate_one_byte(const struct pp_shape *s, __u32 modrm)
{
	switch (s->opcode) {
	case 0x00 ... 0x3f:
		return (s->opcode & 7) == 4 ? 1 : (s->opcode & 7) == 5 ? pp_len_operand(s) : 0;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
		return pp_len_operand(s);
	case 0xe8:
	case 0xe9:
		return 4;
	case 0x6a:
	case 0x6b:
	case 0x70 ... 0x80:
	case 0x83:
	case 0xa8:
	case 0xb0 ... 0xb7:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xe0 ... 0xe7:
	case 0xeb:
		return 1;
	case 0xb8 ... 0xbf:
		return s->is_wide ? 8 : pp_len_operand(s);
	case 0xa0 ... 0xa3: /* with REX2: jmpabs */
		return s->is_address_32 && !s->is_rex2 ? 4 : 8;
	case 0xc2:
	case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0xf6:
		return (modrm >> 3 & 7) < 2 ? 1 : 0;
	case 0xf7:
		return (modrm >> 3 & 7) < 2 ? pp_len_operand(s) : 0;
	default:
		return 0;
	}
}

PP_INLINE __u32 pp_len_immediate(const struct pp_shape *s, __u32 modrm)
{
	switch (s->map) {
	case PP_MAP_ONE_BYTE:
		return pp_len_immediate_one_byte(s, modrm);
	case PP_MAP_0F:
		return pp_len_immediate_0f(s);
	case PP_MAP_0F3A:
		return 1;
	case PP_MAP_4:
		return pp_len_immediate_4(s, modrm);
	case PP_MAP_7:
		return 4;
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- lengths */

PP_INLINE __u32 pp_len_measure(struct pp_shape *s)
{
	__u32 modrm = 0;

	pp_len_opcode(s);
	if (s->at > s->len)
		return 0;
	if (pp_len_has_modrm(s))
		modrm = pp_len_modrm(s);
	s->at += pp_len_immediate(s, modrm);
	return s->at <= s->len ? s->at : 0;
}

PP_INLINE void pp_len_begin(struct pp_shape *s, const __u8 *code, __u32 len)
{
	const struct pp_shape empty = {0};

	*s = empty;
	s->code = code;
	s->len = len;
}

/* code[0..len), len 1 or more. 0 when more bytes are needed to be whole. */
PP_INLINE __u32 pp_insn_len(const __u8 *code, __u32 len)
{
	struct pp_shape s;

	pp_len_begin(&s, code, len);
	return pp_len_measure(&s);
}

/*
 * The same for forms whose opcodes all have one shape, or whose exceptions are listed above: VEX,
 * EVEX, XOP, REX2, 0F 38, 0F 3A and 0F 01. 0 for all other forms, and for an instruction that is
 * too long.
 */
PP_INLINE __u32 pp_insn_len_by_form(const __u8 *code, __u32 len)
{
	struct pp_shape s;
	__u32 whole;

	pp_len_begin(&s, code, len);
	whole = pp_len_measure(&s);
	return s.is_regular && whole <= 15 ? whole : 0;
}

#endif
