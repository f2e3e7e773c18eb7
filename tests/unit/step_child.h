/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that the stepper's own functions hold and let go, called in this process. */
#ifndef STEP_CHILD_H
#define STEP_CHILD_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_engine.h"
#include "unit.h"

static struct pp_step_holder holder;
static volatile uint64_t sink;

static inline void on_alarm(int signal)
{
}

/* Set by a child of start_spinning() when it begins to spin. */
static volatile bool *spinning;

static inline void spin(void)
{
	if (spinning)
		*spinning = true;
	for (uint64_t i = 0;; i++)
		if (i % 3)
			sink += i;
}

/* Kills for the one call, lets all others through. */
static inline void filter_out(int number)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(3);
}

static inline pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		run();
		_exit(2);
	}
	usleep(30000);
	return pid;
}

/* A busy machine may take longer than that until the child computes. */
static inline pid_t start_spinning(void (*run)(void))
{
	pid_t pid;

	if (!spinning)
		spinning = mmap(NULL, sizeof(*spinning), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spinning == MAP_FAILED)
		abort();
	*spinning = false;
	pid = start(run);
	for (int i = 0; i < 60000 && !*spinning; i++)
		usleep(1000);
	return pid;
}

static inline int end(pid_t pid)
{
	int status = -1;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		;
	return status;
}

static inline bool has_ended(pid_t pid, int *ret_status)
{
	return waitpid(pid, ret_status, WNOHANG) == pid;
}

static inline void empty_limbo(void)
{
	for (int i = 0; i < 12000 && holder.limbo.cnt; i++) {
		usleep(5000);
		pp_step_poll_limbo(&holder);
	}
}

/*
 * On a busy machine a stop may come late: then the target is let go first, and tried again; and
 * beside a service another stepper may have it just now.
 */
static inline enum pathprof_drop catch_thread(pid_t pid, pid_t tid, struct pp_step_target *target)
{
	enum pathprof_drop drop = PATHPROF_DROP_GONE;

	for (int i = 0; i < 2000 && (drop == PATHPROF_DROP_GONE || drop == PATHPROF_DROP_TRACED ||
				     drop == PATHPROF_DROP_KERNEL);
	     i++) {
		*target = (struct pp_step_target){.pid = pid, .tid = tid};
		drop = pp_step_catch(&holder, target);
		if (drop != PP_STEP_HELD)
			usleep(10000);
		empty_limbo();
	}
	return drop;
}

static inline enum pathprof_drop catch_spinning(pid_t pid, struct pp_step_target *target)
{
	return catch_thread(pid, pid, target);
}

static inline void burst_on(pid_t pid, struct pp_step_record *record)
{
	static const struct pp_step_limits limits = {.taken_wanted = 16,
						     .step_max = 1500,
						     .time_ns = 60 * PP_NSEC_PER_SEC,
						     .call_ns = PP_STEP_CALL_NS,
						     .lookahead = true};
	struct pp_step_target target;

	memset(record, 0, sizeof(*record));
	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	pp_step_burst(&holder, &target, &limits, record);
}

#endif
