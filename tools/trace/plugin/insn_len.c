// SPDX-License-Identifier: GPL-2.0-or-later
/* See insn_len.h. */
#include "insn_len.h"

#include <stdbool.h>

enum map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

struct shape {
	const uint8_t *code;
	size_t len, at; /* bytes there are, bytes consumed */
	enum map map;
	uint8_t opcode;
	bool is_operand_16, is_address_32, is_wide;
};

/* Zero past the end: the length comes out too great then. */
static uint8_t next(struct shape *s)
{
	uint8_t byte = s->at < s->len ? s->code[s->at] : 0;

	s->at++;
	return byte;
}

static uint8_t read_prefixes(struct shape *s)
{
	for (;;) {
		uint8_t byte = next(s);

		switch (byte) {
		case 0x66:
			s->is_operand_16 = true;
			break;
		case 0x67:
			s->is_address_32 = true;
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
			s->is_wide = byte & 8;
			return next(s);
		default:
			return byte;
		}
	}
}

static void read_vex(struct shape *s, uint8_t first)
{
	uint8_t map = 1;

	if (first == 0xc4) {
		map = next(s) & 0x1f;
		s->is_wide = next(s) & 0x80;
	} else {
		next(s);
	}
	s->map = map == 2 ? MAP_0F38 : map == 3 ? MAP_0F3A : MAP_0F;
	s->opcode = next(s);
}

static void read_opcode(struct shape *s)
{
	s->opcode = read_prefixes(s);
	if (s->opcode == 0xc4 || s->opcode == 0xc5) {
		read_vex(s, s->opcode);
		return;
	}
	if (s->opcode != 0x0f)
		return;
	s->map = MAP_0F;
	s->opcode = next(s);
	if (s->opcode != 0x38 && s->opcode != 0x3a)
		return;
	s->map = s->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	s->opcode = next(s);
}

static bool has_modrm_0f(uint8_t opcode)
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
		return false;
	default:
		return true;
	}
}

static bool has_modrm(const struct shape *s)
{
	if (s->map == MAP_0F)
		return has_modrm_0f(s->opcode);
	if (s->map != MAP_ONE_BYTE)
		return true;
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
		return true;
	default:
		return false;
	}
}

/* The ModRM byte; SIB and displacement are consumed as well. */
static uint8_t read_modrm(struct shape *s)
{
	uint8_t modrm = next(s);
	uint8_t mod = modrm >> 6;
	uint8_t base = modrm & 7;

	if (mod == 3)
		return modrm;
	if (base == 4)
		base = next(s) & 7;
	if (mod == 1)
		s->at += 1;
	else if (mod == 2 || base == 5)
		s->at += 4;
	return modrm;
}

static size_t immediate_0f(uint8_t opcode)
{
	switch (opcode) {
	case 0x80 ... 0x8f:
		return 4;
	case 0x0f:
	case 0x70 ... 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4 ... 0xc6:
		return 1;
	default:
		return 0;
	}
}

static size_t immediate_one_byte(const struct shape *s, uint8_t modrm)
{
	size_t z = s->is_operand_16 ? 2 : 4;

	switch (s->opcode) {
	case 0x00 ... 0x3f:
		return (s->opcode & 7) == 4 ? 1 : (s->opcode & 7) == 5 ? z : 0;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
		return z;
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
		return s->is_wide ? 8 : z;
	case 0xa0 ... 0xa3:
		return s->is_address_32 ? 4 : 8;
	case 0xc2:
	case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0xf6:
		return (modrm >> 3 & 7) < 2 ? 1 : 0;
	case 0xf7:
		return (modrm >> 3 & 7) < 2 ? z : 0;
	default:
		return 0;
	}
}

size_t insn_len(const uint8_t *code, size_t len_bytes)
{
	struct shape s = {.code = code, .len = len_bytes};
	uint8_t modrm = 0;

	read_opcode(&s);
	if (s.at > len_bytes)
		return 0;
	if (has_modrm(&s))
		modrm = read_modrm(&s);
	if (s.map == MAP_ONE_BYTE)
		s.at += immediate_one_byte(&s, modrm);
	else if (s.map == MAP_0F)
		s.at += immediate_0f(s.opcode);
	else if (s.map == MAP_0F3A)
		s.at += 1;
	return s.at <= len_bytes ? s.at : 0;
}
