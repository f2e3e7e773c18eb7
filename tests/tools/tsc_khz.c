// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints how fast the processor's time stamp counter counts, in kHz. An emulated machine has the
 * same counter, but its kernel measures it while others may have the processor, and then takes a
 * second for a twentieth of one: tests/vm and tests/systemd tell it instead.
 *
 * Each reading of the counter lies between two of the clock; of many the closest one counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define READINGS 1000
#define WAIT_NS  200000000

struct moment {
	uint64_t ticks, ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct moment read_both(void)
{
	struct moment best = {0, 0};
	uint64_t closest = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = now_ns(), ticks = __rdtsc(), after = now_ns();

		if (after - before < closest) {
			closest = after - before;
			best = (struct moment){ticks, before + closest / 2};
		}
	}
	return best;
}

int main(void)
{
	struct moment begin = read_both(), end;

	nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	end = read_both();
	printf("%.0f\n", (double)(end.ticks - begin.ticks) * 1e6 / (double)(end.ns - begin.ns));
	return 0;
}
