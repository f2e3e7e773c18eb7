/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of a held thread as a burst reads it: pages of bytes, and each instruction decoded once.
 *
 * Workload: some hundred distinct instructions a burst, each asked for many times. Everything lies
 * in static tables that a new burst empties by raising a number; nothing is allocated. The
 * stepper's one thread owns it.
 *
 * Transfers and hazards are told by the core's decoder, which the module and the vectors share;
 * Zydis tells the length of all other instructions.
 */
#ifndef PP_STEP_CODE_H
#define PP_STEP_CODE_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define PP_STEP_PAGE_BYTES 4096
#define PP_STEP_INSN_BYTES 15

struct pp_step_insn {
	uint64_t pc;
	uint64_t target; /* of a direct transfer, else 0 */
	uint8_t kind;    /* enum pp_kind */
	uint8_t len;     /* bytes; 0: not known, so the code behind it cannot be read ahead */
	uint8_t hazard;  /* enum pp_hazard */
};

/* Reads len_bytes at address of the target; the bytes read, 0 or more. */
typedef size_t pp_step_read_fn(void *context, uint64_t address, void *to, size_t len_bytes);

struct pp_step_code;
/* The one table there is. A new burst: nothing read before counts any more. */
struct pp_step_code *pp_step_code_begin(pp_step_read_fn *read, void *context);
/* Never fails: an instruction that cannot be read has hazard PP_HAZARD_FETCH. */
const struct pp_step_insn *pp_step_code_at(struct pp_step_code *code, uint64_t pc);
/* Whether the bytes that were decoded are still there: code may be rewritten while it runs. */
bool pp_step_code_unchanged(struct pp_step_code *code);
/* Whether this burst has read a page of code in these len_bytes. */
bool pp_step_code_overlaps(const struct pp_step_code *code, uint64_t address, uint64_t len_bytes);
/* Whether it is the instruction `syscall`: other hazards of its kind enter the kernel elsewhere. */
bool pp_step_code_is_syscall(struct pp_step_code *code, const struct pp_step_insn *insn);
/* Whether it is `cpuid`: breakpoints may stand behind it, the trap flag may not be set in it. */
bool pp_step_code_is_cpuid(struct pp_step_code *code, const struct pp_step_insn *insn);

/* Memory of the target, past the cache; the bytes read. */
size_t pp_step_code_read(struct pp_step_code *code, uint64_t address, void *to, size_t len_bytes);
/* The instruction with its operands (room for ZYDIS_MAX_OPERAND_COUNT). False: Zydis refuses it. */
bool pp_step_code_operands(struct pp_step_code *code, const struct pp_step_insn *insn,
			   ZydisDecodedInstruction *ret_insn, ZydisDecodedOperand *ret_operands);

/*
 * Finds where a conditional or indirect branch leads, given the registers in front of it: its
 * successor, read from flags, registers and memory. False: it cannot be told (an address-size
 * prefix, memory that cannot be read).
 */
bool pp_step_decide(struct pp_step_code *code, const struct pp_step_insn *insn,
		    const struct user_regs_struct *regs, uint64_t *ret_next);

#endif
