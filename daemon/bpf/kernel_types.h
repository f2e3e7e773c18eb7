/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The few members of the kernel's structures that BPF programs read. Where they lie is found when a
 * program is loaded (CO-RE), by their names, in the type information of the running kernel.
 */
#ifndef PP_KERNEL_TYPES_H
#define PP_KERNEL_TYPES_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup_root;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

enum cgroup_subsys_id {
	memory_cgrp_id,
};

typedef struct {
	__u64 ctx_id;
} mm_context_t;

struct mm_struct {
	mm_context_t context;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	int tgid;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	__u64 start_boottime;
	char comm[16];
};

#pragma clang attribute pop

#endif
