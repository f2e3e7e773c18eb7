// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The text of one instruction, by Zydis, in Intel syntax. The target of a direct branch is written
 * as symbol, or symbol+distance, or else as file offset.
 *
 * Workload: listings, some thousand instructions at a time.
 */
#include "pp_code.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../core/pp_insn_len.h"
#include "pp_code_apart.h"
#include "pp_insn.h"

/* Takes only the length of instructions that are newer than Zydis. */
static int read_form(const uint8_t *bytes, size_t len, ZydisDecodedInstruction *ret_insn)
{
	memset(ret_insn, 0, sizeof(*ret_insn));
	ret_insn->length = (uint8_t)pp_insn_len_by_form(bytes, (uint32_t)len);
	return ret_insn->length ? (int)len : -ENOEXEC;
}

int pp_insn_read(struct pathprof_code *code, uint64_t vaddr, uint8_t bytes[PP_INSN_BYTES],
		 ZydisDecodedInstruction *ret_insn, ZydisDecodedOperand *operands)
{
	size_t len = pp_elf_read(code, vaddr, bytes, PP_INSN_BYTES);
	ZydisDecoder decoder;
	ZydisDecoderContext context;

	if (!len)
		return -ERANGE;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, &context, bytes, len, ret_insn)))
		return read_form(bytes, len, ret_insn);
	if (operands && ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder, &context, ret_insn,
							       operands, ret_insn->operand_count)))
		return -ENOEXEC;
	return (int)len;
}

uint32_t pp_insn_length(struct pathprof_code *code, uint64_t offset)
{
	uint8_t bytes[PP_INSN_BYTES];
	ZydisDecodedInstruction insn;
	uint64_t vaddr;

	if (code->apart)
		return pp_apart_length(code, offset);
	if (pathprof_code_offset_to_vaddr(code, offset, &vaddr) ||
	    pp_insn_read(code, vaddr, bytes, &insn, NULL) < 0)
		return 0;
	return insn.length;
}

/* Writes the name of a direct branch's target, for the text of the branch. */
static void name_target(struct pathprof_code *code, uint64_t vaddr, char *text, size_t text_size)
{
	const char *name = NULL;
	uint64_t offset, start;

	if (pathprof_code_vaddr_to_offset(code, vaddr, &offset))
		snprintf(text, text_size, "outside");
	else if (pathprof_code_function(code, offset, &name, &start) || !name)
		snprintf(text, text_size, "0x%" PRIx64, offset);
	else if (start == offset)
		snprintf(text, text_size, "%s", name);
	else
		snprintf(text, text_size, "%s+0x%" PRIx64, name, offset - start);
}

static void format_branch(struct pathprof_code *code, const ZydisDecodedInstruction *insn,
			  uint64_t vaddr, char *text, size_t text_size)
{
	uint64_t target = vaddr + insn->length + (uint64_t)insn->raw.imm[0].value.s;
	const char *bnd = insn->attributes & ZYDIS_ATTRIB_HAS_BND ? "bnd " : "";
	char name[512];

	name_target(code, target, name, sizeof(name));
	snprintf(text, text_size, "%s%s %s", bnd, ZydisMnemonicGetString(insn->mnemonic), name);
}

static int format_other(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			uint64_t vaddr, char *text, size_t text_size)
{
	char line[256];
	ZydisFormatter formatter;

	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, insn, operands,
							insn->operand_count_visible, line,
							sizeof(line), vaddr, NULL)))
		return -ENOEXEC;
	snprintf(text, text_size, "%s", line);
	return 0;
}

/* Writes the bytes as a directive of the assembler. */
static void format_bytes(const uint8_t *bytes, uint32_t len, char *text, size_t text_size)
{
	size_t at = 0;

	for (uint32_t i = 0; i < len && at < text_size; i++)
		at += (size_t)snprintf(text + at, text_size - at, "%s0x%02x", i ? "," : ".byte ",
				       bytes[i]);
}

int pathprof_code_instruction(struct pathprof_code *code, uint64_t offset, char *text,
			      size_t text_size, unsigned int *ret_len_bytes)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	uint8_t bytes[PP_INSN_BYTES];
	uint64_t vaddr;
	int r;

	if (code->apart)
		return pp_apart_instruction(code, offset, text, text_size, ret_len_bytes);
	if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
		return -ERANGE;
	r = pp_insn_read(code, vaddr, bytes, &insn, operands);
	if (r < 0)
		return r;
	if (insn.mnemonic == ZYDIS_MNEMONIC_INVALID)
		format_bytes(bytes, insn.length, text, text_size);
	else if (insn.raw.imm[0].is_relative)
		format_branch(code, &insn, vaddr, text, text_size);
	else if ((r = format_other(&insn, operands, vaddr, text, text_size)) < 0)
		return r;
	*ret_len_bytes = insn.length;
	return 0;
}
