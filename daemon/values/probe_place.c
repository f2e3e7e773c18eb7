// SPDX-License-Identifier: GPL-2.0-or-later
/* See probe_place.h. The kernel emulates what its arch/x86/kernel/uprobes.c says. */
#include "probe_place.h"

#include <Zydis/Zydis.h>

#define LOOK_INSTRUCTIONS 16

/* An instruction with its operands. */
struct insn {
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const ZydisDecoder *decoder, const uint8_t *code, size_t len_bytes,
		   struct insn *ret_insn)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code, len_bytes, &ret_insn->head,
						   ret_insn->operands));
}

/* 90, with prefixes at most; not the pause that F3 makes of it. */
static bool is_short_nop(const ZydisDecodedInstruction *i)
{
	return i->mnemonic == ZYDIS_MNEMONIC_NOP && i->opcode == 0x90;
}

/* A push of a register, which REX.B alone may widen. */
static bool is_push(const ZydisDecodedInstruction *i, const uint8_t *code)
{
	return i->mnemonic == ZYDIS_MNEMONIC_PUSH && i->opcode >= 0x50 && i->opcode <= 0x57 &&
	       (i->length == 1 || (i->length == 2 && code[0] == 0x41));
}

/* jmp, jcc and call to a place that the instruction names. */
static bool is_direct_branch(const ZydisDecodedInstruction *i)
{
	return i->raw.imm[0].is_relative && (i->meta.category == ZYDIS_CATEGORY_COND_BR ||
					     i->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
					     i->meta.category == ZYDIS_CATEGORY_CALL);
}

/* Loops by count (E0 to E3) are not emulated. */
static bool is_emulated(const ZydisDecodedInstruction *i, const uint8_t *code)
{
	if (is_short_nop(i) || is_push(i, code))
		return true;
	return is_direct_branch(i) && !(i->opcode >= 0xe0 && i->opcode <= 0xe3) &&
	       !(i->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE);
}

/* Control may go elsewhere behind it, or anything may have happened to registers. */
static bool ends_line(const ZydisDecodedInstruction *i)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
		return true;
	default:
		return false;
	}
}

static ZydisRegister argument_register(uint32_t argument)
{
	static const ZydisRegister registers[PP_PROBE_ARGUMENT_MAX] = {
		ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
		ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,
	};

	return argument >= 1 && argument <= PP_PROBE_ARGUMENT_MAX ? registers[argument - 1]
								  : ZYDIS_REGISTER_NONE;
}

static bool writes(const struct insn *insn, ZydisRegister wanted)
{
	for (uint32_t i = 0; i < insn->head.operand_count; i++) {
		const ZydisDecodedOperand *o = &insn->operands[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) ==
			    wanted)
			return true;
	}
	return false;
}

/* Whether code from `from` on branches to a place in (0, to]: a probe there may be passed again. */
static bool comes_back(const ZydisDecoder *decoder, const uint8_t *code, size_t len_bytes,
		       uint32_t from, uint32_t to)
{
	struct insn insn;

	for (size_t at = from; at < len_bytes; at += insn.head.length) {
		ZyanU64 target = 0;

		if (!decode(decoder, code + at, len_bytes - at, &insn))
			return false;
		if (is_direct_branch(&insn.head) &&
		    ZYAN_SUCCESS(
			    ZydisCalcAbsoluteAddress(&insn.head, &insn.operands[0], at, &target)) &&
		    target > 0 && target <= to)
			return true;
	}
	return false;
}

uint32_t pp_probe_place(const uint8_t *code, size_t len_bytes, uint32_t argument,
			bool *ret_emulated)
{
	const ZydisRegister wanted = argument_register(argument);
	ZydisDecoder decoder;
	struct insn insn;
	uint32_t at = 0;

	*ret_emulated = false;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned int i = 0; i < LOOK_INSTRUCTIONS && at < len_bytes; i++) {
		if (!decode(&decoder, code + at, len_bytes - at, &insn))
			return 0;
		if (is_emulated(&insn.head, code + at)) {
			if (at && comes_back(&decoder, code, len_bytes, at, at))
				return 0;
			*ret_emulated = true;
			return at;
		}
		if (ends_line(&insn.head) || writes(&insn, wanted))
			return 0;
		at += insn.head.length;
	}
	return 0;
}
