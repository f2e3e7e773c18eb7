// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two functions of the same code, and how often each ran, told at the end: "first N second M".
 *
 *   duty SECONDS  first: 5 ms of each 100 ms, for so long; then second all the time, for as long
 *   cut SECONDS   both in turn; second saves and restores its flags each few runs, where no window
 *                 goes on
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "two_alike.h"

#define ROUNDS 20000
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

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 10;
	uint32_t x = 1;

	if (argc < 2)
		return 2;
	x = !strcmp(argv[1], "duty") ? duty(x, seconds) : cut(x, seconds);
	printf("first %llu second %llu\n", (unsigned long long)first_cnt,
	       (unsigned long long)second_cnt);
	return x == 0;
}
