// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `busy_init COMMAND [ARGUMENT]...`: a process 1 with two threads that compute all the time. It
 * runs COMMAND, reaps whatever becomes its child, and ends when COMMAND ends, with its status.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t sink;

static void compute(void)
{
	for (uint64_t i = 0; i < 1000000; i++)
		sink += i % 3 ? i : 1;
}

static void *compute_forever(void *unused)
{
	for (;;)
		compute();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t command, ended = 0;
	int status = 0;

	if (argc < 2)
		return 2;
	command = fork();
	if (!command) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (command < 0 || pthread_create(&thread, NULL, compute_forever, NULL))
		return 1;
	while (ended != command) {
		compute();
		ended = waitpid(-1, &status, WNOHANG);
		if (ended < 0 && errno == ECHILD)
			return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
