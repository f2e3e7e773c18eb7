/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Reading one instruction of a file with Zydis. */
#ifndef PP_INSN_H
#define PP_INSN_H

#include <Zydis/Zydis.h>
#include <stdint.h>

#include "pp_code.h"

#define PP_INSN_BYTES ZYDIS_MAX_INSTRUCTION_LENGTH

/*
 * Decodes the instruction at vaddr; operands (NULL: not wanted) holds ZYDIS_MAX_OPERAND_COUNT.
 * bytes[0..returned) are the file's, possibly more than the instruction has. -ERANGE outside code,
 * -ENOEXEC when undecodable or cut off. If Zydis does not know the instruction but its form tells
 * its length, ret_insn has the length and ZYDIS_MNEMONIC_INVALID, and there are no operands.
 */
int pp_insn_read(struct pathprof_code *code, uint64_t vaddr, uint8_t bytes[PP_INSN_BYTES],
		 ZydisDecodedInstruction *ret_insn, ZydisDecodedOperand *operands);

/* The length of the instruction at a file offset; 0: there is none. */
uint32_t pp_insn_length(struct pathprof_code *code, uint64_t offset);

#endif
