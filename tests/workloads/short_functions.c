// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of four and five bytes side by side, as compilers make them for size. Only `hot` ever
 * runs; main and it have all the time. Most of it is one division, which takes long: where a sample
 * falls among short instructions depends on what the CPU's sibling does at that moment.
 *
 *     short_functions SECONDS [THREADS]     THREADS more, which sleep
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__asm__(".text\n"
	".p2align 4\n"
	".type before, @function\n"
	"before: lea 1(%rdi), %eax; ret\n"
	".size before, . - before\n"
	".type hot, @function\n"
	"hot: xor %edx, %edx; div %edi; ret\n"
	".size hot, . - hot\n"
	".type after, @function\n"
	"after: lea 7(%rdi), %eax; ret\n"
	".size after, . - after\n");
unsigned int before(unsigned int x), hot(unsigned int x), after(unsigned int x);

static void *sleep_on(void *none)
{
	for (;;)
		pause();
	return none;
}

static void start_threads(int cnt)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < cnt; i++)
		if (pthread_create(&thread, &small, sleep_on, NULL)) {
			perror("pthread_create");
			exit(1);
		}
}

static int is_over(time_t end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec >= end;
}

int main(int argc, char **argv)
{
	volatile unsigned int never = 0, sink;
	struct timespec now;
	unsigned int x = 1;

	clock_gettime(CLOCK_MONOTONIC, &now);
	start_threads(argc > 2 ? atoi(argv[2]) : 0);
	printf("started\n");
	fflush(stdout);
	do {
		for (int i = 0; i < 1000000; i++)
			x += hot(x | 1);
		if (never)
			x += before(x) + after(x);
		sink = x;
	} while (!is_over(now.tv_sec + (argc > 1 ? atoi(argv[1]) : 1)));
	(void)sink;
	return 0;
}
