/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The abilities of a machine: which event counts taken branches on its processor, and why the
 * kernel refused a request, with what would change that. The doctor and the callers that open a
 * source explain it in the same words, which are made here.
 *
 * Workload: some times at a start. Reading looks at a dozen small files, everything else is a pure
 * function; any thread. Source: perf_event_open(2), bpf(2), kernel_lockdown(7), capabilities(7).
 */
#ifndef PATHPROF_MACHINE_H
#define PATHPROF_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- facts */

enum pathprof_lockdown {
	PATHPROF_LOCKDOWN_NONE,
	PATHPROF_LOCKDOWN_INTEGRITY,
	PATHPROF_LOCKDOWN_CONFIDENTIALITY,
};

/* A setting that the kernel does not have. */
#define PATHPROF_NO_SETTING (-100)

#define PATHPROF_KERNEL(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8)

struct pathprof_machine {
	uint64_t capabilities;    /* bits CAP_*, effective in this thread */
	uint32_t kernel;          /* PATHPROF_KERNEL(); 0: not known */
	int32_t paranoid;         /* kernel.perf_event_paranoid */
	int32_t unprivileged_bpf; /* kernel.unprivileged_bpf_disabled */
	enum pathprof_lockdown lockdown;
	uint32_t amd_family; /* 0x19: Zen 3 and 4; 0: of another maker */
	bool has_brs;        /* the processor has Zen 3's branch sampling */
	bool is_guest;       /* a hypervisor shows itself */
	bool has_counters;   /* the kernel drives this processor's hardware counters */
	bool has_btf;        /* the kernel carries its types */
	bool is_filtered;    /* by seccomp */
	bool is_user_ns;     /* capabilities are those of a user namespace below the initial one */
};

/* Reads the facts about this machine and thread. root: "", or the directory that holds the proc and
 * sys to read (tests). */
void pathprof_machine_read(struct pathprof_machine *ret_machine, const char *root);

/* ---------------------------------------------------------------- the event */

/* The directory of the kernel's descriptions of PMUs. */
#define PATHPROF_PMUS "/sys/bus/event_source/devices"

struct pathprof_hardware_event {
	uint32_t type; /* perf_event_attr.type, and so on */
	uint64_t config;
	bool counts_taken; /* false: all branches, where a processor has no event of those taken */
	char name[64];     /* for people */
};

/*
 * "A branch was taken" as that CPU's processor counts it: by libpfm4's name for it, or for
 * processors that libpfm4 does not know yet, by its maker's manual; else the kernel's event for
 * branches. CPUs of hybrids differ. pmus: PATHPROF_PMUS, or a directory like it.
 */
void pathprof_taken_event(struct pathprof_hardware_event *ret_event, uint32_t cpu,
			  const char *pmus);

/*
 * The flags to request a branch stack with on this machine: user space's branches and, if the
 * machine can tell them, their kinds. PERF_SAMPLE_BRANCH_*.
 */
uint64_t pathprof_branch_sample_type(const struct pathprof_machine *machine);

/* ---------------------------------------------------------------- refusals */

/* The request that the kernel refused. */
enum pathprof_ask {
	PATHPROF_ASK_BRANCH_STACK, /* perf_event_open: a hardware event with its branch stack */
	PATHPROF_ASK_EVENT,        /* perf_event_open: any other */
	PATHPROF_ASK_BPF,          /* bpf(2), by libbpf: maps, and programs that sample */
	PATHPROF_ASK_CNT,
};

struct pathprof_refused {
	const char *code;   /* "ENOENT" */
	const char *why;    /* what that means on this machine */
	const char *change; /* what would change it, NULL: nothing that is known */
};

/* code: the negative errno that came back. Strings live for ever. */
struct pathprof_refused pathprof_explain(enum pathprof_ask ask, int code,
					 const struct pathprof_machine *machine);
/*
 * The same of this machine as one line, begun with what was tried: "bpf: perf event on CPU 3".
 * Returns code.
 */
int pathprof_explain_here(enum pathprof_ask ask, int code, const char *what,
			  struct pathprof_error *error);
/* pathprof_explain_here for PATHPROF_ASK_BRANCH_STACK and PATHPROF_ASK_BPF. */
int pathprof_explain_perf(int code, const char *what, struct pathprof_error *error);
int pathprof_explain_bpf(int code, const char *what, struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
