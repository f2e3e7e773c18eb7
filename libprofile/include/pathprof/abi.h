/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The records that cross the boundary from a branch source (the stepper process, the kernel module)
 * to the daemon. Fixed width, padded by hand, little-endian as the machine. A change of any layout
 * raises PATHPROF_ABI_VERSION.
 *
 * A *burst* is one branch window: branches that one thread executed one after the other.
 */
#ifndef PATHPROF_ABI_H
#define PATHPROF_ABI_H

#include <linux/types.h>

#define PATHPROF_ABI_VERSION 2

/* One executed branch. 32 bytes. */
struct pathprof_branch {
	__u64 from;   /* address of the branch instruction in its process */
	__u64 target; /* static target of a direct branch, else equal to next */
	__u64 next;   /* the address that ran next */
	__u16 kind;   /* PERF_BR_COND, _UNCOND, _IND, _CALL, _IND_CALL or _RET of linux/perf_event.h
		       */
	__u16 taken;  /* 0 or 1 */
	__u32 insns;  /* instructions that ran since the branch before (for the first branch: since
			 the window began), this branch included. A repeated string instruction
			 counts once. 0: the source does not count instructions */
};

/* Why a burst ended. */
#define PATHPROF_END_FULL 0 /* the window has reached its horizon */
#define PATHPROF_END_SYSCALL                                                                       \
	1 /* the next instruction enters the kernel, maybe for long, or a hypervisor */
#define PATHPROF_END_FLAGS   2  /* ... pushes or pops the flags register */
#define PATHPROF_END_TRAP    3  /* ... is int, int3, icebp, ud2, hlt */
#define PATHPROF_END_FAR     4  /* ... is a far transfer or iret */
#define PATHPROF_END_SS      5  /* ... loads the stack segment */
#define PATHPROF_END_TSX     6  /* ... begins or ends a transaction */
#define PATHPROF_END_REP     7  /* ... is a string instruction with a long count */
#define PATHPROF_END_FETCH   8  /* ... cannot be read */
#define PATHPROF_END_SIGNAL  9  /* a signal or a stop came in between */
#define PATHPROF_END_DISCONT 10 /* control went where no branch led (rseq abort, ptrace) */
#define PATHPROF_END_STEPS   11 /* step limit */
#define PATHPROF_END_TIME    12 /* time limit */
#define PATHPROF_END_EXIT    13 /* the thread ended */
#define PATHPROF_END_SWITCH  14 /* its CPU went on to another thread */
#define PATHPROF_END_CNT     15

#define PATHPROF_SOURCE_STEP  1
#define PATHPROF_SOURCE_SWLBR 2
#define PATHPROF_SOURCE_LBR   3
/* A profile imported from another tool; bursts never have this source. */
#define PATHPROF_SOURCE_IMPORT 4
/* Every path that one run took: pathprof-trace --paths; no burst has it. */
#define PATHPROF_SOURCE_TRACE 5

/* Most branches a burst may hold, taken and not taken. */
#define PATHPROF_BURST_MAX 1024

/* Followed by branch_cnt struct pathprof_branch. 72 bytes. */
struct pathprof_burst {
	__u32 size_bytes; /* of this header and its branches */
	__u16 version;    /* PATHPROF_ABI_VERSION */
	__u16 source;     /* PATHPROF_SOURCE_* */
	__u32 pid;        /* thread group, in the initial pid namespace */
	__u32 tid;
	__u64 time_ns;    /* CLOCK_MONOTONIC when the thread was stopped */
	__u64 stopped_ns; /* how long it was held */
	__u64 start;      /* address of the first instruction stepped */
	__u64 start_time; /* the process' start time, clock ticks since boot (/proc/PID/stat) */
	__u32 branch_cnt;
	__u32 taken_cnt;
	__u32 step_cnt;
	__u32 end; /* PATHPROF_END_* */
	/*
	 * How far the window was to reach, in the unit of the clock that it was sampled by:
	 * instructions. 0: the window ends after a number of taken branches instead.
	 */
	__u32 horizon;
	__u32 insn_cnt; /* instructions covered, those behind the last branch included; 0: unknown
			 */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct pathprof_branch) == 32, "abi: branch");
_Static_assert(sizeof(struct pathprof_burst) == 72, "abi: burst");
#endif

#endif
