// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes and threads that come and go as fast as they can, each after a little work: forks,
 * vforks, threads, executions from the first thread and from another one, children that are killed
 * at work. Every end must be the expected one, and none may be missing.
 *
 *     exec_storm [ROUNDS]
 *
 * Prints "exec_storm ROUNDS clean" and exits 0, or what went wrong and exits 1.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t sink;
static char *self;

static void work(unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++)
		if (i % 3)
			sink += i;
}

static void *work_thread(void *argument)
{
	work((unsigned int)(uintptr_t)argument);
	return argument;
}

static void *exec_thread(void *argument)
{
	work(100000);
	execl(self, self, "leaf", (char *)NULL);
	_exit(9);
}

static void in_fork(void)
{
	work(200000);
	_exit(3);
}

static void in_exec(void)
{
	work(100000);
	execl(self, self, "leaf", (char *)NULL);
	_exit(9);
}

/* The process goes on under its first thread's number, whoever executes. */
static void in_thread_exec(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exec_thread, NULL))
		_exit(9);
	for (;;)
		work(1000);
}

static void in_threads(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, work_thread, (void *)(i * 60000)))
			_exit(9);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	_exit(5);
}

/* The first thread leaves, the process ends with the other. */
static void in_leader_exit(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exec_thread, NULL))
		_exit(9);
	work(50000);
	pthread_exit(NULL);
}

static void in_spin(void)
{
	for (;;)
		work(1000);
}

static const struct {
	const char *name;
	void (*run)(void);
	int status; /* as waitpid tells it; SIGKILL: is to be killed */
} kinds[] = {
	{"fork", in_fork, 3 << 8},
	{"exec", in_exec, 6 << 8},
	{"exec from a thread", in_thread_exec, 6 << 8},
	{"threads", in_threads, 5 << 8},
	{"first thread leaves", in_leader_exit, 6 << 8},
	{"killed", in_spin, SIGKILL},
};

static int try_kind(size_t which)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return 1;
	if (pid == 0)
		kinds[which].run();
	if (kinds[which].status == SIGKILL) {
		usleep(3000);
		kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) == pid && status == kinds[which].status)
		return 0;
	printf("exec_storm: %s: status %x\n", kinds[which].name, (unsigned int)status);
	return 1;
}

static int try_vfork(void)
{
	pid_t pid = vfork(); /* NOLINT: vfork is what is tested */
	int status;

	if (pid == 0) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(9);
	}
	if (waitpid(pid, &status, 0) == pid && status == 6 << 8)
		return 0;
	printf("exec_storm: vfork: status %x\n", (unsigned int)status);
	return 1;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
	int wrong = 0;

	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "leaf")) {
		work(100000);
		return 6;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	for (long i = 0; i < rounds && !wrong; i++) {
		wrong += try_kind((size_t)i % (sizeof(kinds) / sizeof(kinds[0])));
		wrong += try_vfork();
	}
	if (wrong)
		return 1;
	printf("exec_storm %ld clean\n", rounds);
	return 0;
}
