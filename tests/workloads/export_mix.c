// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A little of everything that profiles are written of: loops, calls by pointer, a switch, what the
 * compiler inlines, what is called from the library. For tests/scenario/export_tools.sh, which
 * compiles it with the compilers that read the profiles.
 *
 *     export_mix [ROUNDS]      prints figures that do not depend on how it was compiled
 */
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 64

static unsigned int seed = 1;

static inline unsigned int next_number(void)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 16;
}

static int classify(int x)
{
	if (x < 10)
		return 0;
	if (x & 1) {
		if (x % 3 == 0)
			return 1;
		return 2;
	}
	return 3;
}

__attribute__((noinline)) static void sort(int *a, int cnt)
{
	for (int i = 1; i < cnt; i++) {
		int v = a[i], j = i;

		while (j > 0 && a[j - 1] > v) {
			a[j] = a[j - 1];
			j--;
		}
		a[j] = v;
	}
}

__attribute__((noinline)) static unsigned int add(unsigned int a, unsigned int b)
{
	return a + b;
}

__attribute__((noinline)) static unsigned int multiply(unsigned int a, unsigned int b)
{
	return a * b + 1;
}

__attribute__((noinline)) static unsigned int distance(unsigned int a, unsigned int b)
{
	if (a > b)
		return a - b;
	return b - a;
}

__attribute__((noinline)) static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static unsigned int (*const operations[])(unsigned int, unsigned int) = {add, multiply, distance};

static unsigned int shuffle(unsigned int x)
{
	switch (x & 7) {
	case 0:
		return x + 1;
	case 1:
		return x ^ 5;
	case 2:
		return x + 9;
	case 3:
		return ~x;
	case 4:
		return x ^ 77;
	default:
		return x * 3;
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000, classes[4] = {0};
	unsigned int sum = 0;
	int a[NUMBERS];

	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < NUMBERS; i++)
			a[i] = (int)(next_number() % 1000);
		if (round % 4)
			sort(a, NUMBERS);
		else
			qsort(a, NUMBERS, sizeof(a[0]), by_value);
		for (int i = 0; i < NUMBERS; i++) {
			classes[classify(a[i])]++;
			sum = operations[a[i] % 3](sum, (unsigned int)a[i]);
			sum = shuffle(sum);
		}
	}
	printf("%ld %ld %ld %ld %u\n", classes[0], classes[1], classes[2], classes[3], sum);
	return 0;
}
