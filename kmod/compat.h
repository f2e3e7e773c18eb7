/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one file that knows kernels apart, by what the probes found (probe/, Kbuild), never by
 * version.
 */
#ifndef PATHPROF_KMOD_COMPAT_H
#define PATHPROF_KMOD_COMPAT_H

#include <linux/mm.h>
#include <linux/perf_event.h>

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

#endif
