/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one file that knows kernels apart, by what the probes found (probe/, Kbuild), never by
 * version.
 */
#ifndef PATHPROF_KMOD_COMPAT_H
#define PATHPROF_KMOD_COMPAT_H

#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched/isolation.h>
#include <linux/tick.h>

/* The arguments of a probe on the tracepoint sched_switch. */
#ifdef PP_HAVE_SWITCH_STATE
#define PP_SWITCH_ARGUMENTS                                                                        \
	void *unused, bool preempt, struct task_struct *prev, struct task_struct *next,            \
		unsigned int prev_state
#else
#define PP_SWITCH_ARGUMENTS                                                                        \
	void *unused, bool preempt, struct task_struct *prev, struct task_struct *next
#endif

/*
 * The branch stack of a sample, NULL for none. Where the kernel keeps flags the pointer alone means
 * nothing: it is not cleared between samples.
 */
static inline const struct perf_branch_stack *pp_sample_stack(const struct perf_sample_data *data)
{
#ifdef PP_HAVE_SAMPLE_FLAGS
	if (!(data->sample_flags & PERF_SAMPLE_BRANCH_STACK))
		return NULL;
#endif
	return data->br_stack;
}

/* The processor recorded it but never went there. */
static inline bool pp_branch_is_wrong_path(const struct perf_branch_entry *entry)
{
#ifdef PP_HAVE_BRANCH_SPEC
	return entry->spec == PERF_BR_SPEC_WRONG_PATH;
#else
	return false;
#endif
}

static inline void pp_vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				   unsigned long clear)
{
#ifdef PP_HAVE_VM_FLAGS
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* By isolcpus=, nohz_full= or, where the kernel says so, an isolated partition of cpusets. */
static inline bool pp_cpu_is_isolated(int cpu)
{
#ifdef PP_HAVE_CPU_IS_ISOLATED
	return cpu_is_isolated(cpu);
#elif defined(PP_HAVE_HK_TYPE)
	return !housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN) || tick_nohz_full_cpu(cpu);
#else
	return !housekeeping_test_cpu(cpu, HK_FLAG_DOMAIN) || tick_nohz_full_cpu(cpu);
#endif
}

#endif
