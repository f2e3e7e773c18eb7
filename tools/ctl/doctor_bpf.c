// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about BPF. */
#include "doctor.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

static void add_program(struct facts *facts)
{
	int r;

	libbpf_set_print(NULL);
	r = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL);
	if (r == 1)
		fact_value(facts_add(facts, FACT_OK, "BPF programs", NULL, NULL),
			   "perf_event loads");
	else if (!doctor_capable(CAP_BPF) && !doctor_capable(CAP_SYS_ADMIN))
		fact_value(facts_add(facts, FACT_NO, "BPF programs",
				     "CAP_BPF and CAP_PERFMON are missing",
				     "run as root or with these"),
			   "not permitted");
	else
		fact_value(facts_add(facts, FACT_NO, "BPF programs",
				     r < 0 ? strerror(-r)
					   : "the kernel does not know perf_event programs",
				     "a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS"),
			   "none");
}

static void add_types(struct facts *facts)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		fact_value(facts_add(facts, FACT_OK, "BPF types", NULL, NULL),
			   "/sys/kernel/btf/vmlinux");
	else
		fact_value(facts_add(facts, FACT_NO, "BPF types", "the kernel carries no BTF",
				     "a kernel with CONFIG_DEBUG_INFO_BTF"),
			   "none");
}

static void add_unprivileged(struct facts *facts)
{
	_cleanup_free_ char *setting = ctl_read_line("/proc/sys/kernel/unprivileged_bpf_disabled");
	bool open = setting && !strcmp(setting, "0");

	if (!setting)
		return;
	fact_value(facts_add(facts, open ? FACT_WARN : FACT_OK, "unprivileged BPF",
			     open ? "pathprof does not need it, and it is a risk" : NULL,
			     open ? "sysctl kernel.unprivileged_bpf_disabled=2" : NULL),
		   "%s", open ? "allowed" : "disabled");
}

void doctor_bpf(struct facts *facts)
{
	add_program(facts);
	add_types(facts);
	add_unprivileged(facts);
}
