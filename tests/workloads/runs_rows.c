// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs whose RUNS or TIME are hard to tell, and the truth about their first function, told at
 * the end: "first SHARE".
 *
 *   calls SECONDS  two functions in turn, as often one as the other; behind each twenty runs of the
 *                  second a system call. RUNS
 *   mix SECONDS    the first is slow, its branches go by chance; the second runs twice as often and
 *                  executes several times as many instructions a second. RUNS
 *   pace SECONDS   two functions in turn, 97 times a second each, as often as the clock strikes.
 *                  Share of the CPU time: TIME
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "two_alike.h"

#define PACE_HZ 97
#define COUNT_BIT(bit)                                                                             \
	if (x & (bit))                                                                             \
		cnt++;
#define STIR(x)                                                                                    \
	x = x * 1664525u + 1013904223u;                                                            \
	x ^= x >> 3;                                                                               \
	__asm__ volatile("" : "+r"(x));

static __attribute__((noipa)) uint32_t slow(uint32_t x, unsigned int n)
{
	volatile uint32_t cnt = 0;

	for (unsigned int i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		COUNT_BIT(1)
		COUNT_BIT(2)
		COUNT_BIT(4)
		COUNT_BIT(8)
		COUNT_BIT(16)
		COUNT_BIT(32)
		COUNT_BIT(64)
		COUNT_BIT(128)
	}
	return x;
}

static __attribute__((noipa)) uint32_t fast(uint32_t x, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		STIR(x)
		STIR(x)
		STIR(x)
		STIR(x)
		STIR(x)
		STIR(x)
		STIR(x)
		STIR(x)
	}
	return x;
}

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t calls(uint32_t x, double seconds)
{
	double begin_s = now_s(CLOCK_MONOTONIC);

	while (now_s(CLOCK_MONOTONIC) - begin_s < seconds) {
		for (unsigned int i = 0; i < 20000; i++)
			x = first(x, 20);
		for (unsigned int i = 0; i < 20000; i++) {
			x = second(x, 20);
			syscall(SYS_getppid);
		}
	}
	printf("first 0.5\n");
	return x;
}

static uint32_t mix(uint32_t x, double seconds)
{
	double begin_s = now_s(CLOCK_MONOTONIC);

	while (now_s(CLOCK_MONOTONIC) - begin_s < seconds) {
		x = slow(x, 100000);
		x = fast(x, 200000);
	}
	printf("first %.6f\n", 1 / 3.0);
	return x;
}

static void sleep_until(double at_s)
{
	const struct timespec at = {(time_t)at_s, (long)((at_s - (double)(time_t)at_s) * 1e9)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Runs that take about two milliseconds. */
static unsigned int two_milliseconds(void)
{
	double begin_s = now_s(CLOCK_PROCESS_CPUTIME_ID);

	(void)first(1, 1000000);
	return (unsigned int)(1e6 * 0.002 / (now_s(CLOCK_PROCESS_CPUTIME_ID) - begin_s));
}

static uint32_t pace(uint32_t x, double seconds)
{
	unsigned int n = two_milliseconds();
	double period_s = 1.0 / PACE_HZ, begin_s = now_s(CLOCK_MONOTONIC), first_s = 0, from_s;

	for (int i = 0; i < seconds * PACE_HZ; i++) {
		sleep_until(begin_s + i * period_s);
		from_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
		x = first(x, n);
		first_s += now_s(CLOCK_PROCESS_CPUTIME_ID) - from_s;
		sleep_until(begin_s + (i + 0.5) * period_s);
		x = second(x, n);
	}
	printf("first %.6f\n", first_s / now_s(CLOCK_PROCESS_CPUTIME_ID));
	return x;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 10;

	if (argc > 1 && !strcmp(argv[1], "calls"))
		return calls(1, seconds) == 0;
	if (argc > 1 && !strcmp(argv[1], "mix"))
		return mix(1, seconds) == 0;
	if (argc > 1 && !strcmp(argv[1], "pace"))
		return pace(1, seconds) == 0;
	return 2;
}
