// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guards on tracepoints:
 *   - signal_deliver: a signal was taken from the queue. Its frame, or a core dump, comes next.
 *   - sched_switch: the CPU leaves the thread. Every stop for ptrace, for the freezer or for a
 *     signal comes through here, a thread's last moment, too.
 *
 * Workload: each signal and each context switch of the machine, mostly of threads in no burst: two
 * loads and a comparison then. Locking: none needed, both are about the current thread. The kernel
 * does not let modules link to these tracepoints, so they are found by name.
 */
#define pr_fmt(fmt) "pathprof: " fmt

#include "guards.h"

#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>
#include <trace/events/signal.h>

#include "compat.h"
#include "source.h"

/* A build that the tests compare with the real one. */
#ifdef PP_TEST_NO_SIGNAL_GUARD
#define SIGNAL_GUARD 0
#else
#define SIGNAL_GUARD 1
#endif

/* Interrupts off, this CPU's run queue locked; prev is the current thread. */
static void on_switch(PP_SWITCH_ARGUMENTS)
{
	pp_swlbr_leave(prev->flags & PF_EXITING ? PATHPROF_END_EXIT : PATHPROF_END_SWITCH);
}

static void on_signal(void *unused, int number, struct kernel_siginfo *info,
		      struct k_sigaction *action)
{
	if (SIGNAL_GUARD)
		pp_swlbr_leave(PATHPROF_END_SIGNAL);
}

struct guard {
	const char *name;
	void *probe;
	struct tracepoint *tracepoint;
};

static struct guard guards[] = {{.name = "sched_switch", .probe = on_switch},
				{.name = "signal_deliver", .probe = on_signal}};

static void note(struct tracepoint *tracepoint, void *unused)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(guards); i++)
		if (!strcmp(tracepoint->name, guards[i].name))
			guards[i].tracepoint = tracepoint;
}

static int attach(const struct guard *guard)
{
	if (!guard->tracepoint) {
		pr_err("this kernel has no tracepoint %s, which ends bursts in time\n",
		       guard->name);
		return -ENOENT;
	}
	return tracepoint_probe_register(guard->tracepoint, guard->probe, NULL);
}

static void detach(u32 cnt)
{
	while (cnt--)
		tracepoint_probe_unregister(guards[cnt].tracepoint, guards[cnt].probe, NULL);
	tracepoint_synchronize_unregister();
}

int pp_guards_init(void)
{
	int err;
	u32 i;

	/* The compiler checks the probes against this kernel's types. */
	check_trace_callback_type_sched_switch(on_switch);
	check_trace_callback_type_signal_deliver(on_signal);
	for_each_kernel_tracepoint(note, NULL);
	for (i = 0; i < ARRAY_SIZE(guards); i++) {
		err = attach(&guards[i]);
		if (err) {
			detach(i);
			return err;
		}
	}
	return 0;
}

void pp_guards_exit(void)
{
	detach(ARRAY_SIZE(guards));
}
