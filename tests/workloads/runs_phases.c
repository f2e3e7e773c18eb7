// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two functions of the same code, and how often each ran, told at the end: "first N second M".
 *
 *   duty SECONDS  first: 5 ms of each 100 ms, for so long; then second all the time, for as long
 *   cut SECONDS   both in turn; second saves and restores its flags each few runs, where no window
 *                 goes on
 *   threads SECONDS, forks SECONDS
 *                 first in a thread or a process of a millisecond, again and again, and second in
 *                 the main one meanwhile
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "two_alike.h"

#define ROUNDS       20000
#define ROUNDS_SHORT 200000
static uint64_t first_cnt, second_cnt;

static __attribute__((noipa)) void flags(void)
{
	__asm__ volatile("sub $128, %%rsp; pushf; popf; add $128, %%rsp" ::: "memory", "cc");
}

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t run_first(uint32_t x)
{
	first_cnt++;
	return first(x, ROUNDS);
}

static uint32_t run_second(uint32_t x)
{
	second_cnt++;
	return second(x, ROUNDS);
}

static uint32_t duty(uint32_t x, double seconds)
{
	double begin_s = now_s(CLOCK_MONOTONIC);

	while (now_s(CLOCK_MONOTONIC) - begin_s < seconds) {
		double turn_s = now_s(CLOCK_MONOTONIC);

		do
			x = run_first(x);
		while (now_s(CLOCK_MONOTONIC) - turn_s < 0.005);
		usleep(95000);
	}
	begin_s = now_s(CLOCK_MONOTONIC);
	while (now_s(CLOCK_MONOTONIC) - begin_s < seconds)
		x = run_second(x);
	return x;
}

static uint32_t cut(uint32_t x, double seconds)
{
	double begin_s = now_s(CLOCK_MONOTONIC);

	while (now_s(CLOCK_MONOTONIC) - begin_s < seconds) {
		x = run_first(x);
		for (unsigned int i = 0; i < ROUNDS; i += 100) {
			x = second(x, 100);
			flags();
		}
		second_cnt++;
	}
	return x;
}

static void *in_thread(void *nothing)
{
	(void)first(1, ROUNDS_SHORT);
	return nothing;
}

static void start_and_await_thread(uint32_t *x)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, in_thread, NULL))
		exit(2);
	*x = second(*x, ROUNDS_SHORT);
	pthread_join(thread, NULL);
}

static void start_and_await_process(uint32_t *x)
{
	pid_t child = fork();

	if (child < 0)
		exit(2);
	if (child == 0) {
		in_thread(NULL);
		_exit(0);
	}
	*x = second(*x, ROUNDS_SHORT);
	waitpid(child, NULL, 0);
}

static uint32_t short_lived(uint32_t x, double seconds, void (*start_and_await)(uint32_t *))
{
	double begin_s = now_s(CLOCK_MONOTONIC);

	while (now_s(CLOCK_MONOTONIC) - begin_s < seconds) {
		start_and_await(&x);
		first_cnt++;
		second_cnt++;
	}
	return x;
}

static uint32_t run(const char *what, double seconds)
{
	if (!strcmp(what, "duty"))
		return duty(1, seconds);
	if (!strcmp(what, "threads"))
		return short_lived(1, seconds, start_and_await_thread);
	if (!strcmp(what, "forks"))
		return short_lived(1, seconds, start_and_await_process);
	return cut(1, seconds);
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 10;
	uint32_t x;

	if (argc < 2)
		return 2;
	x = run(argv[1], seconds);
	printf("first %llu second %llu\n", (unsigned long long)first_cnt,
	       (unsigned long long)second_cnt);
	return x == 0;
}
