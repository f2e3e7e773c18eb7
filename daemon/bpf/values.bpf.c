/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Values of parameters: a probe near a function's entry gives <site, value> to the core's
 * compressor, messages go to a ring (RPS 2.1 with VP's parameters). The processes to record are a
 * set that forks extend: the daemon decides which are probed, and this program which are counted.
 *
 * Workload: up to a million executions a second and CPU, since the trap itself takes 0.5 to 15 us;
 * this adds about 0.1 us. No wake-ups but for a fork, which the daemon answers with a probe.
 *
 * Locking: the state belongs to the CPU. A probe runs in its task and may lose the CPU to another
 * task that is probed: whoever finds the state taken counts that and leaves. Counters of executions
 * are atomic, so they are exact all the same.
 *
 * Ownership: the maps live as long as the daemon holds them.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "kernel_types.h"
#include "values.h"

char LICENSE[] SEC("license") = "GPL";

/* x86-64's registers as a probe sees them. */
struct registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};

struct pp_values_config config SEC(".data.cfg");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the daemon sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct pp_values_state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PP_VALUES_FAMILY_MAX);
	__type(key, __u32);
	__type(value, __u32);
} family SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PP_VALUES_RING_BYTES);
} ring SEC(".maps");

int on_value_multi(struct registers *registers);
int on_value_perf(struct registers *registers);
int on_fork(struct bpf_raw_tracepoint_args *context);
int on_exit(struct bpf_raw_tracepoint_args *context);

/* ---------------------------------------------------------------- executions */

/* All six are loaded first: the verifier wants each from a fixed place. */
static __attribute__((always_inline)) __u64 argument_of(const struct registers *registers,
							__u32 argument)
{
	__u64 di = *(volatile const __u64 *)&registers->di;
	__u64 si = *(volatile const __u64 *)&registers->si;
	__u64 dx = *(volatile const __u64 *)&registers->dx;
	__u64 cx = *(volatile const __u64 *)&registers->cx;
	__u64 r8 = *(volatile const __u64 *)&registers->r8;
	__u64 r9 = *(volatile const __u64 *)&registers->r9;

	if (argument == 1)
		return di;
	if (argument == 2)
		return si;
	if (argument == 3)
		return dx;
	if (argument == 4)
		return cx;
	return argument == 5 ? r8 : r9;
}

static __attribute__((always_inline)) void emit(struct pp_values_state *s,
						const struct pp_message *message)
{
	struct pp_values_record record = {
		PP_VALUES_HEAD(PP_VALUES_MESSAGE, message->tuple.pc - 1),
		message->tuple.word,
		message->count,
	};

	if (bpf_ringbuf_output(&ring, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&s->drops[PP_VALUES_DROP_RING_FULL], record.count);
}

/* The caller owns the state. */
static __attribute__((always_inline)) void
step(struct pp_values_state *s, struct pp_values_site *site, __u32 number, __u64 value)
{
	const struct pp_tuple tuple = {(__u64)number + 1, value};
	struct pp_message message = {{0, 0}, 0};

	if (site->seen && site->last == value)
		site->same++;
	site->last = value;
	site->seen = 1;
	if (pp_compress_step(&s->compress, &config.compress, &tuple, &message))
		emit(s, &message);
}

static __attribute__((always_inline)) int take(struct registers *registers)
{
	__u32 tgid = (__u32)(bpf_get_current_pid_tgid() >> 32), cpu = bpf_get_smp_processor_id();
	__u64 cookie = bpf_get_attach_cookie(registers), value;
	struct pp_values_state *s = bpf_map_lookup_elem(&state, &cpu);
	struct pp_values_site *site;
	__u32 number;

	if (!s || !bpf_map_lookup_elem(&family, &tgid))
		return 0;
	if (cookie >= PP_VALUES_SITE_MAX || cookie >= config.site_cnt) {
		__sync_fetch_and_add(&s->drops[PP_VALUES_DROP_SITE], 1);
		return 0;
	}
	number = (__u32)PP_MASK(cookie, PP_VALUES_SITE_MAX - 1);
	site = &s->site[number];
	value = argument_of(registers, config.argument[number]);
	__sync_fetch_and_add(&site->executed, 1);
	if (__sync_lock_test_and_set(&s->busy, 1)) {
		__sync_fetch_and_add(&s->drops[PP_VALUES_DROP_BUSY], 1);
		return 0;
	}
	step(s, site, number, value);
	__sync_lock_test_and_set(&s->busy, 0);
	return 0;
}

/* The same program for both ways to attach it: kernels tell them apart when it is loaded. */
SEC("uprobe")
int on_value_multi(struct registers *registers)
{
	return take(registers);
}

SEC("uprobe")
int on_value_perf(struct registers *registers)
{
	return take(registers);
}

/* ---------------------------------------------------------------- who belongs to them */

/* 0, or a negative errno: the ring is full. */
static __attribute__((always_inline)) long tell(__u32 kind, __u32 tgid)
{
	struct pp_values_record record = {PP_VALUES_HEAD(kind, tgid), 0, 0};

	return bpf_ringbuf_output(&ring, &record, sizeof(record), BPF_RB_FORCE_WAKEUP);
}

static __attribute__((always_inline)) void count_drop(__u32 reason)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct pp_values_state *s = bpf_map_lookup_elem(&state, &cpu);

	if (s)
		__sync_fetch_and_add(&s->drops[PP_MASK(reason, PP_VALUES_DROP_CNT - 1)], 1);
}

/* A process id may have been one of the family's before. */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *parent = (struct task_struct *)context->args[0];
	struct task_struct *child = (struct task_struct *)context->args[1];
	__u32 from = (__u32)BPF_CORE_READ(parent, tgid), to = (__u32)BPF_CORE_READ(child, tgid);

	if (from == to)
		return 0;
	if (!bpf_map_lookup_elem(&family, &from)) {
		bpf_map_delete_elem(&family, &to);
		return 0;
	}
	if (bpf_map_update_elem(&family, &to, &from, BPF_ANY) || tell(PP_VALUES_FORK, to))
		count_drop(PP_VALUES_DROP_FAMILY);
	return 0;
}

/*
 * Threads end as well: a process has when none is left. An end that finds no room in the ring
 * leaves its probes, which nobody hits any more, until the recording stops.
 */
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (struct task_struct *)context->args[0];
	__u32 tgid = (__u32)BPF_CORE_READ(task, tgid);

	if (BPF_CORE_READ(task, signal, live.counter) || !bpf_map_lookup_elem(&family, &tgid))
		return 0;
	bpf_map_delete_elem(&family, &tgid);
	tell(PP_VALUES_EXIT, tgid);
	return 0;
}
