/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The core inside BPF, over recorded branches: takes records from an array that user space maps,
 * runs the chain or the value table over them, leaves what came out in a second array.
 *
 * Workload: a test; windows of 32 branches as a branch stack would bring them, so that the outer
 * loop has the shape of the shipped program: a bounded loop that calls a global function, which
 * looks its map values up itself. The verifier then checks that function once.
 *
 * Locking and ownership: the entry runs on the one CPU that user space pinned itself to, which
 * alone touches that CPU's state while the program runs.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "home.h"

char LICENSE[] SEC("license") = "GPL";

struct home_config config SEC(".data.cfg");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* user space sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct home_state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HOME_BATCH);
	__type(key, __u32);
	__type(value, struct pp_branch);
} input SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HOME_BATCH);
	__type(key, __u32);
	__type(value, struct home_output);
} output SEC(".maps");

int g_step(__u32 i);
int g_value(__u32 i);
int g_nothing(__u32 i);
int g_window(__u32 first);
int on_syscall(void *ctx);
int on_raw_tp(void *ctx);

__attribute__((noinline)) int g_step(__u32 i)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct home_state *s = bpf_map_lookup_elem(&state, &cpu);
	struct pp_branch *b = bpf_map_lookup_elem(&input, &i);
	struct home_output *o = bpf_map_lookup_elem(&output, &i);

	if (!s || !b || !o)
		return 0;
	o->flags = pp_chain_step(&s->chain, &config.chain, b, &o->message, &o->replaced);
	return 0;
}

__attribute__((noinline)) int g_value(__u32 i)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct home_state *s = bpf_map_lookup_elem(&state, &cpu);
	struct pp_branch *b = bpf_map_lookup_elem(&input, &i);
	struct home_output *o = bpf_map_lookup_elem(&output, &i);

	if (!s || !b || !o)
		return 0;
	o->flags = pp_value_table_step(&s->values, &config.tnv, b->from, b->next);
	return 0;
}

/* What a step costs without its work. */
__attribute__((noinline)) int g_nothing(__u32 i)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct home_state *s = bpf_map_lookup_elem(&state, &cpu);
	struct pp_branch *b = bpf_map_lookup_elem(&input, &i);
	struct home_output *o = bpf_map_lookup_elem(&output, &i);

	if (!s || !b || !o)
		return 0;
	o->flags = b->info;
	return 0;
}

__attribute__((noinline)) int g_window(__u32 first)
{
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < HOME_WINDOW; i++) {
		if (config.what == HOME_CHAIN)
			g_step(first + i);
		else if (config.what == HOME_VALUES)
			g_value(first + i);
		else
			g_nothing(first + i);
	}
	return 0;
}

static __attribute__((always_inline)) int run(void)
{
	__u64 before = bpf_ktime_get_ns();
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < HOME_SLICE / HOME_WINDOW; i++)
		g_window(config.first + i * HOME_WINDOW);
	config.spent_ns += bpf_ktime_get_ns() - before;
	return 0;
}

SEC("syscall")
int on_syscall(void *ctx)
{
	return run();
}

/* Kernels before 5.14. */
SEC("raw_tp")
int on_raw_tp(void *ctx)
{
	return run();
}
