// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A shell's view of job control: a parent stops and continues busy children, one of them with
 * several threads, and each stop, continuation and end must be told exactly once.
 *
 *     group_stop [ROUNDS]
 *
 * Prints "group_stop clean" and exits 0, or what was missing or too much and exits 1.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILD_CNT 2

static volatile uint64_t sink;

static void *spin(void *argument)
{
	for (uint64_t i = 0;; i++)
		if (i % 3)
			sink += i;
	return NULL;
}

static pid_t start_child(int thread_cnt)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	for (int i = 1; i < thread_cnt; i++)
		pthread_create(&thread, NULL, spin, NULL);
	spin(NULL);
	_exit(0);
}

static void pause_ms(long ms)
{
	struct timespec length = {0, ms * 1000000};

	nanosleep(&length, NULL);
}

/* One thing to be told about pid, and nothing else after it. */
static int expect(pid_t pid, int options, int (*is_right)(int), const char *what)
{
	int status = 0;
	pid_t got = waitpid(pid, &status, options);

	if (got != pid || !is_right(status)) {
		printf("group_stop: %s: got %d, status %x\n", what, (int)got, (unsigned int)status);
		return 1;
	}
	pause_ms(2);
	got = waitpid(pid, &status, options | WNOHANG);
	if (got > 0) {
		printf("group_stop: %s: told twice, status %x\n", what, (unsigned int)status);
		return 1;
	}
	return 0;
}

static int is_stopped(int status)
{
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
}

static int is_continued(int status)
{
	return WIFCONTINUED(status);
}

static int is_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

static int stop_and_go(pid_t pid)
{
	int wrong = 0;

	kill(pid, SIGSTOP);
	wrong += expect(pid, WUNTRACED | WCONTINUED, is_stopped, "stop");
	kill(pid, SIGCONT);
	wrong += expect(pid, WUNTRACED | WCONTINUED, is_continued, "continue");
	return wrong;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 50;
	pid_t children[CHILD_CNT] = {start_child(1), start_child(3)};
	int wrong = 0;

	for (long i = 0; i < rounds && !wrong; i++) {
		wrong += stop_and_go(children[i % CHILD_CNT]);
		pause_ms(i % 9);
	}
	for (int i = 0; i < CHILD_CNT; i++) {
		kill(children[i], SIGTERM);
		if (waitpid(children[i], &(int){0}, WNOHANG) == 0)
			wrong += expect(children[i], 0, is_killed, "end");
	}
	if (wrong)
		return 1;
	printf("group_stop clean\n");
	return 0;
}
