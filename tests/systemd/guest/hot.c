// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hot SECONDS: computes; a function that a profile should name. While there is a file
 * /run/otherwise it does so by another function, for a profile that changes.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned int sink;

static unsigned int __attribute__((noinline)) hot_inner(unsigned int x)
{
	for (unsigned int i = 0; i < 200; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + i;
	return x;
}

static unsigned int __attribute__((noinline)) hot_outer(unsigned int x)
{
	return hot_inner(x) ^ hot_inner(x + 1);
}

static unsigned int __attribute__((noinline)) hot_otherwise(unsigned int x)
{
	for (unsigned int i = 0; i < 200; i++)
		x = x % 3 ? x - i : x * 5 + 7;
	return x;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3600);

	while (time(NULL) < end) {
		unsigned int (*turn)(unsigned int) =
			access("/run/otherwise", F_OK) ? hot_outer : hot_otherwise;

		for (unsigned int i = 0; i < 2000; i++)
			sink = turn(sink + i);
	}
	return 0;
}
