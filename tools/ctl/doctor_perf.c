// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about perf_event_open: the hardware branch stack, the clock, the tracker's events. */
#include "doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

#define BRANCH_STACK "branch stack"
#define PARANOID     "/proc/sys/kernel/perf_event_paranoid"

/* pid 0 and any CPU: this thread; pid -1: everything on one CPU. 0 or -errno. */
static int try_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	_cleanup_close_ int fd =
		(int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

/*
 * Fills attr with "a branch was taken" as this processor counts it. Returns the event's name,
 * NULL when libpfm4 knows none for it: then attr is the kernel's generic branch event.
 */
static const char *taken_event(struct perf_event_attr *attr)
{
	static const char *const names[] = {"BR_INST_RETIRED:NEAR_TAKEN",
					    "RETIRED_TAKEN_BRANCH_INSTRUCTIONS",
					    "BR_INST_EXEC:TAKEN", "BR_RETIRED"};

	*attr = (struct perf_event_attr){.size = sizeof(*attr)};
	for (size_t i = 0; pfm_initialize() == PFM_SUCCESS && i < sizeof(names) / sizeof(names[0]);
	     i++) {
		pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof(arg)};

		if (pfm_get_os_event_encoding(names[i], PFM_PLM3, PFM_OS_PERF_EVENT, &arg) ==
		    PFM_SUCCESS)
			return names[i];
		*attr = (struct perf_event_attr){.size = sizeof(*attr)};
	}
	attr->type = PERF_TYPE_HARDWARE;
	attr->config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	return NULL;
}

static const struct refusal {
	int code;
	const char *why, *change;
} refusals[] = {
	{-ENOENT, "ENOENT: the kernel has no hardware counters here",
	 "bare metal, or a virtual machine that is given a PMU"},
	{-ENODEV, "ENODEV: the kernel has no hardware counters here",
	 "bare metal, or a virtual machine that is given a PMU"},
	{-EOPNOTSUPP, "EOPNOTSUPP: counters work, but this PMU keeps no branch stack",
	 "a processor with LBR (Intel), LbrExtV2 or BRS (AMD), or BRBE (Arm), not hidden by the "
	 "hypervisor"},
	{-EACCES, "EACCES: not permitted",
	 "CAP_PERFMON, or a lower kernel.perf_event_paranoid (2: own programs, 0: every CPU)"},
	{-EPERM, "EPERM: not permitted", "CAP_PERFMON, or a seccomp profile that allows it"},
	{-EINVAL, "EINVAL: the kernel refuses a branch stack on this event",
	 "a newer kernel, or a processor that records branches on this event"},
	{-EBUSY, "EBUSY: another user holds the counters", "stop it"},
	{-ENOSYS, "ENOSYS: this kernel is built without perf events",
	 "a kernel with CONFIG_PERF_EVENTS"},
};

static struct fact *add_refusal(struct facts *facts, enum fact_state state, const char *name,
				int code)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (refusals[i].code == code)
			return facts_add(facts, state, name, refusals[i].why, refusals[i].change);
	return facts_add(facts, state, name, strerror(-code), NULL);
}

static void add_branch_stack(struct facts *facts)
{
	struct perf_event_attr attr;
	const char *event = taken_event(&attr);
	struct fact *fact;
	int r;

	attr.sample_period = 1000003;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	r = try_open(&attr, 0, -1);
	facts->branch_stack = r == 0;
	if (r == 0) {
		fact = facts_add(facts, FACT_OK, BRANCH_STACK, NULL, NULL);
		fact_value(fact, "by hardware, on %s", event ? event : "branches");
		return;
	}
	fact = add_refusal(facts, FACT_NO, BRANCH_STACK, r);
	fact_value(fact, "none for %s", event ? event : "branches");
}

static void add_paranoid(struct facts *facts)
{
	_cleanup_free_ char *text = ctl_read_line(PARANOID);
	long level = text ? strtol(text, NULL, 10) : 0;
	bool privileged = doctor_capable(CAP_PERFMON) || doctor_capable(CAP_SYS_ADMIN);

	if (!text) {
		facts_add(facts, FACT_NO, "perf_event_paranoid", "this kernel has no perf events",
			  "a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	if (privileged || level < 1)
		fact_value(facts_add(facts, FACT_OK, "perf_event_paranoid", NULL, NULL), "%ld%s",
			   level, privileged ? ", CAP_PERFMON held" : "");
	else
		fact_value(facts_add(facts, FACT_WARN, "perf_event_paranoid",
				     level <= 2 ? "only one's own processes, user code"
						: "no perf events without CAP_PERFMON",
				     "run as root or with CAP_PERFMON, or lower it to 0"),
			   "%ld", level);
}

static void add_clock(struct facts *facts)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 10000000,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int r = try_open(&attr, -1, 0), own = r ? try_open(&attr, 0, -1) : 0;

	facts->clock_sampling = own == 0;
	if (r == 0)
		fact_value(facts_add(facts, FACT_OK, "clock sampling", NULL, NULL),
			   "sampler cpu-clock");
	else if (own == 0)
		fact_value(add_refusal(facts, FACT_WARN, "clock sampling", r),
			   "sampler cpu-clock for one's own programs, /proc for the rest");
	else
		fact_value(add_refusal(facts, FACT_WARN, "clock sampling", own), "sampler /proc");
}

static void add_tracker(struct facts *facts)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.build_id = 1,
	};
	int r = try_open(&attr, -1, 0);

	if (r == 0) {
		fact_value(facts_add(facts, FACT_OK, "mapping events", NULL, NULL),
			   "MMAP2 with build-id");
	} else if (r == -EINVAL) {
		fact_value(facts_add(facts, FACT_WARN, "mapping events",
				     "EINVAL: this kernel puts no build-id into MMAP2",
				     "Linux 5.12 or later"),
			   "build-ids read from the files");
	} else {
		fact_value(add_refusal(facts, FACT_WARN, "mapping events", r),
			   "none: /proc alone, short-lived programs are missed");
	}
}

void doctor_perf(struct facts *facts)
{
	add_branch_stack(facts);
	add_paranoid(facts);
	add_clock(facts);
	add_tracker(facts);
}
