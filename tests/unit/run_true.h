/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that executes a program and ends at once. */
#ifndef RUN_TRUE_H
#define RUN_TRUE_H

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `true` and waits for its end; returns its pid. */
static inline pid_t run_true(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	return pid;
}

#endif
