/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Classifies one x86-64 instruction: which control transfer it is, how long, where to; and whether
 * a thread may be stepped over it with the trap flag set.
 */
#ifndef PP_DECODE_H
#define PP_DECODE_H

#include "pp_types.h"

/* Why a thread must not be stepped over an instruction: numbered as PATHPROF_END_* of abi.h. */
enum pp_hazard {
	PP_HAZARD_NONE = 0,
	PP_HAZARD_SYSCALL = 1,
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

/*
 * code[0..len), len 1..16, holds the bytes at address pc. Any context; pure.
 */
PP_INLINE void pp_decode(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn);

#endif
