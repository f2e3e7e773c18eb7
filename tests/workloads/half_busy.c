// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Computes for 4 ms of each 10 until it is killed. Under a real-time policy a program that never
 * sleeps starves whatever else is on its CPU.
 */
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void compute(int64_t until_ns)
{
	while (now_ns() < until_ns)
		for (uint64_t i = 0; i < 10000; i++)
			sink += i % 3 ? i : 1;
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 6000000};

	for (;;) {
		compute(now_ns() + 4000000);
		nanosleep(&pause, NULL);
	}
}
