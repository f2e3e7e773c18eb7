// SPDX-License-Identifier: GPL-2.0-or-later
/* hot SECONDS: computes; a function that a profile should name. */
#include <stdlib.h>
#include <time.h>

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

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3600);

	while (time(NULL) < end)
		for (unsigned int i = 0; i < 2000; i++)
			sink = hot_outer(sink + i);
	return 0;
}
