/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The types that values.bpf.c and the daemon share: the configuration, the state of a CPU, the
 * records of the ring. Both sides see the core's tables in a kernel's sizes.
 *
 * The daemon writes configuration and state before the first probe is attached and reads the
 * counters at any time; tables of the compressor it reads only when no probe is left.
 */
#ifndef PP_BPF_VALUES_H
#define PP_BPF_VALUES_H

#define PP_KERNEL_TABLES 1

#include "../../libprofile/core/pp_compress.h"

#define PP_VALUES_SITE_MAX   64 /* a power of two */
#define PP_VALUES_FAMILY_MAX 16384
#define PP_VALUES_RING_BYTES (1u << 22)

struct pp_values_config {
	struct pp_compress_config compress;
	__u32 site_cnt;
	__u32 pad;
	__u32 argument[PP_VALUES_SITE_MAX]; /* of a site: 1 to 6 */
};

/* Why an execution, or a process, is in no message. Each has a name in values_program.c. */
enum pp_values_drop {
	PP_VALUES_DROP_RING_FULL = 0, /* executions that lost messages stood for */
	PP_VALUES_DROP_BUSY = 1,      /* executions while another one was using this CPU's state */
	PP_VALUES_DROP_FAMILY = 2,    /* processes not followed: too many, or no room in the ring */
	PP_VALUES_DROP_SITE = 3,      /* hits of probes that belong to no site */
	PP_VALUES_DROP_CNT = 4,
};

/* Counters only grow. `same` and `last` leave out executions that found the state busy. */
struct pp_values_site {
	__u64 executed;
	__u64 same; /* equal to the one before on this CPU */
	__u64 last;
	__u64 seen; /* 1: last holds a value */
};

struct pp_values_state {
	__u64 busy; /* a probe uses the state; a task of higher priority may hit another probe */
	__u64 drops[PP_VALUES_DROP_CNT];
	struct pp_values_site site[PP_VALUES_SITE_MAX];
	struct pp_compress compress;
};

enum pp_values_kind {
	PP_VALUES_MESSAGE = 1,
	PP_VALUES_FORK = 2, /* a process of the family started a child: subject is its id */
	PP_VALUES_EXIT = 3,
};

/* A record of the ring. */
struct pp_values_record {
	__u64 head; /* kind | subject << 32: a site, or a process id */
	__u64 value;
	__u64 count; /* executions it stands for */
};
#define PP_VALUES_HEAD(kind, subject) ((__u64)(kind) | (__u64)(subject) << 32)
#define PP_VALUES_KIND(head)          ((__u32)(head))
#define PP_VALUES_SUBJECT(head)       ((__u32)((head) >> 32))

PP_STATIC_ASSERT(sizeof(struct pp_values_record) == 24, values_record);
PP_STATIC_ASSERT(sizeof(struct pp_values_site) == 32, values_site);
PP_STATIC_ASSERT(sizeof(struct pp_compress) < 40000, values_tables_of_a_kernel);

#endif
