// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about BPF. The probe is a small version of the real thing: it loads a sampling program of
 * two instructions, and creates a map that can be mapped.
 */
#include "doctor.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <unistd.h>

#include "../text/cleanup.h"

static int try_map(void)
{
	const struct bpf_map_create_opts options = {
		.sz = sizeof(options),
		.map_flags = BPF_F_MMAPABLE,
	};
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 8, 1, &options);

	return fd < 0 ? fd : 0;
}

static int try_program(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int fd =
		bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", code, 2, NULL);

	return fd < 0 ? fd : 0;
}

/* The result of bpf(2) itself, since libbpf has nothing to add here. */
static void add_program(struct facts *facts)
{
	int r = try_map();
	struct pathprof_refused refused;
	_cleanup_free_ char *why = NULL;

	if (!r)
		r = try_program();
	/* an unknown type of program is one of many things that the kernel says this for */
	facts->bpf_code = r;
	if (r == 0) {
		fact_value(facts_add(facts, FACT_OK, "BPF programs", NULL, NULL),
			   "one that samples loads");
		return;
	}
	refused = pathprof_explain(PATHPROF_ASK_BPF, r, &facts->machine);
	why = ctl_printf("%s: %s", refused.code, refused.why);
	fact_value(facts_add(facts, FACT_NO, "BPF programs", why, refused.change), "refused");
}

static void add_types(struct facts *facts)
{
	struct pathprof_refused refused;

	if (facts->machine.has_btf) {
		fact_value(facts_add(facts, FACT_OK, "BPF types", NULL, NULL),
			   "/sys/kernel/btf/vmlinux");
		return;
	}
	/* the error that libbpf will return for a program that reads the kernel's types */
	if (facts->bpf_code == 0)
		facts->bpf_code = -ESRCH;
	refused = pathprof_explain(PATHPROF_ASK_BPF, -ESRCH, &facts->machine);
	fact_value(facts_add(facts, FACT_NO, "BPF types", refused.why, refused.change), "none");
}

/* Lockdown forbids programs that read the kernel's memory, which the sampling one has to. */
static void add_lockdown(struct facts *facts)
{
	struct pathprof_refused refused;

	if (facts->machine.lockdown != PATHPROF_LOCKDOWN_CONFIDENTIALITY)
		return;
	if (facts->bpf_code == 0)
		facts->bpf_code = -EINVAL;
	refused = pathprof_explain(PATHPROF_ASK_BPF, -EINVAL, &facts->machine);
	fact_value(facts_add(facts, FACT_NO, "BPF under lockdown", refused.why, refused.change),
		   "refused");
}

static void add_unprivileged(struct facts *facts)
{
	bool open = facts->machine.unprivileged_bpf == 0;

	if (facts->machine.unprivileged_bpf == PATHPROF_NO_SETTING)
		return;
	fact_value(facts_add(facts, open ? FACT_WARN : FACT_OK, "unprivileged BPF",
			     open ? "pathprof does not need it, and it is a risk" : NULL,
			     open ? "sysctl kernel.unprivileged_bpf_disabled=2" : NULL),
		   "%s", open ? "allowed" : "disabled");
}

void doctor_bpf(struct facts *facts)
{
	libbpf_set_print(NULL);
	add_program(facts);
	add_types(facts);
	add_lockdown(facts);
	add_unprivileged(facts);
}
