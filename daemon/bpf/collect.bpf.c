/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The BPF collector: on each sample of a hardware branch event it takes the branch stack and does
 * the whole chain over it (collect_steps.h), so that what leaves the kernel is counts.
 *
 * Workload: collect.h. A sample is mostly an NMI; a drain, asked for by user space some times a
 * minute, runs on the CPU whose state it writes out.
 *
 * Locking: collect.h. Nothing waits: a sample that finds the state busy, or a record that finds the
 * ring full, is dropped and counted. The ring never wakes its reader, who looks by the clock: a
 * wake-up costs more than a sample.
 *
 * Source: docs/sources.md; kernels from 5.10 on.
 */
#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collect.h"
#include "kernel_types.h"

int on_sample(struct bpf_perf_event_data *ctx);
int on_drain(struct bpf_raw_tracepoint_args *ctx);
int on_given(void *ctx);
int on_given_raw_tp(void *ctx);
int take_given(__u32 i);

#define PARENTS_MAX   16          /* generations that a process may be below the selected one */
#define START_TIME_NS 10000000ULL /* a clock tick as user space counts them */
#define USER_CS       0x33        /* 64-bit code */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct pp_collect_config pp_collect_config SEC(".data.cfg");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* user space sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct pp_collect_state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* user space may set another */
} records SEC(".maps");

/* Windows for the test programs; created only where those are loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PP_COLLECT_GIVEN_MAX);
	__type(key, __u32);
	__type(value, struct pp_collect_given);
} given SEC(".maps");

static __always_inline struct pp_collect_state *pp_collect_mine(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&states, &cpu);
}

static __always_inline long pp_collect_output(void *record, __u64 size)
{
	return bpf_ringbuf_output(&records, record, PP_MASK(size, PP_COLLECT_RECORD_MAX - 1),
				  BPF_RB_NO_WAKEUP);
}

static __always_inline void pp_collect_describe(struct pathprof_context *context);

#include "collect_steps.h"

/* ------------------------------------------------------------------ process */

/* The memory cgroup of hierarchy v1, by which containers are told apart; 0: there is none. */
static __always_inline __u64 cgroup_v1(struct task_struct *task)
{
	struct css_set *groups = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;
	struct cgroup *cgroup;
	__u64 at;

	if (!groups || !bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	at = bpf_core_field_offset(struct css_set, subsys) +
	     bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(css);
	if (bpf_probe_read_kernel(&css, sizeof(css), (const char *)groups + at) || !css)
		return 0;
	cgroup = BPF_CORE_READ(css, cgroup);
	if (BPF_CORE_READ(cgroup, root) == BPF_CORE_READ(groups, dfl_cgrp, root))
		return 0;
	return BPF_CORE_READ(cgroup, kn, id);
}

static __always_inline void pp_collect_describe(struct pathprof_context *context)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	context->pid = bpf_get_current_pid_tgid() >> 32;
	context->start_time = BPF_CORE_READ(leader, start_boottime) / START_TIME_NS;
	context->cgroup = bpf_get_current_cgroup_id();
	context->cgroup_v1 = cgroup_v1(task);
	BPF_CORE_READ_INTO(&context->comm, leader, comm);
	context->comm[sizeof(context->comm) - 1] = 0;
}

/* ---------------------------------------------------------------- selection */

static __always_inline bool descends_from(__u32 pid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PARENTS_MAX; i++) {
		__u32 tgid = BPF_CORE_READ(task, tgid);

		if (tgid == pid)
			return true;
		if (tgid <= 1)
			return false;
		task = BPF_CORE_READ(task, real_parent);
	}
	return false;
}

/*
 * Programs of this kind have the helper at the latest from Linux 5.15 on, which the program
 * recognises by an enum value. On older ones no thread is in the group, and user space, which looks
 * for the same value, refuses to select by cgroup.
 */
static __always_inline bool is_below(__u64 cgroup, __u64 level)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	return bpf_get_current_ancestor_cgroup_id((int)level) == cgroup;
}

static __always_inline bool selects(__u64 ip)
{
	const struct pp_collect_config *config = &pp_collect_config;

	if (ip < config->ip_min || ip > config->ip_max)
		return false;
	if (config->cgroup && !is_below(config->cgroup, config->cgroup_level))
		return false;
	return !config->only_pid || descends_from(config->only_pid);
}

static __always_inline __u64 address_space(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, context.ctx_id);
}

/* ------------------------------------------------------------------- budget */

static __always_inline bool is_spent(struct pp_collect_state *s, __u64 now_ns)
{
	__u64 slice = now_ns >> pp_collect_config.slice_shift;

	if (s->slice != slice) {
		s->slice = slice;
		s->slice_spent_ns = 0;
	}
	return s->slice_spent_ns > pp_collect_config.slice_budget_ns;
}

static __always_inline void charge(struct pp_collect_state *s, __u64 begun_ns)
{
	__u64 spent_ns = bpf_ktime_get_ns() - begun_ns;

	s->slice_spent_ns += spent_ns;
	s->stats.value[PATHPROF_STAT_SPENT_NS] += spent_ns;
}

/* ------------------------------------------------------------------- sample */

/* 0, or which PATHPROF_STAT_SKIP_* says why this sample is left out. */
static __always_inline __u32 refuses(struct pp_collect_state *s, struct bpf_perf_event_data *ctx,
				     __u64 now_ns, __u64 space)
{
	__u64 cs = ctx->regs.cs;

	if (!space)
		return PATHPROF_STAT_SKIP_KERNEL;
	if (!selects(ctx->regs.rip))
		return PATHPROF_STAT_SKIP_SELECTION;
	if ((cs & 3) && cs != USER_CS)
		return PATHPROF_STAT_SKIP_COMPAT;
	return is_spent(s, now_ns) ? PATHPROF_STAT_SKIP_BUDGET : 0;
}

static __always_inline void take(struct pp_collect_state *s, struct bpf_perf_event_data *ctx,
				 __u64 space)
{
	long len_bytes = bpf_read_branch_records(ctx, s->stack, sizeof(s->stack), 0);

	if (len_bytes <= 0)
		pp_collect_count(s, PATHPROF_STAT_LBR_NO_STACK);
	else
		pp_collect_window((__u32)len_bytes / sizeof(s->stack[0]), space);
}

/* An interrupt before busy is set leaves it 0 again; one that comes later finds 1 and returns. */
static __always_inline bool begin(struct pp_collect_state *s)
{
	if (*(volatile __u32 *)&s->busy) {
		pp_collect_count(s, PATHPROF_STAT_LOST_BUSY);
		return false;
	}
	*(volatile __u32 *)&s->busy = 1;
	return true;
}

static __always_inline void end(struct pp_collect_state *s)
{
	*(volatile __u32 *)&s->busy = 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u64 begun_ns = bpf_ktime_get_ns(), space = address_space();
	__u32 why;

	if (!s)
		return 0;
	pp_collect_count(s, PATHPROF_STAT_SAMPLES);
	if (!begin(s))
		return 0;
	why = refuses(s, ctx, begun_ns, space);
	if (why)
		s->stats.value[PP_MASK(why, 63)]++;
	else
		take(s, ctx, space);
	charge(s, begun_ns);
	end(s);
	return 0;
}

/* args[0]: the first slot to write out; a number above all slots writes out the rest. */
SEC("raw_tp")
int on_drain(struct bpf_raw_tracepoint_args *ctx)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u64 begun_ns = bpf_ktime_get_ns(), first = ctx->args[0];

	if (!s || !begin(s))
		return 0;
	if (first < PP_HPT_MAX)
		pp_collect_drain_slots((__u32)first);
	else
		pp_collect_drain_rest(0);
	s->stats.value[PATHPROF_STAT_SPENT_NS] += bpf_ktime_get_ns() - begun_ns;
	end(s);
	return 0;
}

/* --------------------------------------------------------------------- test */

/* Takes window i of the test's array in place of a sample's. */
PP_COLLECT_STEP int take_given(__u32 i)
{
	struct pp_collect_given *window = bpf_map_lookup_elem(&given, &i);
	struct pp_collect_state *s = pp_collect_mine();

	if (!s || !window)
		return 0;
	s->given = 1;
	s->naming.context = window->who;
	bpf_probe_read_kernel(s->stack, sizeof(s->stack), window->stack);
	pp_collect_window((__u32)window->cnt, window->who.address_space);
	s->given = 0;
	return 0;
}

static __always_inline int take_all_given(void)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u64 begun_ns = bpf_ktime_get_ns();
	__u32 i;

	if (!s || !begin(s))
		return 1;
	PP_NO_UNROLL
	for (i = 0; i < PP_COLLECT_GIVEN_MAX; i++)
		take_given(i);
	charge(s, begun_ns);
	end(s);
	return 0;
}

SEC("syscall")
int on_given(void *ctx)
{
	return take_all_given();
}

/* For kernels before 5.14, which cannot load programs of type syscall. */
SEC("raw_tp")
int on_given_raw_tp(void *ctx)
{
	return take_all_given();
}
