/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of every kind: recursion, calls through the PLT and back out of the C library, blocks on
 * the stack of unknown size, stacks that are realigned, and signal handlers. It runs until it is
 * killed, and strikes itself by SIGPROF, at which a debugger stops it.
 */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile uint64_t sink;

static uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 40; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull + (x >> 29);
	return x;
}

__attribute__((noinline)) static uint64_t recurse(uint64_t x, int depth)
{
	uint64_t left = depth ? recurse(mix(x), depth - 1) : mix(x);

	return left + mix(left ^ x) + (depth & 1 ? recurse(left, depth / 2) : 0);
}

__attribute__((noinline)) static uint64_t aligned(uint64_t x)
{
	__attribute__((aligned(64))) volatile uint64_t block[16];

	for (int i = 0; i < 16; i++)
		block[i] = x + recurse(x, i & 3);
	return block[x & 15];
}

__attribute__((noinline)) static uint64_t sized(uint64_t x)
{
	size_t len = 64 + x % 512;
	char *text = alloca(len);

	memset(text, 'a' + (int)(x % 20), len - 1);
	text[len - 1] = '\0';
	return strlen(text) + mix(aligned(x));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = mix(*(const uint64_t *)a), y = mix(*(const uint64_t *)b);

	return (x > y) - (x < y);
}

__attribute__((noinline)) static uint64_t sorts(uint64_t x)
{
	uint64_t numbers[32];

	for (int i = 0; i < 32; i++)
		numbers[i] = x * (uint64_t)(i + 3);
	qsort(numbers, 32, sizeof(numbers[0]), compare);
	return numbers[0];
}

static void on_signal(int signal)
{
	sink += recurse(sink, 3);
}

static uint64_t (*const kinds[])(uint64_t) = {aligned, sized, sorts};

int main(void)
{
	const struct itimerval often = {{0, 1013}, {0, 1013}};
	char text[64];

	signal(SIGUSR1, on_signal);
	setitimer(ITIMER_PROF, &often, NULL);
	for (uint64_t i = 0;; i++) {
		sink += kinds[mix(i) % 3](i) + recurse(i, 5);
		snprintf(text, sizeof(text), "%llu %f", (unsigned long long)i, (double)i / 3);
		if (i % 16 == 0)
			raise(SIGUSR1);
	}
}
