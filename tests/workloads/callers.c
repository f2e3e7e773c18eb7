/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function with two callers, each of which is drawn for every call: `left` three times in four,
 * from three places. A CPU guesses no place better than another, so each call takes the same time:
 * bursts begin by time. Runs for the seconds given, and prints how often each of the two called.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t calls[2];

__attribute__((noinline)) static uint64_t leaf(uint64_t x)
{
	for (int i = 0; i < 12; i++)
		x = x * 6364136223846793005ull + (x >> 33) + (uint64_t)i;
	return x;
}

__attribute__((noinline)) static uint64_t left(uint64_t x)
{
	calls[0]++;
	return leaf(x) + 1;
}

__attribute__((noinline)) static uint64_t right(uint64_t x)
{
	calls[1]++;
	return leaf(x) ^ 1;
}

/* A place of its own, which the compiler makes one with no other: the comment keeps them apart. */
#define PLACE(name, caller)                                                                        \
	name:                                                                                      \
	x = caller(x);                                                                             \
	__asm__ volatile("# " #name : "+r"(x));                                                    \
	goto next

int main(int argc, char **argv)
{
	static const void *const places[] = {&&one, &&two, &&three, &&four};
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	uint64_t x = 88172645463325252u;

	while (time(NULL) < end)
		for (int i = 0; i < 100000; i++) {
			goto *places[x >> 62];
			PLACE(one, right);
			PLACE(two, left);
			PLACE(three, left);
			PLACE(four, left);
		next:;
		}
	printf("%llu %llu %llu\n", (unsigned long long)calls[0], (unsigned long long)calls[1],
	       (unsigned long long)x);
	return 0;
}
