// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cache by address space, direct: two that share a place take a new number each time they take
 * turns, which costs a record of 72 bytes.
 *
 * Workload: once a window; from ten to some hundred address spaces in turn.
 */
#include "context.h"

#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "pipeline.h"
#include "ring.h"

#define CONTEXT_MAX   65535
#define START_TIME_NS (NSEC_PER_SEC / USER_HZ)

/* The memory cgroup, which tells containers apart, if it has a hierarchy of its own; else 0. */
static u64 cgroup_v1(void)
{
#ifdef CONFIG_MEMCG
	struct cgroup *cgroup = task_css(current, memory_cgrp_id)->cgroup;

	return cgroup->root == task_dfl_cgroup(current)->root ? 0 : cgroup_id(cgroup);
#else
	return 0;
#endif
}

static void fill_cgroups(struct pathprof_context *context)
{
	rcu_read_lock();
	context->cgroup = cgroup_id(task_dfl_cgroup(current));
	context->cgroup_v1 = cgroup_v1();
	rcu_read_unlock();
}

static bool write_context(u64 address_space, u32 number)
{
	struct pathprof_context context = {
		.address_space = address_space,
		.start_time = div_u64(current->group_leader->start_boottime, START_TIME_NS),
		.pid = current->tgid,
		.context = number,
	};

	BUILD_BUG_ON(sizeof(context.comm) != sizeof(current->group_leader->comm));
	memcpy(context.comm, current->group_leader->comm, sizeof(context.comm));
	context.comm[sizeof(context.comm) - 1] = 0;
	fill_cgroups(&context);
	return pp_ring_write(PATHPROF_RECORD_CONTEXT, &context, sizeof(context));
}

/* Numbers begin again: whatever is tagged with an old one goes out before, and is void after. */
static void renumber(struct pp_tables *t)
{
	pp_pipeline_drain(t);
	memset(t->context, 0, sizeof(t->context));
	memset(&t->defined, 0, sizeof(t->defined));
	t->last_context = 0;
}

static u32 new_number(struct pp_tables *t, struct pp_context *context, u64 space)
{
	if (t->last_context == CONTEXT_MAX)
		renumber(t);
	if (!write_context(space, t->last_context + 1))
		return 0;
	context->address_space = space;
	context->number = ++t->last_context;
	return context->number;
}

u32 pp_context_of_current(struct pp_tables *t)
{
	u64 space = current->mm ? current->mm->context.ctx_id : 0;
	struct pp_context *context = &t->context[hash_64(space, PP_CONTEXT_BITS)];

	if (!space)
		return 0;
	if (likely(context->address_space == space))
		return context->number;
	return new_number(t, context, space);
}
