/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The output of a collector in the kernel, the module or the BPF program, to user space: records,
 * each with a head that tells its kind, and counters. Fixed width, padded by hand, little-endian as
 * the machine.
 *
 * Whole windows are records of abi.h.
 */
#ifndef PATHPROF_RECORD_ABI_H
#define PATHPROF_RECORD_ABI_H

#include <linux/types.h>

#include "pathprof/abi.h"

/* Before every record; size_bytes is a multiple of 8. */
struct pathprof_record {
	__u32 size_bytes; /* with this header */
	__u16 type;       /* PATHPROF_RECORD_* */
	__u16 flags;      /* 0 */
	__u32 cpu;
	__u32 seq; /* counts this ring's records, lost ones included, modulo 2^32; 0 for PAD */
};

#define PATHPROF_RECORD_PAD     0 /* nothing, up to the end of the data */
#define PATHPROF_RECORD_BURST   1 /* struct pathprof_burst and its branches (swlbr, RAW) */
#define PATHPROF_RECORD_LBR     2 /* struct pathprof_lbr and its entries */
#define PATHPROF_RECORD_CONTEXT 3 /* struct pathprof_context */
#define PATHPROF_RECORD_PATH    4 /* one or more struct pathprof_path_record */
#define PATHPROF_RECORD_TUPLE   5 /* one or more struct pathprof_tuple_count */
#define PATHPROF_RECORD_DEFINE  6 /* struct pathprof_segment and its branches */
#define PATHPROF_RECORD_CNT     7

/*
 * A hardware window: taken branches, oldest first. An entry packs, above the address' 48 bits,
 * cycles since the entry before into `from` and kind and prediction into `to`.
 */
struct pathprof_lbr_entry {
	__u64 from; /* address | cycles << 48 */
	__u64 to;   /* address | PERF_BR_* << 48 | PATHPROF_LBR_* */
};
#define PATHPROF_LBR_ADDRESS(x)    ((__u64)((__s64)((__u64)(x) << 16) >> 16)) /* sign extended */
#define PATHPROF_LBR_CYCLES(from)  ((__u32)((from) >> 48))
#define PATHPROF_LBR_KIND(to)      ((__u32)((to) >> 48) & 31)
#define PATHPROF_LBR_CUT           ((__u64)1 << 59) /* dropped: what lay between this and before */
#define PATHPROF_LBR_MISPREDICTED  ((__u64)1 << 60)
#define PATHPROF_LBR_PREDICTED     ((__u64)1 << 61)
#define PATHPROF_LBR_ABORTED       ((__u64)1 << 62)
#define PATHPROF_LBR_TRANSACTIONAL ((__u64)1 << 63)

struct pathprof_lbr {
	__u32 pid; /* thread group, in the initial pid namespace */
	__u32 tid;
	__u64 time_ns;    /* CLOCK_MONOTONIC */
	__u64 ip;         /* where the sample interrupted */
	__u64 period;     /* events that this sample stands for */
	__u64 start_time; /* the process' start time, clock ticks since boot */
	__u32 branch_cnt; /* struct pathprof_lbr_entry that follow */
	__u32 dropped;    /* entries of this stack that were bogus, zero or duplicates */
};

/*
 * Compressed records name their process by a number: address bits 48 to 63 of every address in
 * PATH and TUPLE. A CONTEXT record stands in the same ring before the first use of its number, and
 * a number is given out once in a session; a process may get several. When a ring has given out
 * them all the tables are written out first and numbers begin again at 1.
 */
struct pathprof_context {
	__u64 address_space; /* never reused while the machine is up */
	__u64 start_time;    /* clock ticks since boot */
	__u32 pid;
	__u32 context;   /* 1..65535 */
	__u8 comm[16];   /* zero-terminated */
	__u64 cgroup;    /* inode of its directory in the unified hierarchy (v2); 0: not told */
	__u64 cgroup_v1; /* ... in that of the memory controller (v1); 0: none, or not told */
};
#define PATHPROF_CONTEXT(address)         ((__u32)((address) >> 48))
#define PATHPROF_CONTEXT_ADDRESS(address) ((address) & (((__u64)1 << 48) - 1))

/*
 * swlbr: desc is outcomes (bit i = branch i) | length in branches << 32. lbr: desc is that of a
 * segment, defined before in the same ring. count is in units of the session's metric.
 */
struct pathprof_path_record {
	__u64 start; /* tagged with its context */
	__u64 desc;
	__u64 count; /* what this record stands for: of one path, records add up */
};

struct pathprof_tuple_count {
	__u64 pc;   /* tagged with its context */
	__u64 word; /* the address that ran next | PATHPROF_PROFILE_* << 48 */
	__u64 count;
};
#define PATHPROF_TUPLE_PROFILE(word) ((__u32)((word) >> 48))

/*
 * lbr, CHAIN: only taken branches are known, so paths are *segments*: taken branches from the
 * target of a call, return, indirect or backward branch up to and with the next such one. A segment
 * is named by start and desc; its first use in a ring comes after its DEFINE record, which may be
 * sent again. branch_cnt struct pathprof_lbr_entry follow, addresses and kinds only. The part of a
 * window before its first such branch and behind its last belongs to no segment.
 */
struct pathprof_segment {
	__u64 start; /* tagged with its context */
	__u64 desc;  /* bits of a hash of the branches, and branch_cnt << 32 (6 bits) */
	__u32 branch_cnt;
	__u32 pad;
};

/* The parts of the branch stream that become tuples. */
#define PATHPROF_PROFILE_EDGES 1 /* (branch, what ran next) */
#define PATHPROF_PROFILE_CALLS 2 /* (call, its target), direct and indirect calls */

/* The figure counted for each path. All but PATHPROF_METRIC_RUNS need branch stacks. */
#define PATHPROF_METRIC_RUNS       0 /* how often it ran */
#define PATHPROF_METRIC_CYCLES     1
#define PATHPROF_METRIC_MISPREDICT 2
#define PATHPROF_METRIC_CNT        3

/* The counters of collectors; each collector uses some of them. */
struct pathprof_collector_stats {
	__u64 value[64]; /* by PATHPROF_STAT_*, the rest 0 */
};

#define PATHPROF_STAT_SAMPLES        0  /* overflow handlers that ran */
#define PATHPROF_STAT_SKIP_KERNEL    1  /* ... and found no user code interrupted */
#define PATHPROF_STAT_SKIP_SELECTION 2  /* ... another process or address */
#define PATHPROF_STAT_SKIP_COMPAT    3  /* ... 32-bit code */
#define PATHPROF_STAT_SKIP_TRACED    4  /* ... a traced or stepping thread, a watchpoint */
#define PATHPROF_STAT_SKIP_BUDGET    5  /* ... the budget spent */
#define PATHPROF_STAT_SKIP_BUSY      6  /* ... this thread in a burst, or as many as can be */
#define PATHPROF_STAT_SKIP_CEILING   7  /* ... the hard ceiling reached before */
#define PATHPROF_STAT_BURSTS         8  /* bursts begun */
#define PATHPROF_STAT_TRAPS          9  /* debug traps taken for them */
#define PATHPROF_STAT_SKIP_REALTIME  10 /* samples that found a real-time thread */
#define PATHPROF_STAT_BRANCHES       11 /* recorded, taken or not */
#define PATHPROF_STAT_TAKEN          12
#define PATHPROF_STAT_WINDOWS        13 /* windows handed to the pipeline */
#define PATHPROF_STAT_SKIP_ISOLATED  14 /* isolated CPUs at START, samples on one since */
#define PATHPROF_STAT_LBR_NO_STACK   15 /* samples without a branch stack */
#define PATHPROF_STAT_LBR_ENTRIES    16 /* entries in stacks */
#define PATHPROF_STAT_LBR_ZERO       17 /* ... dropped: no addresses */
#define PATHPROF_STAT_LBR_DUPLICATE  18 /* ... dropped: the newest, when it is recorded twice */
#define PATHPROF_STAT_LBR_BOGUS      19 /* ... dropped: not user space, or never executed */
#define PATHPROF_STAT_NMI            20 /* samples in NMI context */
#define PATHPROF_STAT_LOST_FULL      21 /* records */
#define PATHPROF_STAT_LOST_NESTED    22 /* records */
#define PATHPROF_STAT_LOST_CONTEXT   23 /* windows whose CONTEXT found no room, or high addresses */
#define PATHPROF_STAT_RECORDS        24 /* written */
#define PATHPROF_STAT_BYTES          25 /* written */
#define PATHPROF_STAT_WAKEUPS        26
#define PATHPROF_STAT_SPENT_NS       27 /* time in handlers and traps */
#define PATHPROF_STAT_CEILING_TRIPS  28 /* times a CPU was held still for a while */
#define PATHPROF_STAT_LOST_BUSY      29 /* samples that came while this CPU's tables went out */
#define PATHPROF_STAT_LOST_DEFINE    30 /* segments whose DEFINE found no room */
#define PATHPROF_STAT_SEGMENTS       31 /* that ended */
#define PATHPROF_STAT_SKIP_INIT      32 /* samples that found process 1, whom swlbr spares */
#define PATHPROF_STAT_END            33 /* + PATHPROF_END_*: bursts by why they ended */
#define PATHPROF_STAT_CNT            (PATHPROF_STAT_END + PATHPROF_END_CNT)

/* Initialisers of a table of names, by number; what debugfs and status show. */
#define PATHPROF_STAT_NAMES                                                                        \
	[PATHPROF_STAT_SAMPLES] = "samples", [PATHPROF_STAT_SKIP_KERNEL] = "skip_kernel",          \
	[PATHPROF_STAT_SKIP_SELECTION] = "skip_selection",                                         \
	[PATHPROF_STAT_SKIP_COMPAT] = "skip_compat", [PATHPROF_STAT_SKIP_TRACED] = "skip_traced",  \
	[PATHPROF_STAT_SKIP_BUDGET] = "skip_budget", [PATHPROF_STAT_SKIP_BUSY] = "skip_busy",      \
	[PATHPROF_STAT_SKIP_CEILING] = "skip_ceiling", [PATHPROF_STAT_BURSTS] = "bursts",          \
	[PATHPROF_STAT_TRAPS] = "traps", [PATHPROF_STAT_SKIP_REALTIME] = "skip_realtime",          \
	[PATHPROF_STAT_BRANCHES] = "branches", [PATHPROF_STAT_TAKEN] = "taken",                    \
	[PATHPROF_STAT_WINDOWS] = "windows", [PATHPROF_STAT_SKIP_ISOLATED] = "skip_isolated",      \
	[PATHPROF_STAT_LBR_NO_STACK] = "lbr_no_stack",                                             \
	[PATHPROF_STAT_LBR_ENTRIES] = "lbr_entries", [PATHPROF_STAT_LBR_ZERO] = "lbr_zero",        \
	[PATHPROF_STAT_LBR_DUPLICATE] = "lbr_duplicate", [PATHPROF_STAT_LBR_BOGUS] = "lbr_bogus",  \
	[PATHPROF_STAT_NMI] = "nmi", [PATHPROF_STAT_LOST_FULL] = "lost_full",                      \
	[PATHPROF_STAT_LOST_NESTED] = "lost_nested",                                               \
	[PATHPROF_STAT_LOST_CONTEXT] = "lost_context", [PATHPROF_STAT_RECORDS] = "records",        \
	[PATHPROF_STAT_BYTES] = "bytes", [PATHPROF_STAT_WAKEUPS] = "wakeups",                      \
	[PATHPROF_STAT_SPENT_NS] = "spent_ns", [PATHPROF_STAT_CEILING_TRIPS] = "ceiling_trips",    \
	[PATHPROF_STAT_LOST_BUSY] = "lost_busy", [PATHPROF_STAT_LOST_DEFINE] = "lost_define",      \
	[PATHPROF_STAT_SEGMENTS] = "segments", [PATHPROF_STAT_SKIP_INIT] = "skip_init"

#ifndef __cplusplus
_Static_assert(sizeof(struct pathprof_record) == 16, "record abi: record");
_Static_assert(sizeof(struct pathprof_lbr_entry) == 16, "record abi: lbr entry");
_Static_assert(sizeof(struct pathprof_lbr) == 48, "record abi: lbr");
_Static_assert(sizeof(struct pathprof_context) == 56, "record abi: context");
_Static_assert(sizeof(struct pathprof_path_record) == 24, "record abi: path");
_Static_assert(sizeof(struct pathprof_tuple_count) == 24, "record abi: tuple");
_Static_assert(sizeof(struct pathprof_segment) == 24, "record abi: segment");
_Static_assert(sizeof(struct pathprof_collector_stats) == 512, "record abi: stats");
_Static_assert(PATHPROF_STAT_CNT <= 64, "record abi: stat count");
#endif

#endif
