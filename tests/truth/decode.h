/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracles' decoder: each instruction of a stopped program once, by Zydis; and what hides the
 * trap flag from the program. Shares nothing with the hand-made decoder that it is held against.
 *
 * Workload: up to some hundred thousand distinct instructions, found by address in an open table;
 * the code must not change. One thread; the table belongs to the caller.
 */
#ifndef TRUTH_DECODE_H
#define TRUTH_DECODE_H

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <linux/perf_event.h>

#include "pathprof/abi.h"

#define DECODE_SLOTS (1u << 18)
#define EFLAGS_TF    0x100

/* LOSES_TRAP: hypervisors run it, and the trap behind it may come an instruction later. */
enum special { PLAIN, PUSHES_FLAGS, CALLS_KERNEL, REPEATS, LOSES_TRAP };

struct decoded {
	__u64 pc; /* 0: free */
	__u64 target;
	__u32 kind; /* 0: no branch */
	__u32 len_bytes;
	enum special special;
};

struct decode {
	ZydisDecoder decoder;
	struct decoded *slots; /* DECODE_SLOTS, zeroed */
};

static inline __u32 decode_kind(const ZydisDecodedInstruction *insn,
				const ZydisDecodedOperand *operands)
{
	int direct = operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return PERF_BR_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? PERF_BR_UNCOND : PERF_BR_IND;
	case ZYDIS_CATEGORY_CALL:
		return direct ? PERF_BR_CALL : PERF_BR_IND_CALL;
	case ZYDIS_CATEGORY_RET:
		return PERF_BR_RET;
	default:
		return 0;
	}
}

static inline enum special decode_special(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return PUSHES_FLAGS;
	case ZYDIS_MNEMONIC_SYSCALL:
		return CALLS_KERNEL;
	case ZYDIS_MNEMONIC_CPUID:
		return LOSES_TRAP;
	default:
		return insn->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
					   ZYDIS_ATTRIB_HAS_REPNE)
			       ? REPEATS
			       : PLAIN;
	}
}

static inline void decode_insn(const struct decode *decode, pid_t pid, __u64 pc,
			       struct decoded *ret_decoded)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	unsigned char code[16];
	ZyanU64 target;
	size_t first = 4096 - pc % 4096 < 16 ? 4096 - pc % 4096 : 16;
	struct iovec local = {code, 16};
	struct iovec remote[2] = {{(void *)pc, first}, {(void *)(pc + first), 16 - first}};
	ssize_t got = process_vm_readv(pid, &local, 1, remote, 2, 0);

	*ret_decoded = (struct decoded){.pc = pc};
	if (got <= 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decode->decoder, code, (ZyanUSize)got,
							     &insn, operands)))
		return;
	ret_decoded->kind = decode_kind(&insn, operands);
	ret_decoded->len_bytes = insn.length;
	ret_decoded->special = decode_special(&insn);
	if (ret_decoded->kind && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    ret_decoded->kind != PERF_BR_RET &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &operands[0], pc, &target)))
		ret_decoded->target = target;
}

/* The instruction at pc of a stopped process. */
static inline const struct decoded *decode_look_up(struct decode *decode, pid_t pid, __u64 pc)
{
	__u32 slot = (__u32)(pc * 0x9e3779b97f4a7c15ull >> 46);

	while (decode->slots[slot].pc && decode->slots[slot].pc != pc)
		slot = (slot + 1) % DECODE_SLOTS;
	if (!decode->slots[slot].pc)
		decode_insn(decode, pid, pc, &decode->slots[slot]);
	return &decode->slots[slot];
}

/* Whether the step of insn ran the instruction behind it as well: its own trap never came. */
static inline int decode_lost_trap(const struct decoded *insn, __u64 next)
{
	return insn->special == LOSES_TRAP && next != insn->pc + insn->len_bytes;
}

static inline int decode_init(struct decode *decode)
{
	decode->slots = calloc(DECODE_SLOTS, sizeof(*decode->slots));
	if (!decode->slots)
		return -ENOMEM;
	ZydisDecoderInit(&decode->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return 0;
}

/* Takes the trap flag that the step before left out of sight again. */
static inline void decode_hide(pid_t pid, enum special special, struct user_regs_struct *regs)
{
	errno = 0;
	if (special == PUSHES_FLAGS) {
		long top = ptrace(PTRACE_PEEKDATA, pid, regs->rsp, NULL);

		ptrace(PTRACE_POKEDATA, pid, regs->rsp, top & ~(long)EFLAGS_TF);
	} else if (special == CALLS_KERNEL && regs->rcx == regs->rip && regs->r11 & EFLAGS_TF) {
		/* Behind rt_sigreturn both are the program's own again. */
		regs->r11 &= ~(__u64)EFLAGS_TF;
		ptrace(PTRACE_SETREGS, pid, NULL, regs);
	}
}

#endif
