/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The BPF collector's configuration and state, as the program (collect.bpf.c), the steps that it
 * consists of (collect_steps.h) and user space see them.
 *
 * Workload: a branch stack of 16 to 64 entries a sample, up to some thousand samples a second and
 * CPU. Every CPU has a state of its own, the value of an array map under the CPU's number.
 *
 * Locking: `busy` is set by whoever works on this CPU's state, a sample or a drain; an NMI that
 * finds it set leaves and is counted. So everything behind it has one owner at a time. User space
 * prepares the state before the program is attached, and reads counters any time.
 */
#ifndef PP_COLLECT_H
#define PP_COLLECT_H

#include "../../libprofile/core/pp_defined.h"
#include "../../libprofile/core/pp_hpt.h"
#include "../../libprofile/core/pp_segment.h"
#include "../../libprofile/core/pp_tuples.h"
#include "pathprof/record_abi.h"

#define PP_COLLECT_STACK_MAX    64   /* entries of a branch stack; a power of two */
#define PP_COLLECT_CONTEXT_BITS 8    /* log2 of the cache's entries */
#define PP_COLLECT_STAGE_MAX    40   /* counts that go out as one record: just below 1 KiB */
#define PP_COLLECT_RECORD_MAX   1024 /* bytes; no record is larger */
#define PP_COLLECT_DRAIN_STEP   128 /* slots of the hot path table that one drain call writes out */

/* Set before the program is loaded; the last four also while it runs. */
struct pp_collect_config {
	struct pp_compress_config compress;
	struct pp_hpt_config hpt;
	__u32 kinds;    /* of what tuples are made, bits 1 << enum pp_kind */
	__u32 profiles; /* PATHPROF_PROFILE_* */
	__u32 metric;   /* PATHPROF_METRIC_* */
	__u32 only_pid; /* this thread group and its descendants; 0: all */
	__u64 cgroup;   /* only threads in it or below, an id of the unified hierarchy; 0: all */
	__u64 cgroup_level; /* its depth, the root's is 0 */
	__u64 ip_min;       /* only samples that interrupt at ip_min <= ip <= ip_max */
	__u64 ip_max;
	__u64 slice_shift;     /* log2 of the nanoseconds that a budget is for */
	__u64 slice_budget_ns; /* time that a CPU may spend in one such span */
};

/* One entry as bpf_read_branch_records() has it: struct perf_branch_entry. */
struct pp_collect_entry {
	__u64 from;
	__u64 to;
	__u64 flags; /* bits: 0 mispredicted, 1 predicted, 4 to 19 cycles, 20 to 23 type */
};

/* Counts on their way out, which become one record when they are many. */
struct pp_collect_stage {
	struct pathprof_record head;
	struct pathprof_path_record count[PP_COLLECT_STAGE_MAX];
	__u64 cnt;
};

struct pp_collect_context {
	__u64 address_space; /* 0: none */
	__u64 number;
};

/* A segment of the hot path table with its branches, in the form of its DEFINE record. */
struct pp_collect_definition {
	struct pathprof_record head;
	struct pathprof_segment segment;
	struct pathprof_lbr_entry entry[PP_SEGMENT_LENGTH_MAX];
};

struct pp_collect_naming {
	struct pathprof_record head;
	struct pathprof_context context;
};

/* State that is handed from one step on a window to the next. */
struct pp_collect_walk {
	struct pp_tuple_plan plan;
	struct pp_segment_state segment;
	struct pp_segment ended;     /* the segment that the next step counts */
	struct pp_hpt_entry message; /* on its way out */
	__u64 from, to;              /* of the tuple that the next step samples */
	__u32 near;                  /* hash of its bare addresses */
	__u32 scratch;               /* for PP_LAUNDER */
};

struct pp_collect_state {
	__u32 busy;
	__u32 seq; /* of the next record */
	__u32 last_context;
	__u32 cpu;
	__u32 closing; /* numbers run out: samples are refused until the drain has ended */
	__u32 given;   /* 1: a test program gave the window and says whose it is */
	__u64 epoch;   /* how often numbers began again */
	__u64 slice, slice_spent_ns; /* of the budget */
	struct pathprof_collector_stats stats;
	struct pp_collect_walk walk;
	struct pp_collect_naming naming;
	struct pp_collect_entry stack[PP_COLLECT_STACK_MAX]; /* newest first */
	struct pp_collect_context context[1 << PP_COLLECT_CONTEXT_BITS];
	struct pp_random random; /* for rounding */
	struct pp_compress compress;
	struct pp_hpt hpt;
	struct pp_defined defined;
	struct pp_collect_definition definition[PP_HPT_MAX]; /* by slot of the hot path table */
	struct pp_collect_stage paths, tuples;
	__u64 end[PP_COLLECT_RECORD_MAX /
		  8]; /* room that the verifier believes a record may reach */
};

/* A window that a test program takes in place of a sample. */
struct pp_collect_given {
	__u64 cnt; /* entries */
	struct pathprof_context who;
	struct pp_collect_entry stack[PP_COLLECT_STACK_MAX]; /* newest first */
};
#define PP_COLLECT_GIVEN_MAX 64 /* windows a run of the test entry; others are tried in turn */

#endif
