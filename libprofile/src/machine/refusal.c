// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Why the kernel refused: a table of (what was asked, code, what holds of the machine), of which
 * the first row that fits is the answer. See pathprof/machine.h for workload and ownership.
 *
 * Source: perf_event_open(2), bpf(2); for branch stacks what x86's drivers of the kernel refuse
 * (Intel's LBR, AMD's BRS since 5.19 and LbrExtV2 since 6.1).
 */
#include "pathprof/machine.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <string.h>

/* Facts about the machine that a row may require. */
enum condition {
	GUEST = 1 << 0,
	NO_COUNTERS = 1 << 1,
	ZEN3_OR_LATER = 1 << 2,
	BRS = 1 << 3,
	BEFORE_6_1 = 1 << 4,
	BEFORE_5_11 = 1 << 5,
	NO_PERFMON = 1 << 6,
	NO_BPF = 1 << 7,
	CONFIDENTIAL = 1 << 8,
	FILTERED = 1 << 9,
	USER_NS = 1 << 10,
	NO_BTF = 1 << 11,
	PARANOID_3 = 1 << 12, /* as Debian's kernels know it, and by default */
	NO_ADMIN = 1 << 13,
};

#define ASK_STACK (1u << PATHPROF_ASK_BRANCH_STACK)
#define ASK_EVENT (1u << PATHPROF_ASK_EVENT)
#define ASK_PERF  (ASK_STACK | ASK_EVENT)
#define ASK_BPF   (1u << PATHPROF_ASK_BPF)
#define ASK_ANY   (ASK_PERF | ASK_BPF)

#define WANT_PMU     "a virtual machine that is given a PMU with branch records, or bare metal"
#define WANT_INITIAL "the initial user namespace: no PrivateUsers=, no rootless container"
#define WANT_CAPS    "root, or CAP_BPF and CAP_PERFMON, as the service's unit grants them"
#define WANT_NO_LOCK "lockdown=integrity, or none, on the kernel's command line"
#define WANT_POLICY  "a policy of that module that allows it"

static const struct row {
	unsigned int asks;  /* ASK_* */
	int code;           /* errno */
	unsigned int needs; /* enum condition, all of them */
	const char *why, *change;
} rows[] = {
	{ASK_PERF, ENOENT, NO_COUNTERS | GUEST,
	 "the hypervisor shows this virtual machine no hardware counters", WANT_PMU},
	{ASK_PERF, ENOENT, NO_COUNTERS, "the kernel drives no hardware counters of this processor",
	 "a newer kernel, and counters that the firmware has not switched off"},
	{ASK_PERF, ENOENT, 0, "this CPU's hardware counters do not have the event",
	 "Event= empty, or with one that this processor has"},

	{ASK_STACK, EOPNOTSUPP, NO_COUNTERS, "only hardware's events come with a branch stack",
	 "Event= with one of hardware, on a machine that has counters"},
	{ASK_STACK, EOPNOTSUPP, GUEST,
	 "the hypervisor shows this virtual machine counters and no branch stack",
	 "a hypervisor that hands it on (KVM on Intel: Linux 5.12 or later, lbr-fmt= of the CPU "
	 "model), or bare metal"},
	{ASK_STACK, EOPNOTSUPP, ZEN3_OR_LATER | BEFORE_6_1,
	 "this kernel does not know the processor's branch stack",
	 "Linux 6.1 or later; for Zen 3, 5.19"},
	{ASK_STACK, EOPNOTSUPP, BRS, "this kernel is built without Zen 3's branch sampling",
	 "a kernel with CONFIG_PERF_EVENTS_AMD_BRS"},
	{ASK_STACK, EOPNOTSUPP, 0, "counters work, and this processor keeps no branch stack",
	 "a processor with LBR (Intel), BRS or LbrExtV2 (AMD from Zen 3 on) or BRBE (Arm)"},
	{ASK_PERF, EOPNOTSUPP, 0, "the kernel does not offer this kind of event here",
	 "another kernel, or another event"},

	{ASK_STACK, EINVAL, BRS,
	 "Zen 3 records branches only for taken branches counted with a fixed period",
	 "Event= empty"},
	{ASK_STACK, EINVAL, 0, "the kernel refuses a branch stack on this event",
	 "Event= empty, or a newer kernel"},
	{ASK_PERF, EINVAL, 0, "the kernel does not know this form of event", "a newer kernel"},

	{ASK_PERF, EACCES, USER_NS,
	 "this is a user namespace, whose capabilities do not count for perf events", WANT_INITIAL},
	{ASK_PERF, EACCES, PARANOID_3 | NO_ADMIN,
	 "kernel.perf_event_paranoid is above 2, which allows it with CAP_SYS_ADMIN alone",
	 "CAP_SYS_ADMIN when the service starts, as its unit grants it and the service gives it "
	 "up; or "
	 "kernel.perf_event_paranoid=2 in a file of /etc/sysctl.d, then sysctl --system"},
	{ASK_PERF, EACCES, NO_PERFMON,
	 "kernel.perf_event_paranoid does not allow it without CAP_PERFMON",
	 "root or CAP_PERFMON; or kernel.perf_event_paranoid at 0"},
	{ASK_PERF, EACCES, 0, "a security module (SELinux, AppArmor) refuses perf events",
	 WANT_POLICY},

	{ASK_PERF, EPERM, FILTERED, "a seccomp filter refuses perf_event_open",
	 "SystemCallFilter=perf_event_open in the unit, or the container's seccomp profile"},
	{ASK_PERF, EPERM, USER_NS,
	 "this is a user namespace, whose capabilities do not count for perf events", WANT_INITIAL},
	{ASK_PERF, EPERM, CONFIDENTIAL, "kernel lockdown is at confidentiality", WANT_NO_LOCK},
	{ASK_PERF, EPERM, NO_PERFMON, "CAP_PERFMON is missing", "root or CAP_PERFMON"},
	{ASK_PERF, EPERM, 0, "a security module refuses perf events", WANT_POLICY},

	{ASK_PERF, EBUSY, 0, "another user holds the hardware counters",
	 "end it; kernel.nmi_watchdog=0 frees one counter"},

	{ASK_EVENT, ENOSPC, 0, "there are too many threads for an event each on every CPU",
	 "a recording of a process with fewer threads, or of the whole machine"},

	{ASK_BPF, EPERM, USER_NS,
	 "this is a user namespace, whose capabilities do not count for BPF", WANT_INITIAL},
	{ASK_BPF, EPERM, NO_BPF | NO_PERFMON, "CAP_BPF and CAP_PERFMON are missing", WANT_CAPS},
	{ASK_BPF, EPERM, NO_BPF, "CAP_BPF is missing", WANT_CAPS},
	{ASK_BPF, EPERM, NO_PERFMON, "CAP_PERFMON is missing", WANT_CAPS},
	{ASK_BPF, EPERM, FILTERED, "a seccomp filter refuses bpf",
	 "SystemCallFilter=bpf in the unit, or the container's seccomp profile"},
	{ASK_BPF, EPERM, CONFIDENTIAL, "kernel lockdown is at confidentiality", WANT_NO_LOCK},
	{ASK_BPF, EPERM, BEFORE_5_11,
	 "before Linux 5.11 maps count as locked memory, of which the limit allows too little",
	 "LimitMEMLOCK=infinity in the unit, ulimit -l unlimited in a shell"},
	{ASK_BPF, EPERM, 0, "a security module refuses bpf", WANT_POLICY},

	{ASK_BPF, EACCES, NO_PERFMON, "the verifier refuses the program without CAP_PERFMON",
	 WANT_CAPS},
	{ASK_BPF, EACCES, CONFIDENTIAL, "kernel lockdown is at confidentiality", WANT_NO_LOCK},
	{ASK_BPF, EACCES, 0, "the verifier of this kernel refuses the program", "another kernel"},
	{ASK_BPF, EINVAL, CONFIDENTIAL,
	 "kernel lockdown at confidentiality takes from BPF programs what reads kernel memory",
	 WANT_NO_LOCK},
	{ASK_BPF, EINVAL, 0, "this kernel lacks something that the program uses",
	 "Linux 5.10 or later with CONFIG_BPF_EVENTS"},
	{ASK_BPF, E2BIG, 0, "the verifier of this kernel gives up on the program",
	 "another kernel"},
	{ASK_BPF, ESRCH, NO_BTF, "the kernel carries no BTF, its own types",
	 "a kernel with CONFIG_DEBUG_INFO_BTF"},
	{ASK_BPF, ENOENT, NO_BTF, "the kernel carries no BTF, its own types",
	 "a kernel with CONFIG_DEBUG_INFO_BTF"},
	{ASK_BPF, ESRCH, 0, "the kernel's types lack one that the program reads", "another kernel"},
	{ASK_BPF, ENOENT, 0, "the kernel's types lack one that the program reads",
	 "another kernel"},
	{ASK_BPF, ENOMEM, 0, "no memory for the maps: 1.5 MiB for each possible CPU",
	 "a larger MemoryMax= in the unit"},
	{ASK_BPF, EOPNOTSUPP, 0, "this kernel cannot attach BPF programs to such events",
	 "a kernel with CONFIG_BPF_EVENTS"},

	{ASK_ANY, ENOSYS, FILTERED, "a seccomp filter hides the system call",
	 "the container's seccomp profile, or SystemCallFilter= in the unit"},
	{ASK_PERF, ENOSYS, 0, "this kernel is built without perf events",
	 "a kernel with CONFIG_PERF_EVENTS"},
	{ASK_BPF, ENOSYS, 0, "this kernel is built without BPF",
	 "a kernel with CONFIG_BPF_SYSCALL"},
	{ASK_PERF, ENOMEM, 0, "no memory for it", "a larger MemoryMax= in the unit"},
	{ASK_ANY, EMFILE, 0, "too many open files", "LimitNOFILE= in the unit, or ulimit -n"},
};

static unsigned int conditions_of(const struct pathprof_machine *m)
{
	const uint64_t all = UINT64_C(1) << CAP_SYS_ADMIN;
	const struct {
		bool holds;
		unsigned int bit;
	} each[] = {
		{m->is_guest, GUEST},
		{!m->has_counters, NO_COUNTERS},
		{m->amd_family >= 0x19, ZEN3_OR_LATER},
		{m->has_brs, BRS},
		{m->kernel && m->kernel < PATHPROF_KERNEL(6, 1), BEFORE_6_1},
		{m->kernel && m->kernel < PATHPROF_KERNEL(5, 11), BEFORE_5_11},
		{!(m->capabilities & (all | UINT64_C(1) << CAP_PERFMON)), NO_PERFMON},
		{!(m->capabilities & (all | UINT64_C(1) << CAP_BPF)), NO_BPF},
		{m->lockdown == PATHPROF_LOCKDOWN_CONFIDENTIALITY, CONFIDENTIAL},
		{m->is_filtered, FILTERED},
		{m->is_user_ns, USER_NS},
		{!m->has_btf, NO_BTF},
		{m->paranoid > 2, PARANOID_3},
		{!(m->capabilities & all), NO_ADMIN},
	};
	unsigned int conditions = 0;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		conditions |= each[i].holds ? each[i].bit : 0;
	return conditions;
}

struct pathprof_refused pathprof_explain(enum pathprof_ask ask, int code,
					 const struct pathprof_machine *machine)
{
	unsigned int conditions = conditions_of(machine);
	/* No driver, in the words of an old one. */
	int number = code == -ENODEV ? ENOENT : -code;
	const char *name = strerrorname_np(-code), *text = strerrordesc_np(-code);
	struct pathprof_refused refused = {name ? name : "an error", text ? text : "unknown", NULL};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		if (!(row->asks >> ask & 1) || row->code != number ||
		    (conditions & row->needs) != row->needs)
			continue;
		refused.why = row->why;
		refused.change = row->change;
		break;
	}
	return refused;
}

int pathprof_explain_here(enum pathprof_ask ask, int code, const char *what,
			  struct pathprof_error *error)
{
	struct pathprof_machine machine;
	struct pathprof_refused refused;

	pathprof_machine_read(&machine, "");
	refused = pathprof_explain(ask, code, &machine);
	if (!refused.change)
		return pathprof_fail(error, code, "%s: %s: %s", what, refused.code, refused.why);
	return pathprof_fail(error, code, "%s: %s: %s; what would help: %s", what, refused.code,
			     refused.why, refused.change);
}

int pathprof_explain_perf(int code, const char *what, struct pathprof_error *error)
{
	return pathprof_explain_here(PATHPROF_ASK_BRANCH_STACK, code, what, error);
}

int pathprof_explain_bpf(int code, const char *what, struct pathprof_error *error)
{
	return pathprof_explain_here(PATHPROF_ASK_BPF, code, what, error);
}
