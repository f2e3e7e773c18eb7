// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about ptrace, on which the step source stands. The probe is a small version of the real
 * thing: a child of ours is seized, stopped, single-stepped, and run to a breakpoint in its debug
 * registers, which some hypervisors do not pass on.
 */
#include "doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../text/cleanup.h"

#define TRY_STEPS   3
#define TRY_WAIT_MS 500

/* The child runs through this function for ever. */
static void __attribute__((noinline)) landmark(void)
{
	__asm__ volatile("nop" ::: "memory");
}

static int wait_for_stop(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(status) ? 0 : -ECHILD;
}

static int step_child(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return -errno;
	int r = wait_for_stop(pid);

	for (int i = 0; r == 0 && i < TRY_STEPS; i++) {
		r = ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 ? -errno : 0;
		if (r == 0)
			r = wait_for_stop(pid);
	}
	return r;
}

static bool stops_in_time(pid_t pid)
{
	const struct timespec pause = {0, 1000000};
	int status;

	for (int waited_ms = 0; waited_ms < TRY_WAIT_MS; waited_ms++) {
		if (waitpid(pid, &status, __WALL | WNOHANG) == pid)
			return WIFSTOPPED(status);
		nanosleep(&pause, NULL);
	}
	return false;
}

/* A stopped child is run to the landmark. */
static bool break_child(pid_t pid)
{
	struct user_regs_struct registers;

	return !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), landmark) &&
	       !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), 1) &&
	       !ptrace(PTRACE_CONT, pid, NULL, NULL) && stops_in_time(pid) &&
	       !ptrace(PTRACE_GETREGS, pid, NULL, &registers) &&
	       registers.rip == (uintptr_t)landmark;
}

/* The child never returns: it spins until it is killed, or its alarm does it. */
static int try_stepping(bool *ret_breaks)
{
	pid_t pid = fork();
	int r;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		alarm(5);
		for (;;)
			landmark();
	}
	r = step_child(pid);
	*ret_breaks = r == 0 && break_child(pid);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return r;
}

static void add_breakpoints(struct facts *facts, bool works)
{
	if (works)
		fact_value(facts_add(facts, FACT_OK, "breakpoints", NULL, NULL),
			   "a child ran to one");
	else
		fact_value(
			facts_add(
				facts, FACT_WARN, "breakpoints",
				"debug registers do not work here: a window takes a stop for "
				"each instruction, some ten times as many",
				"a hypervisor that passes debug registers on; here HoldMaxSec=20ms "
				"or record --hold 20ms gives longer windows, and fewer"),
			"none");
}

static void add_try(struct facts *facts)
{
	bool breaks = false;
	int r = try_stepping(&breaks);
	_cleanup_free_ char *why = NULL;

	facts->can_step = r == 0;
	if (r == 0) {
		fact_value(facts_add(facts, FACT_OK, "single steps", NULL, NULL),
			   "a child was stepped");
		add_breakpoints(facts, breaks);
		return;
	}
	why = ctl_printf("ptrace: %s", strerror(-r));
	fact_value(facts_add(facts, FACT_NO, "single steps", why,
			     "allow ptrace in the container's seccomp profile, and "
			     "kernel.yama.ptrace_scope below 2, with CAP_SYS_PTRACE below 3"),
		   "refused");
}

static void add_reach(struct facts *facts)
{
	_cleanup_free_ char *yama = ctl_read_line("/proc/sys/kernel/yama/ptrace_scope");
	long scope = yama ? strtol(yama, NULL, 10) : 0;
	const char *setting = yama ? yama : "absent";

	if (doctor_capable(CAP_SYS_PTRACE) && scope < 3)
		fact_value(facts_add(facts, FACT_OK, "ptrace", NULL, NULL),
			   "every process (CAP_SYS_PTRACE, Yama scope %s)", setting);
	else if (scope >= 3)
		fact_value(facts_add(facts, FACT_NO, "ptrace", "kernel.yama.ptrace_scope is 3",
				     "a reboot with a lower one"),
			   "no process");
	else if (scope == 2)
		fact_value(facts_add(facts, FACT_NO, "ptrace",
				     "kernel.yama.ptrace_scope is 2, and CAP_SYS_PTRACE is missing",
				     "run pathprofd as root or by its unit"),
			   "no process");
	else
		fact_value(facts_add(facts, FACT_WARN, "ptrace", "CAP_SYS_PTRACE is missing",
				     "run pathprofd as root or by its unit"),
			   "%s (Yama scope %s)",
			   scope ? "programs started by record only" : "one's own processes only",
			   setting);
}

void doctor_ptrace(struct facts *facts)
{
	add_reach(facts);
	add_try(facts);
}
