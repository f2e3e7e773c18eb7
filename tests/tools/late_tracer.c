// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds a process by ptrace past its end: for tests/scenario/daemon_record.sh. Until a tracer has
 * waited for its target, the target's parent cannot, and only a pidfd shows that it ended.
 *
 *   late_tracer PID      prints "held", "ended" once PID has ended, then waits for the end of its
 *                        standard input and lets the parent have PID's status
 *
 * Exit 0: done, 1: something else went wrong, 77: this process may not be traced here.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_SKIP 77
#define TRIES     10000 /* a millisecond apart: a stepper lets go in less, once it gets a CPU */

/* Another tracer may just have it, so one refusal is no answer. */
static int seize(pid_t pid)
{
	struct timespec pause = {0, 1000000};

	for (int i = 0; i < TRIES; i++) {
		if (!ptrace(PTRACE_SEIZE, pid, NULL, NULL))
			return 0;
		if (errno != EPERM)
			break;
		nanosleep(&pause, NULL);
	}
	return -errno;
}

/* Signals are handed on; its end is seen and left where it is. */
static int await_end(pid_t pid)
{
	siginfo_t info;

	for (;;) {
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT)) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return 0;
		waitid(P_PID, (id_t)pid, &info, WSTOPPED);
		ptrace(PTRACE_CONT, pid, NULL, (long)info.si_status);
	}
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	char byte;
	int r;

	if (pid <= 0)
		return EXIT_FAILURE;
	r = seize(pid);
	if (r == -EPERM)
		return EXIT_SKIP;
	if (!r) {
		say("held");
		r = await_end(pid);
	}
	if (r) {
		fprintf(stderr, "late_tracer: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	say("ended");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return waitpid(pid, NULL, 0) == pid ? EXIT_SUCCESS : EXIT_FAILURE;
}
