/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The records that pass between the stages of the core. Records on a stack between two stages have
 * __u64 members only: the BPF verifier takes a slot for overwritten only on a full 8-byte store,
 * and stale halves would fork its states.
 */
#ifndef PP_TYPES_H
#define PP_TYPES_H

#include "pp_port.h"

/* Kinds of control transfer, numbered as PERF_BR_* of <linux/perf_event.h>. */
enum pp_kind {
	PP_KIND_NONE = 0,
	PP_KIND_COND = 1,
	PP_KIND_JMP = 2,
	PP_KIND_IJMP = 3,
	PP_KIND_CALL = 4,
	PP_KIND_ICALL = 5,
	PP_KIND_RET = 6,
	PP_KIND_CNT = 7,
};

/* One executed branch, taken or not. */
struct pp_branch {
	__u64 from;   /* address of the branch instruction */
	__u64 target; /* static target of a direct branch, else equal to next */
	__u64 next;   /* the address that ran next */
	__u64 info;   /* enum pp_kind | taken << 8 */
	__u64 events; /* metric carried by this branch: 1, misses, cycles, ... */
};
#define PP_BRANCH_INFO(kind, taken) ((__u64)(kind) | (__u64)(taken) << 8)
#define PP_BRANCH_KIND(info)        ((__u32)(info)&0xff)
#define PP_BRANCH_TAKEN(info)       ((__u32)((info) >> 8) & 1)

/* A profile event (RPS 2.1). Bits 48 to 63 may have tags (pp_tuples.h); 0 is as in the paper. */
struct pp_tuple {
	__u64 pc;
	__u64 word;
};

/* A compressor's message: this tuple, so many times. */
struct pp_message {
	struct pp_tuple tuple;
	__u64 count;
};

/* A path as it leaves the path stack (EOPP 5.2). */
struct pp_path {
	__u64 start;  /* address where it began */
	__u64 desc;   /* outcomes (bit i = branch i) | length in branches << 32 */
	__u64 events; /* sum of the metric over its branches */
	__u64 span;   /* taken branches from its push to its pop, callees' included */
};
#define PP_DESC(length, outcomes) ((__u64)(length) << 32 | (__u32)(outcomes))
#define PP_DESC_LENGTH(desc)      ((__u32)((desc) >> 32) & 63)
#define PP_DESC_OUTCOMES(desc)    ((__u32)(desc))

#endif
