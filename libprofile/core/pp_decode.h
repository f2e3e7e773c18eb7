/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Classifies one x86-64 instruction: which control transfer it is, how long, where to; and whether
 * a thread may be stepped over it with the trap flag set.
 *
 * Workload: once for every single step of a burst, a few million a second; most instructions are
 * no transfer, so only transfers are measured to their end.
 *
 * Locking and ownership: none; pure functions over the caller's bytes.
 *
 * Source: Intel SDM volume 2, appendix A (opcode maps), read for 64-bit mode. Near branches under
 * an operand-size prefix are read as Intel's processors do (the prefix is ignored); AMD's truncate
 * to 16 bits, which no compiler emits. Knights Corner's VEX-coded jumps are unknown here. The one
 * new branch of APX is JMPABS, and REX2 may stand before indirect ones.
 */
#ifndef PP_DECODE_H
#define PP_DECODE_H

#include "pp_types.h"

/* Why a thread must not be stepped over an instruction: numbered as PATHPROF_END_* of abi.h. */
enum pp_hazard {
	PP_HAZARD_NONE = 0,
	PP_HAZARD_SYSCALL = 1, /* enters the kernel or a hypervisor, or may be run by one */
	PP_HAZARD_FLAGS = 2,
	PP_HAZARD_TRAP = 3,
	PP_HAZARD_FAR = 4,
	PP_HAZARD_SS = 5,
	PP_HAZARD_TSX = 6,
	PP_HAZARD_REP = 7,
	PP_HAZARD_FETCH = 8, /* cut off, or no instruction */
};

struct pp_insn {
	__u64 target; /* of a direct transfer, else 0 */
	__u32 kind;   /* enum pp_kind */
	__u32 len;    /* bytes, for a control transfer; 0 for everything else */
	__u32 hazard; /* enum pp_hazard */
	__u32 pad;
};

/* The processor refuses anything longer. */
#define PP_INSN_MAX 15

enum {
	PP_PREFIX_REP = 1,
	PP_PREFIX_LOCK = 2,
};

/* The position within an instruction. */
struct pp_decoder {
	const __u8 *code;
	__u64 pc;
	__u32 len; /* bytes that may be looked at, at most PP_INSN_MAX */
	__u32 at;  /* the next one */
	__u32 prefixes;
};

/* Zero past the end: who needs the byte to exist asks pp_decoder_has() first. */
PP_INLINE __u32 pp_decoder_peek(const struct pp_decoder *d, __u32 ahead)
{
	__u32 i = d->at + ahead;

	return i < d->len ? d->code[PP_MASK(i, 15)] : 0;
}

PP_INLINE int pp_decoder_has(const struct pp_decoder *d, __u32 bytes)
{
	return d->at + bytes <= d->len;
}

/* The bit of a prefix byte; 0 if it has no effect on a transfer, as REX; -1: it is no prefix. */
PP_INLINE int pp_decode_prefix(__u32 byte)
{
	switch (byte) {
	case 0xf2:
	case 0xf3:
		return PP_PREFIX_REP;
	case 0xf0:
		return PP_PREFIX_LOCK;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x40 ... 0x4f:
	case 0x64 ... 0x67:
		return 0;
	default:
		return -1;
	}
}

/* Leaves d at the opcode; if there is none, at the end. */
PP_INLINE void pp_decode_prefixes(struct pp_decoder *d)
{
	int i;

	PP_NO_UNROLL
	for (i = 0; i < PP_INSN_MAX; i++) {
		int prefix = pp_decode_prefix(pp_decoder_peek(d, 0));

		if (prefix < 0 || !pp_decoder_has(d, 1))
			return;
		d->prefixes |= (__u32)prefix;
		d->at++;
	}
}

/* A transfer with so many more bytes to come; LOCK before one is an invalid opcode. */
PP_INLINE __u32 pp_decode_end(const struct pp_decoder *d, __u32 kind, __u32 bytes,
			      struct pp_insn *insn)
{
	if (!pp_decoder_has(d, bytes) || (d->prefixes & PP_PREFIX_LOCK))
		return PP_HAZARD_FETCH;
	insn->kind = kind;
	insn->len = d->at + bytes;
	return PP_HAZARD_NONE;
}

PP_INLINE __u32 pp_decode_rel8(const struct pp_decoder *d, __u32 kind, struct pp_insn *insn)
{
	__u32 hazard = pp_decode_end(d, kind, 1, insn);

	if (!hazard)
		insn->target = d->pc + insn->len + (__u64)(__s64)(__s8)pp_decoder_peek(d, 0);
	return hazard;
}

PP_INLINE __u32 pp_decode_rel32(const struct pp_decoder *d, __u32 kind, struct pp_insn *insn)
{
	__u32 hazard = pp_decode_end(d, kind, 4, insn);
	__u32 rel = pp_decoder_peek(d, 0) | pp_decoder_peek(d, 1) << 8 |
		    pp_decoder_peek(d, 2) << 16 | pp_decoder_peek(d, 3) << 24;

	if (!hazard)
		insn->target = d->pc + insn->len + (__u64)(__s64)(__s32)rel;
	return hazard;
}

/* Bytes of the ModRM byte at d, its SIB byte and its displacement. */
PP_INLINE __u32 pp_decode_modrm_len(const struct pp_decoder *d)
{
	__u32 modrm = pp_decoder_peek(d, 0);
	__u32 mod = modrm >> 6;
	__u32 rm = modrm & 7;
	__u32 sib_len = mod != 3 && rm == 4;
	__u32 base = sib_len ? pp_decoder_peek(d, 1) & 7 : rm;

	if (mod == 1)
		return 2 + sib_len;
	if (mod == 2 || (mod == 0 && base == 5))
		return 5 + sib_len;
	return 1 + sib_len;
}

/* FF: inc, dec, call, far call, jmp, far jmp, push. */
PP_INLINE __u32 pp_decode_group5(const struct pp_decoder *d, struct pp_insn *insn)
{
	__u32 modrm = pp_decoder_peek(d, 0);

	if (!pp_decoder_has(d, 1))
		return PP_HAZARD_FETCH;
	switch (modrm >> 3 & 7) {
	case 2:
		return pp_decode_end(d, PP_KIND_ICALL, pp_decode_modrm_len(d), insn);
	case 4:
		return pp_decode_end(d, PP_KIND_IJMP, pp_decode_modrm_len(d), insn);
	case 3:
	case 5:
		return modrm >= 0xc0 ? PP_HAZARD_FETCH : PP_HAZARD_FAR;
	case 7:
		return PP_HAZARD_FETCH;
	default:
		return PP_HAZARD_NONE;
	}
}

/* Opcodes that are a hazard with some ModRM bytes only. */
PP_INLINE __u32 pp_decode_modrm_hazard(const struct pp_decoder *d, __u32 opcode)
{
	__u32 modrm = pp_decoder_peek(d, 0);

	if (!pp_decoder_has(d, 1))
		return PP_HAZARD_FETCH;
	if (opcode == 0x8e)
		return (modrm >> 3 & 7) == 2 ? PP_HAZARD_SS : PP_HAZARD_NONE;
	return modrm == 0xf8 ? PP_HAZARD_TSX : PP_HAZARD_NONE; /* xabort C6, xbegin C7 */
}

/*
 * If UMIP is on, sldt, str, sgdt, sidt and smsw fault, and the kernel emulates them and continues
 * behind them without a trap: the next instruction would be stepped over without having been looked
 * at. The same holds for cli and sti of a program that asked for I/O privileges.
 */
PP_INLINE __u32 pp_decode_group6(const struct pp_decoder *d)
{
	if (!pp_decoder_has(d, 1))
		return PP_HAZARD_FETCH;
	return (pp_decoder_peek(d, 0) >> 3 & 7) < 2 ? PP_HAZARD_SYSCALL : PP_HAZARD_NONE;
}

/*
 * 0F 01: instructions that UMIP blocks, calls of a hypervisor, the end of a transaction, and
 * transfers to an address that only the instruction knows. eretu and erets are clac with a REP
 * prefix.
 */
PP_INLINE __u32 pp_decode_group7(const struct pp_decoder *d)
{
	__u32 modrm = pp_decoder_peek(d, 0);

	if (!pp_decoder_has(d, 1))
		return PP_HAZARD_FETCH;
	/* smsw in any form, sgdt and sidt in memory */
	if ((modrm & 0x38) == 0x20 || (modrm < 0xc0 && (modrm & 0x30) == 0))
		return PP_HAZARD_SYSCALL;
	switch (modrm) {
	case 0xc1: /* vmcall */
	case 0xd9: /* vmmcall */
		return PP_HAZARD_SYSCALL;
	case 0xd5: /* xend */
		return PP_HAZARD_TSX;
	case 0xd7: /* enclu */
	case 0xec: /* uiret: pops the flags as well */
		return PP_HAZARD_FAR;
	case 0xca: /* eretu, erets */
		return d->prefixes & PP_PREFIX_REP ? PP_HAZARD_FAR : PP_HAZARD_NONE;
	default:
		return PP_HAZARD_NONE;
	}
}

/* The map behind 0F; d is after both bytes. */
PP_INLINE __u32 pp_decode_map_0f(const struct pp_decoder *d, __u32 opcode, struct pp_insn *insn)
{
	switch (opcode) {
	case 0x80 ... 0x8f:
		return pp_decode_rel32(d, PP_KIND_COND, insn);
	case 0x00:
		return pp_decode_group6(d);
	case 0x01:
		return pp_decode_group7(d);
	case 0x05: /* syscall */
	case 0x34: /* sysenter */
	case 0xa2: /* cpuid, which hypervisors run: some lose the trap behind it */
		return PP_HAZARD_SYSCALL;
	case 0x07: /* sysret */
	case 0x35: /* sysexit */
		return PP_HAZARD_FAR;
	case 0x0b: /* ud2 */
	case 0xb9: /* ud1 */
	case 0xff: /* ud0 */
		return PP_HAZARD_TRAP;
	case 0xb2: /* lss */
		return PP_HAZARD_SS;
	default:
		return PP_HAZARD_NONE;
	}
}

/* One-byte opcodes that are no transfer; those not named are harmless or begin VEX and the like. */
PP_INLINE __u32 pp_decode_other(const struct pp_decoder *d, __u32 opcode)
{
	switch (opcode) {
	case 0x9c: /* pushf */
	case 0x9d: /* popf */
		return PP_HAZARD_FLAGS;
	case 0xfa: /* cli */
	case 0xfb: /* sti */
		return PP_HAZARD_SYSCALL;
	case 0xcc ... 0xce: /* int3, int, into */
	case 0xf1:          /* int1 */
	case 0xf4:          /* hlt */
		return PP_HAZARD_TRAP;
	case 0xca:
	case 0xcb: /* far ret */
	case 0xcf: /* iret */
		return PP_HAZARD_FAR;
	case 0x17: /* pop ss */
		return PP_HAZARD_SS;
	case 0x8e:
	case 0xc6:
	case 0xc7:
		return pp_decode_modrm_hazard(d, opcode);
	case 0x6c ... 0x6f: /* ins, outs */
	case 0xa4 ... 0xa7: /* movs, cmps */
	case 0xaa ... 0xaf: /* stos, lods, scas */
		return d->prefixes & PP_PREFIX_REP ? PP_HAZARD_REP : PP_HAZARD_NONE;
	case 0x06:
	case 0x07:
	case 0x0e:
	case 0x16:
	case 0x1e:
	case 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60:
	case 0x61:
	case 0x82:
	case 0x9a:
	case 0xd4:
	case 0xd6:
	case 0xea: /* taken out of 64-bit mode */
		return PP_HAZARD_FETCH;
	default:
		return PP_HAZARD_NONE;
	}
}

/* The one-byte map; d is after the opcode. */
PP_INLINE __u32 pp_decode_one_byte(struct pp_decoder *d, __u32 opcode, struct pp_insn *insn)
{
	switch (opcode) {
	case 0x70 ... 0x7f: /* jcc */
	case 0xe0 ... 0xe3: /* loopne, loope, loop, jrcxz */
		return pp_decode_rel8(d, PP_KIND_COND, insn);
	case 0xe8:
		return pp_decode_rel32(d, PP_KIND_CALL, insn);
	case 0xe9:
		return pp_decode_rel32(d, PP_KIND_JMP, insn);
	case 0xeb:
		return pp_decode_rel8(d, PP_KIND_JMP, insn);
	case 0xc2:
		return pp_decode_end(d, PP_KIND_RET, 2, insn);
	case 0xc3:
		return pp_decode_end(d, PP_KIND_RET, 0, insn);
	case 0xff:
		return pp_decode_group5(d, insn);
	default:
		return pp_decode_other(d, opcode);
	}
}

/* jmpabs: an address of eight bytes. */
PP_INLINE __u32 pp_decode_jmpabs(const struct pp_decoder *d, struct pp_insn *insn)
{
	__u32 hazard = pp_decode_end(d, PP_KIND_JMP, 8, insn);
	int i;

	PP_NO_UNROLL
	for (i = 7; i >= 0 && !hazard; i--)
		insn->target = insn->target << 8 | pp_decoder_peek(d, (__u32)i);
	return hazard;
}

/* APX: a legacy opcode with 32 registers; d is after D5. No direct branch has it but jmpabs. */
PP_INLINE __u32 pp_decode_rex2(struct pp_decoder *d, struct pp_insn *insn)
{
	__u32 is_map_0f = pp_decoder_peek(d, 0) & 0x80;
	__u32 opcode = pp_decoder_peek(d, 1), row = opcode >> 4;

	if (!pp_decoder_has(d, 2))
		return PP_HAZARD_FETCH;
	d->at += 2;
	if (is_map_0f)
		return row == 3 || row == 8 ? PP_HAZARD_FETCH : pp_decode_map_0f(d, opcode, insn);
	if (opcode == 0xa1)
		return pp_decode_jmpabs(d, insn);
	return row == 4 || row == 7 || row == 0xa || row == 0xe || opcode == 0x0f
		       ? PP_HAZARD_FETCH
		       : pp_decode_one_byte(d, opcode, insn);
}

/* Behind the prefixes; d is after the first byte. */
PP_INLINE __u32 pp_decode_map(struct pp_decoder *d, __u32 opcode, struct pp_insn *insn)
{
	if (opcode == 0xd5)
		return pp_decode_rex2(d, insn);
	if (opcode != 0x0f)
		return pp_decode_one_byte(d, opcode, insn);
	if (!pp_decoder_has(d, 1))
		return PP_HAZARD_FETCH;
	opcode = pp_decoder_peek(d, 0);
	d->at++;
	return pp_decode_map_0f(d, opcode, insn);
}

/*
 * code[0..len), len 1..16, holds the bytes at address pc. Any context; pure.
 *
 * A transfer has hazard NONE. An instruction that is no transfer and is cut off behind the bytes
 * that identify it passes as whole: the step over it faults in the page it goes on in, or faults as
 * it would have without us.
 */
PP_INLINE void pp_decode(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	struct pp_decoder d;
	__u32 opcode;

	d.code = code;
	d.pc = pc;
	d.len = len < PP_INSN_MAX ? len : PP_INSN_MAX;
	d.at = 0;
	d.prefixes = 0;
	ret_insn->target = 0;
	ret_insn->kind = PP_KIND_NONE;
	ret_insn->len = 0;
	ret_insn->hazard = PP_HAZARD_FETCH;
	ret_insn->pad = 0;
	pp_decode_prefixes(&d);
	if (!pp_decoder_has(&d, 1))
		return;
	opcode = pp_decoder_peek(&d, 0);
	d.at++;
	ret_insn->hazard = pp_decode_map(&d, opcode, ret_insn);
}

#endif
