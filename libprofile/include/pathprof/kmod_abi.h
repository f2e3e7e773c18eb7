/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What crosses between the kernel module and its reader: the control calls of /dev/pathprof, the
 * rings it maps, the records in them. Fixed width, padded by hand, little-endian as the machine.
 * A change of any layout raises PATHPROF_KMOD_VERSION; the module refuses another version.
 *
 * Whole windows are records of abi.h.
 */
#ifndef PATHPROF_KMOD_ABI_H
#define PATHPROF_KMOD_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "pathprof/abi.h"

#define PATHPROF_KMOD_VERSION 2
#define PATHPROF_KMOD_DEVICE  "/dev/pathprof"

/*
 * Rings. CPU c has two mappings of the device, both MAP_SHARED and whole:
 *
 *   offset                                       length                prot
 *   c * PATHPROF_RING_STRIDE                     PATHPROF_RING_PAGE    read, write   consumer
 *   c * PATHPROF_RING_STRIDE + PATHPROF_RING_PAGE
 *                               PATHPROF_RING_PAGE + ring_bytes        read          producer, data
 *
 * head and tail count bytes since open and never wrap; a record lies at (position & (ring_bytes -
 * 1)) of the data and never crosses their end: what is left there is a PATHPROF_RECORD_PAD. The
 * reader loads head with acquire (pairs with the module's release), reads what is before it, and
 * stores tail with release.
 */
#define PATHPROF_RING_PAGE   4096
#define PATHPROF_RING_STRIDE ((__u64)1 << 32)

/* Written by the module only. */
struct pathprof_ring_producer {
	__u64 head;           /* bytes written since open */
	__u64 lost_full;      /* records that found no room */
	__u64 lost_nested;    /* records of an interrupt that came while one was being written */
	__u64 wakeup_cnt;     /* of the reader */
	__u32 version;        /* PATHPROF_KMOD_VERSION */
	__u32 cpu;            /* whose ring this is */
	__u32 data_off_bytes; /* of the data, from this page's beginning */
	__u32 data_len_bytes; /* a power of two */
};

/* Written by the reader only; a tail that makes no sense loses records, nothing else. */
struct pathprof_ring_consumer {
	__u64 tail; /* bytes read since open */
};

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
	__u32 context; /* 1..65535 */
	__u8 comm[16]; /* zero-terminated */
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

/* ---------------------------------------------------------------- control */

/* PATHPROF_IOC_INFO: what this module is. */
struct pathprof_kmod_info {
	__u32 version;    /* PATHPROF_KMOD_VERSION */
	__u32 ring_cnt;   /* CPU numbers are below this; not every one need exist */
	__u32 ring_bytes; /* of each ring's data */
	__u32 sources;    /* bit PATHPROF_SOURCE_* set for each that works here */
	__u32 trap_ns;    /* what a debug trap costs, measured when the module was loaded */
	__u32 step_max;   /* most instructions a burst may run */
	__u64 stats_cnt;  /* PATHPROF_STAT_CNT of the module */
	__u64 reserved[4];
};

/* Bits. Both: each BURST stands before what the chain made of it, so it can be made again. */
#define PATHPROF_MODE_RAW   1 /* BURST or LBR records */
#define PATHPROF_MODE_CHAIN 2 /* CONTEXT, DEFINE, PATH and TUPLE records */

/* What of the stream becomes tuples, pathprof_kmod_start.profiles. */
#define PATHPROF_PROFILE_EDGES 1 /* (branch, what ran next) */
#define PATHPROF_PROFILE_CALLS 2 /* (call, its target), direct and indirect calls */

/* What a path counts, pathprof_kmod_start.metric. lbr only, but for PATHPROF_METRIC_RUNS. */
#define PATHPROF_METRIC_RUNS       0 /* how often it ran */
#define PATHPROF_METRIC_CYCLES     1
#define PATHPROF_METRIC_MISPREDICT 2
#define PATHPROF_METRIC_CNT        3

/* pathprof_kmod_start.flags */
#define PATHPROF_START_JITTER ((__u32)1 << 0) /* swlbr: spread the period by half of it */
#define PATHPROF_START_FLAGS  ((__u32)1)      /* all that are known */

#define PATHPROF_WINDOW_MAX     64     /* taken branches of a burst */
#define PATHPROF_BUDGET_DEFAULT 5000   /* millionths: 0.5 % */
#define PATHPROF_BUDGET_MAX     500000 /* millionths */
#define PATHPROF_PERIOD_MIN_NS  100000 /* swlbr */

#define PATHPROF_MAP_BL  0 /* paths end at backward branches */
#define PATHPROF_MAP_WPP 1 /* ... and at calls and returns */

/*
 * The compressors of CHAIN mode; all 0: H[PR256]2048, TAIL with 4 ways, and for swlbr BL paths and
 * 512 entries, for lbr A16 behind the sampler and 2,048 entries. lbr has no map (0), and max_length
 * is 0 or 32.
 */
struct pathprof_kmod_chain {
	__u32 sampler; /* enum pp_sampler: 0 random, 1 periodic, 2 counting random, 3 tagged */
	__u32 rate;    /* 1..65536; 0: the defaults above, the rest must then be 0 */
	__u32 substream_bits; /* log2 of substreams, 0..11 */
	__u32 assoc_size;     /* k of A_k, 0..16 */
	__u32 tag_bits;       /* tagged: 1..8; else 0 */
	__u32 phased;         /* 0 or 1 */
	__u32 evict;          /* tagged: 1..255 */
	__u32 replace;        /* tagged: 1..255 */
	__u32 map;            /* PATHPROF_MAP_* */
	__u32 max_length;     /* branches of a path, 1..32 */
	__u32 hpt_bits;       /* log2 of sets */
	__u32 hpt_ways;       /* 1..16; sets * ways at most 2048 */
	__u32 hpt_policy;     /* enum pp_hpt_policy: 0 LFU, 1 TAIL */
	__u32 ways;           /* tagged: 1..8, sets * ways at most 2048; else 0 */
	__u64 seed;           /* of what is random */
};

/* PATHPROF_IOC_START. Whatever is not used is 0, else -EINVAL. */
struct pathprof_kmod_start {
	__u32 version; /* PATHPROF_KMOD_VERSION */
	__u32 source;  /* PATHPROF_SOURCE_SWLBR or _LBR */
	__u32 mode;    /* PATHPROF_MODE_* */
	__u32 flags;   /* PATHPROF_START_* */
	__u64 period;  /* swlbr: nanoseconds of CPU time; lbr: events. The budget may stretch it */
	__u32 window;  /* swlbr: taken branches a burst, 1..PATHPROF_WINDOW_MAX; lbr: 0 */
	__u32 budget_ppm; /* share of each CPU's time, 0: the default */
	__u32 pid;        /* only this thread group (of the initial namespace); 0: all */
	__u32 pmu_type;   /* lbr: perf_event_attr.type, and so on */
	__u64 pmu_config;
	__u64 pmu_config1;
	__u64 pmu_config2;
	__u64 branch_sample_type; /* lbr: PERF_SAMPLE_BRANCH_*; user is added, kernel refused */
	__u64 ip_min;             /* only samples that interrupt at ip_min <= ip <= ip_max */
	__u64 ip_max;             /* both 0: all */
	struct pathprof_kmod_chain chain; /* CHAIN mode; else 0 */
	__u64 cgroup;      /* only threads in it or below: inode of its directory (v2); 0: all */
	__u32 kinds;       /* CHAIN: of what TUPLEs are made, bits 1 << PERF_BR_*; 0: all */
	__u32 profiles;    /* CHAIN: PATHPROF_PROFILE_*; 0: all */
	__u32 metric;      /* CHAIN: PATHPROF_METRIC_* */
	__u32 pad;         /* 0 */
	__u64 reserved[1]; /* 0 */
};

/*
 * PATHPROF_IOC_STATS: counts since the module was loaded, summed over CPUs; the same as in debugfs
 * pathprof/stats.
 */
struct pathprof_kmod_stats {
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
#define PATHPROF_STAT_TRAPS_MIGRATED 10 /* ... on another CPU than the burst began on */
#define PATHPROF_STAT_BRANCHES       11 /* recorded, taken or not */
#define PATHPROF_STAT_TAKEN          12
#define PATHPROF_STAT_WINDOWS        13 /* windows handed to the pipeline */
#define PATHPROF_STAT_LATE           14 /* bursts that ended after their session, dropped */
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
#define PATHPROF_STAT_END            32 /* + PATHPROF_END_*: bursts by why they ended */
#define PATHPROF_STAT_CNT            (PATHPROF_STAT_END + PATHPROF_END_CNT)

/* Initialisers of a table of names, by number; what debugfs and status show. */
#define PATHPROF_STAT_NAMES                                                                        \
	[PATHPROF_STAT_SAMPLES] = "samples", [PATHPROF_STAT_SKIP_KERNEL] = "skip_kernel",          \
	[PATHPROF_STAT_SKIP_SELECTION] = "skip_selection",                                         \
	[PATHPROF_STAT_SKIP_COMPAT] = "skip_compat", [PATHPROF_STAT_SKIP_TRACED] = "skip_traced",  \
	[PATHPROF_STAT_SKIP_BUDGET] = "skip_budget", [PATHPROF_STAT_SKIP_BUSY] = "skip_busy",      \
	[PATHPROF_STAT_SKIP_CEILING] = "skip_ceiling", [PATHPROF_STAT_BURSTS] = "bursts",          \
	[PATHPROF_STAT_TRAPS] = "traps", [PATHPROF_STAT_TRAPS_MIGRATED] = "traps_migrated",        \
	[PATHPROF_STAT_BRANCHES] = "branches", [PATHPROF_STAT_TAKEN] = "taken",                    \
	[PATHPROF_STAT_WINDOWS] = "windows", [PATHPROF_STAT_LATE] = "late",                        \
	[PATHPROF_STAT_LBR_NO_STACK] = "lbr_no_stack",                                             \
	[PATHPROF_STAT_LBR_ENTRIES] = "lbr_entries", [PATHPROF_STAT_LBR_ZERO] = "lbr_zero",        \
	[PATHPROF_STAT_LBR_DUPLICATE] = "lbr_duplicate", [PATHPROF_STAT_LBR_BOGUS] = "lbr_bogus",  \
	[PATHPROF_STAT_NMI] = "nmi", [PATHPROF_STAT_LOST_FULL] = "lost_full",                      \
	[PATHPROF_STAT_LOST_NESTED] = "lost_nested",                                               \
	[PATHPROF_STAT_LOST_CONTEXT] = "lost_context", [PATHPROF_STAT_RECORDS] = "records",        \
	[PATHPROF_STAT_BYTES] = "bytes", [PATHPROF_STAT_WAKEUPS] = "wakeups",                      \
	[PATHPROF_STAT_SPENT_NS] = "spent_ns", [PATHPROF_STAT_CEILING_TRIPS] = "ceiling_trips",    \
	[PATHPROF_STAT_LOST_BUSY] = "lost_busy", [PATHPROF_STAT_LOST_DEFINE] = "lost_define",      \
	[PATHPROF_STAT_SEGMENTS] = "segments"

/*
 * One open at a time, else -EBUSY; -EPERM without CAP_PERFMON and without CAP_SYS_ADMIN.
 * Errors: -ENOTTY unknown, -EFAULT, -EINVAL, -EBUSY START when running, -EPERM a writable mapping
 * of a ring's producer, -ENOMEM; START also what perf says of an event (-EOPNOTSUPP, -ENOENT).
 * STOP on a source that does not run is 0. In CHAIN mode STOP writes the tables out before it
 * returns, and so does DRAIN while the session goes on (else it does nothing; 0). Closing stops and
 * frees everything.
 */
#define PATHPROF_IOC_MAGIC 'P'
#define PATHPROF_IOC_INFO  _IOR(PATHPROF_IOC_MAGIC, 0x40, struct pathprof_kmod_info)
#define PATHPROF_IOC_START _IOW(PATHPROF_IOC_MAGIC, 0x41, struct pathprof_kmod_start)
#define PATHPROF_IOC_STOP  _IO(PATHPROF_IOC_MAGIC, 0x42)
#define PATHPROF_IOC_STATS _IOR(PATHPROF_IOC_MAGIC, 0x43, struct pathprof_kmod_stats)
#define PATHPROF_IOC_DRAIN _IO(PATHPROF_IOC_MAGIC, 0x44)

#ifndef __cplusplus
_Static_assert(sizeof(struct pathprof_ring_producer) == 48, "kmod abi: producer");
_Static_assert(sizeof(struct pathprof_ring_consumer) == 8, "kmod abi: consumer");
_Static_assert(sizeof(struct pathprof_record) == 16, "kmod abi: record");
_Static_assert(sizeof(struct pathprof_lbr_entry) == 16, "kmod abi: lbr entry");
_Static_assert(sizeof(struct pathprof_lbr) == 48, "kmod abi: lbr");
_Static_assert(sizeof(struct pathprof_context) == 40, "kmod abi: context");
_Static_assert(sizeof(struct pathprof_path_record) == 24, "kmod abi: path");
_Static_assert(sizeof(struct pathprof_tuple_count) == 24, "kmod abi: tuple");
_Static_assert(sizeof(struct pathprof_segment) == 24, "kmod abi: segment");
_Static_assert(sizeof(struct pathprof_kmod_info) == 64, "kmod abi: info");
_Static_assert(sizeof(struct pathprof_kmod_chain) == 64, "kmod abi: chain");
_Static_assert(sizeof(struct pathprof_kmod_start) == 184, "kmod abi: start");
_Static_assert(sizeof(struct pathprof_kmod_stats) == 512, "kmod abi: stats");
_Static_assert(PATHPROF_STAT_CNT <= 64, "kmod abi: stat count");
#endif

#endif
