// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about perf_event_open: the hardware branch stack, the clock, the tracker's events. */
#include "doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../text/cleanup.h"

#define BRANCH_STACK "branch stack"

/* pid 0 and any CPU: this thread; pid -1: everything on one CPU. 0 or -errno. */
static int try_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	_cleanup_close_ int fd =
		(int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

/* Adds the kernel's refusal, in the daemon's words. */
static struct fact *add_refusal(struct facts *facts, enum fact_state state, const char *name,
				enum pathprof_ask ask, int code)
{
	struct pathprof_refused refused = pathprof_explain(ask, code, &facts->machine);
	_cleanup_free_ char *why = ctl_printf("%s: %s", refused.code, refused.why);

	return facts_add(facts, state, name, why, refused.change);
}

static int try_branch_stack(const struct facts *facts, const struct pathprof_hardware_event *event,
			    pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.sample_period = 1000003,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = pathprof_branch_sample_type(&facts->machine),
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_guest = 1, /* as the sources ask for it */
		.disabled = 1,
	};

	return try_open(&attr, pid, cpu);
}

/* Whether there is a branch stack at all, tried for this process alone. */
static void add_branch_stack(struct facts *facts)
{
	struct pathprof_hardware_event event;
	struct fact *fact;
	int r;

	pathprof_taken_event(&event, 0, PATHPROF_PMUS);
	r = try_branch_stack(facts, &event, 0, -1);
	facts->branch_stack = r == 0;
	if (r == 0)
		fact = facts_add(facts, event.counts_taken ? FACT_OK : FACT_WARN, BRANCH_STACK,
				 event.counts_taken ? NULL
						    : "no event of this processor counts branches "
						      "that were taken: windows come where any "
						      "branch runs",
				 NULL);
	else
		fact = add_refusal(facts, FACT_NO, BRANCH_STACK, PATHPROF_ASK_BRANCH_STACK, r);
	fact_value(fact, r == 0 ? "by hardware, on %s" : "none for %s", event.name);
}

/* Opens the event on every CPU, as a source does. */
static void add_branch_stacks(struct facts *facts)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF), opened = 0;
	struct pathprof_hardware_event event;
	int r = 0, cpu;

	for (cpu = 0; cpu < cpu_cnt && !r; cpu++) {
		pathprof_taken_event(&event, (uint32_t)cpu, PATHPROF_PMUS);
		r = try_branch_stack(facts, &event, -1, cpu);
		opened += r == 0;
		/* it is offline */
		if (r == -ENODEV && facts->machine.has_counters)
			r = 0;
	}
	facts->branch_stacks_code = r ? r : opened ? 0 : -ENODEV;
	/* the line above it says the same where there is none at all */
	if (!facts->branch_stack)
		return;
	if (r)
		fact_value(
			add_refusal(facts, FACT_NO, "branch stacks", PATHPROF_ASK_BRANCH_STACK, r),
			"of one's own programs only: CPU %d as a whole is refused", cpu - 1);
	else
		fact_value(facts_add(facts, FACT_OK, "branch stacks", NULL, NULL), "of %ld CPUs",
			   opened);
}

/* The clock of that process or CPU, user code only. */
static int try_clock(pid_t pid, int cpu)
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

	return try_open(&attr, pid, cpu);
}

static const char *paranoid_holder(int level)
{
	if (doctor_capable(CAP_SYS_ADMIN))
		return "CAP_SYS_ADMIN";
	return doctor_capable(CAP_PERFMON) && level <= 2 ? "CAP_PERFMON" : NULL;
}

/*
 * Above level 2 Debian's kernels allow perf events with CAP_SYS_ADMIN alone. Other kernels take it
 * as 2, which allows a thread its own clock.
 */
static int effective_level(int level)
{
	return level > 2 && try_clock(0, -1) == 0 ? 2 : level;
}

/* set: the contents of the kernel's file. */
static void add_paranoid(struct facts *facts, int set)
{
	int level = facts->machine.paranoid;
	const char *holder = paranoid_holder(level);

	if (level == PATHPROF_NO_SETTING)
		facts_add(facts, FACT_NO, "perf_event_paranoid", "this kernel has no perf events",
			  "a kernel with CONFIG_PERF_EVENTS");
	else if (holder)
		fact_value(facts_add(facts, FACT_OK, "perf_event_paranoid", NULL, NULL),
			   "%d, %s held", set, holder);
	else if (level < 1)
		fact_value(facts_add(facts, FACT_OK, "perf_event_paranoid", NULL, NULL), "%d", set);
	else if (level <= 2)
		fact_value(facts_add(facts, FACT_WARN, "perf_event_paranoid",
				     "only one's own processes, user code",
				     "run as root or with CAP_PERFMON, or lower it to 0"),
			   "%d", set);
	else
		fact_value(facts_add(facts, FACT_WARN, "perf_event_paranoid",
				     "no perf events without CAP_SYS_ADMIN",
				     "run as root; or lower it to 2, and CAP_PERFMON is enough"),
			   "%d", set);
}

static void add_clock(struct facts *facts)
{
	int r = try_clock(-1, 0), own = r ? try_clock(0, -1) : 0;

	facts->clock_sampling = own == 0;
	if (r == 0)
		fact_value(facts_add(facts, FACT_OK, "clock sampling", NULL, NULL),
			   "sampler cpu-clock");
	else if (own == 0)
		fact_value(add_refusal(facts, FACT_WARN, "clock sampling", PATHPROF_ASK_EVENT, r),
			   "sampler cpu-clock for one's own programs, but for the first 2.6 ms of "
			   "each "
			   "process; /proc for the rest");
	else
		fact_value(add_refusal(facts, FACT_WARN, "clock sampling", PATHPROF_ASK_EVENT, own),
			   "sampler /proc");
}

/* Opens the event as the tracker does. */
static void add_tracker(struct facts *facts)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int r = try_open(&attr, -1, 0);

	if (r == 0)
		fact_value(facts_add(facts, FACT_OK, "mapping events", NULL, NULL), "MMAP2");
	else
		fact_value(add_refusal(facts, FACT_WARN, "mapping events", PATHPROF_ASK_EVENT, r),
			   "none: /proc alone, short-lived programs are missed");
}

void doctor_perf(struct facts *facts)
{
	int set = facts->machine.paranoid;

	facts->machine.paranoid = effective_level(set);
	add_branch_stack(facts);
	add_branch_stacks(facts);
	add_paranoid(facts, set);
	add_clock(facts);
	add_tracker(facts);
}
