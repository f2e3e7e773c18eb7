// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Children by fork, one after the other, each with other branches than its parent, one of them
 * with a child and one with a thread of its own. Exit status 0 when all of them ended as they
 * should.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) int parity(uint64_t x)
{
	int odd = 0;

	for (; x; x >>= 1)
		if (x & 1)
			odd ^= 1;
	return odd;
}

static __attribute__((noinline)) int work(uint64_t from)
{
	int cnt = 0;

	for (uint64_t i = from; i < from + 50; i++)
		cnt += parity(i * i);
	return cnt;
}

static void *run(void *argument)
{
	*(int *)argument = work(5000);
	return NULL;
}

static int with_thread(void)
{
	pthread_t thread;
	int cnt = 0;

	if (pthread_create(&thread, NULL, run, &cnt))
		return 1;
	/* joining a thread that still runs takes other paths than joining one that has ended */
	usleep(100000);
	pthread_join(thread, NULL);
	return cnt != work(5000);
}

/* The exit status of a child that runs as the depth-th generation. */
static int spawn(unsigned int index, unsigned int depth)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		exit(2);
	if (pid == 0) {
		int bad = work(index * 100) > 50;

		if (index == 1 && depth < 2)
			bad |= spawn(7, depth + 1);
		if (index == 2)
			bad |= with_thread();
		exit(bad);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		exit(3);
	return WEXITSTATUS(status);
}

int main(void)
{
	int bad = 0;

	for (unsigned int i = 0; i < 4; i++) {
		bad |= spawn(i, 1);
		work(i);
	}
	return bad;
}
