/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The interface between the kernel module and its reader: the control calls of /dev/pathprof and
 * the rings it maps. Fixed width, padded by hand, little-endian as the machine. A change of any
 * layout, records' included (record_abi.h), raises PATHPROF_KMOD_VERSION; the module refuses
 * another one.
 */
#ifndef PATHPROF_KMOD_ABI_H
#define PATHPROF_KMOD_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "pathprof/record_abi.h"

#define PATHPROF_KMOD_VERSION 6
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

/* ---------------------------------------------------------------- control */

/* PATHPROF_IOC_INFO: what this module is. */
struct pathprof_kmod_info {
	__u32 version;    /* PATHPROF_KMOD_VERSION */
	__u32 ring_cnt;   /* CPU numbers are below this; not every one need exist */
	__u32 ring_bytes; /* of each ring's data */
	__u32 sources;    /* bit PATHPROF_SOURCE_* set for each of the module's; whether this
			     machine can do LBR is what START says */
	__u32 trap_ns;    /* what a debug trap costs, measured when the module was loaded */
	__u32 step_max;   /* most debug traps of a burst, beyond its horizon */
	__u64 stats_cnt;  /* PATHPROF_STAT_CNT of the module */
	__u64 reserved[4];
};

/* Bits. Both: each BURST stands before what the chain made of it, so it can be made again. */
#define PATHPROF_MODE_RAW   1 /* BURST or LBR records */
#define PATHPROF_MODE_CHAIN 2 /* CONTEXT, DEFINE, PATH and TUPLE records */

/* pathprof_kmod_start.flags */
#define PATHPROF_START_JITTER   ((__u32)1 << 0) /* swlbr: spread the period by half of it */
#define PATHPROF_START_REALTIME ((__u32)1 << 1) /* real-time threads and isolated CPUs, too */
#define PATHPROF_START_FLAGS    ((__u32)3)      /* all that are known */

#define PATHPROF_WINDOW_MAX     64     /* taken branches of a burst */
#define PATHPROF_HORIZON_MAX    1024   /* instructions of a burst */
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
	__u32 window;  /* swlbr: taken branches a burst, 1..PATHPROF_WINDOW_MAX; else 0 */
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
	__u32 horizon;     /* swlbr: instructions a burst, 1..PATHPROF_HORIZON_MAX, window is 0
			      then and mode RAW; 0: it ends by taken branches */
	__u64 reserved[1]; /* 0 */
};

/*
 * STATS: counts since the module was loaded, summed over CPUs; the same as in debugfs
 * pathprof/stats.
 *
 * One open at a time, else -EBUSY; -EPERM without CAP_PERFMON and without CAP_SYS_ADMIN.
 * Errors: -ENOTTY unknown, -EFAULT, -EINVAL, -EBUSY START when running, -EPERM a writable mapping
 * of a ring's producer, -ENOMEM; START also what perf says of an event (-EOPNOTSUPP, -ENOENT).
 * STOP on a source that does not run is 0. In CHAIN mode STOP writes the tables out before it
 * returns, and so does DRAIN while the session goes on (else it does nothing; 0). BUDGET changes
 * the running session's budget_ppm alone, within the bounds of START; tables, bursts under way and
 * each CPU's debt stay. BUDGET without a session is -EINVAL. Closing stops and frees everything.
 */
#define PATHPROF_IOC_MAGIC  'P'
#define PATHPROF_IOC_INFO   _IOR(PATHPROF_IOC_MAGIC, 0x40, struct pathprof_kmod_info)
#define PATHPROF_IOC_START  _IOW(PATHPROF_IOC_MAGIC, 0x41, struct pathprof_kmod_start)
#define PATHPROF_IOC_STOP   _IO(PATHPROF_IOC_MAGIC, 0x42)
#define PATHPROF_IOC_STATS  _IOR(PATHPROF_IOC_MAGIC, 0x43, struct pathprof_collector_stats)
#define PATHPROF_IOC_DRAIN  _IO(PATHPROF_IOC_MAGIC, 0x44)
#define PATHPROF_IOC_BUDGET _IOW(PATHPROF_IOC_MAGIC, 0x45, __u32)

#ifndef __cplusplus
_Static_assert(sizeof(struct pathprof_ring_producer) == 48, "kmod abi: producer");
_Static_assert(sizeof(struct pathprof_ring_consumer) == 8, "kmod abi: consumer");
_Static_assert(sizeof(struct pathprof_kmod_info) == 64, "kmod abi: info");
_Static_assert(sizeof(struct pathprof_kmod_chain) == 64, "kmod abi: chain");
_Static_assert(sizeof(struct pathprof_kmod_start) == 184, "kmod abi: start");
#endif

#endif
