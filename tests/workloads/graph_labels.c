// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Computed gotos whose labels are in no constant table: written to the stack, or kept in a
 * variable. Every label runs. Prints a checksum that depends on nothing.
 */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static NOINLINE void put(uint64_t value)
{
	sink = sink * 31 + value;
}

static NOINLINE uint64_t written(unsigned int n, unsigned int swap)
{
	const void *labels[3] = {&&first, &&second, &&third};

	if (swap) {
		labels[0] = &&third;
		labels[2] = &&first;
	}
	goto *labels[n % 3];
first:
	put(5);
	return n;
second:
	put(6);
	put(7);
	return n + 1;
third:
	put(8);
	return n + 2;
}

/* One label in a variable. */
static NOINLINE uint64_t remembered(unsigned int n)
{
	const void *back = &&even;
	uint64_t sum = 0;

	if (n & 1)
		back = &&odd;
	for (unsigned int i = 0; i < 3; i++) {
		sum += i;
		goto *back;
	even:
		put(sum);
		continue;
	odd:
		put(sum ^ 1);
		back = &&even;
	}
	return sum;
}

int main(void)
{
	for (unsigned int i = 0; i < 400; i++) {
		put(written(i, i & 4));
		put(remembered(i));
	}
	printf("%llx\n", (unsigned long long)sink);
	return 0;
}
