// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * String instructions of every number of rounds from none to more than a burst steps over, those
 * that end early included, between branches: each counts once. Straight code without a branch for
 * longer than a short horizon. Prints a checksum that depends on nothing.
 *
 *     vmrounds ITERATIONS
 *
 * Write ITERATIONS with as many digits as in any other run: where the stack lies must not depend on
 * it. Does the same in each iteration.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX 70 /* 64 are stepped over */

static unsigned char from[256], to[256];

static __attribute__((noinline)) uint64_t copy(uint64_t cnt)
{
	unsigned char *source = from, *target = to;

	__asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(cnt) : : "memory");
	return (uint64_t)(target - to);
}

static __attribute__((noinline)) uint64_t fill(uint64_t cnt, unsigned char with)
{
	unsigned char *target = to;

	__asm__ volatile("rep stosb" : "+D"(target), "+c"(cnt) : "a"(with) : "memory");
	return (uint64_t)(target - to);
}

/* Stops at the first difference, or the end. */
static __attribute__((noinline)) uint64_t compare(uint64_t cnt)
{
	unsigned char *a = from, *b = to;

	__asm__ volatile("cmp %%rax, %%rax\n\trepe cmpsb"
			 : "+S"(a), "+D"(b), "+c"(cnt)
			 :
			 : "memory", "cc");
	return (uint64_t)(a - from);
}

#define FOUR(x) x x x x
#define MANY(x) FOUR(FOUR(FOUR(x)))

static __attribute__((noinline)) uint64_t straight(uint64_t x)
{
	__asm__ volatile(MANY("lea 1(%0,%0,2), %0\n\t") : "+r"(x));
	return x;
}

static uint64_t iterate(void)
{
	uint64_t sum = 0;

	for (uint64_t cnt = 0; cnt <= ROUNDS_MAX; cnt++) {
		/* seldom more than a burst steps over */
		uint64_t rounds = cnt < 60 ? cnt % 24 : cnt;

		sum += fill(rounds, (unsigned char)cnt);
		sum += copy(rounds / 2);
		sum = sum * 31 + compare(rounds);
		if (cnt % 8 == 0)
			sum = straight(sum);
	}
	return sum;
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	uint64_t sum = 0;

	for (int i = 0; i < 256; i++)
		from[i] = (unsigned char)(i / 3);
	while (iterations-- > 0)
		sum ^= iterate();
	printf("%llx\n", (unsigned long long)sum);
	return 0;
}
