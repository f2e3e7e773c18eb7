// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about ptrace, on which the step source stands. The try is the real thing in small: a
 * child of ours is seized, stopped, single-stepped and let go.
 */
#include "doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"

#define TRY_STEPS 3

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

/* The child never returns: it spins until it is killed, or its alarm does it. */
static int try_stepping(void)
{
	pid_t pid = fork();
	int r;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		alarm(5);
		for (;;)
			__asm__ volatile("" ::: "memory");
	}
	r = step_child(pid);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return r;
}

static void add_try(struct facts *facts)
{
	int r = try_stepping();
	_cleanup_free_ char *why = NULL;

	facts->can_step = r == 0;
	if (r == 0) {
		fact_value(facts_add(facts, FACT_OK, "single steps", NULL, NULL),
			   "a child was stepped");
		return;
	}
	why = ctl_printf("ptrace: %s", strerror(-r));
	fact_value(facts_add(facts, FACT_NO, "single steps", why,
			     "allow ptrace in the container's seccomp profile, and "
			     "kernel.yama.ptrace_scope below 3"),
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
