// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow, the same in every iteration: nested loops, recursion, calls through
 * pointers, a switch table, longjmp, and the x86 instructions that a branch decoder or a stepper
 * may trip over. Prints a checksum that depends on nothing.
 *
 *     flow_loops ITERATIONS
 *
 * Write ITERATIONS with ten digits up to 5: where the stack lies must not depend on it, and strtol
 * takes another branch for a larger digit.
 * With FLOW_SHORT an iteration visits the same places and is a tenth as long.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define RED_ZONE "sub $128, %%rsp\n"
#define RED_BACK "add $128, %%rsp\n"
#ifdef FLOW_SHORT
enum { DEPTH = 5, FIBONACCI = 7, POINTERS = 40, SWITCHES = 30, ROUNDS = 3 };
#else
enum { DEPTH = 14, FIBONACCI = 13, POINTERS = 300, SWITCHES = 200, ROUNDS = 20 };
#endif

static uint64_t random_state;
static volatile uint64_t sink;
static jmp_buf escape;

static NOINLINE uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static NOINLINE uint64_t nested(unsigned int n)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j <= i; j++)
			for (unsigned int k = 0; k < 3; k++)
				sum = (i ^ j ^ k) & 1 ? sum + (uint64_t)i * j : sum ^ k;
	return sum;
}

static NOINLINE uint64_t fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE uint64_t add(uint64_t x)
{
	return x + 1;
}

static NOINLINE uint64_t triple(uint64_t x)
{
	return x * 3;
}

static NOINLINE uint64_t flip(uint64_t x)
{
	return x ^ 0x55;
}

static NOINLINE uint64_t either(uint64_t x)
{
	return x > 100 ? add(x) : triple(x);
}

static NOINLINE uint64_t by_pointer(unsigned int cnt)
{
	static uint64_t (*const functions[])(uint64_t) = {add, triple, flip, either};
	uint64_t x = 1;

	for (unsigned int i = 0; i < cnt; i++)
		x = functions[next_random() & 3](x) & 0xffff;
	return x;
}

static NOINLINE uint64_t by_switch(unsigned int what)
{
	switch (what) {
	case 0:
		return add(5);
	case 1:
		return triple(7);
	case 2:
		return sink + 11;
	case 3:
		return flip(3);
	case 4:
		return 2;
	case 5:
		return either(99);
	case 6:
		return sink ^ 1;
	case 7:
		return 42;
	default:
		return 0;
	}
}

static NOINLINE void dive(unsigned int depth)
{
	if (depth)
		dive(depth - 1);
	else if (!sink)
		longjmp(escape, 1);
	sink++;
}

static NOINLINE uint64_t jump_out(void)
{
	if (!setjmp(escape))
		dive(6);
	return 1;
}

static NOINLINE uint64_t count_down(void)
{
	uint64_t sum = 0;

	__asm__ volatile("mov $9, %%rcx\n"
			 "1: add %%rcx, %0\n"
			 "loop 1b\n"
			 "jrcxz 2f\n"
			 "add $1000, %0\n"
			 "2: mov $3, %%rcx\n"
			 "jrcxz 2b\n"
			 : "+r"(sum)
			 :
			 : "rcx", "cc");
	return sum;
}

/* 0 unless the trap flag shows. */
static NOINLINE uint64_t flags_on_stack(void)
{
	uint64_t flags;

	__asm__ volatile(RED_ZONE "pushfq\n"
				  "pop %0\n"
				  "push %0\n"
				  "popfq\n" RED_BACK
			 : "=r"(flags)
			 :
			 : "memory", "cc");
	return flags & 0x100;
}

static NOINLINE uint64_t strings(void)
{
	static char from[600], to[600];
	char *source = from;
	char *target = to;
	uint64_t cnt = 13;

	__asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(cnt) : : "memory");
	target = to;
	cnt = 600;
	__asm__ volatile("rep stosb" : "+D"(target), "+c"(cnt) : "a"(7) : "memory");
	target = to;
	cnt = 40;
	__asm__ volatile("repne scasb" : "+D"(target), "+c"(cnt) : "a"(8) : "memory", "cc");
	return (uint64_t)to[599] + cnt;
}

/* Prefixes that change nothing: rep before ret, notrack before jmp, a long no-op. */
static NOINLINE uint64_t odd_transfers(void)
{
	uint64_t x = 0;

	__asm__ volatile(RED_ZONE "lea 3f(%%rip), %%rax\n"
				  "push %%rax\n"
				  ".byte 0xf3\n"
				  "ret\n"
				  "3: lea 4f(%%rip), %%rax\n"
				  ".byte 0x3e\n"
				  "jmp *%%rax\n"
				  "ud2\n"
				  "4: xor %%eax, %%eax\n"
				  "jz 5f\n"
				  "ud2\n"
				  "5: jnz 6f\n"
				  ".byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n"
				  "6: inc %0\n" RED_BACK
			 : "+r"(x)
			 :
			 : "rax", "memory", "cc");
	return x;
}

static uint64_t iterate(void)
{
	uint64_t sum = 0;

	random_state = 88172645463325252ull;
	sum = sum * 31 + nested(DEPTH);
	sum = sum * 31 + fibonacci(FIBONACCI);
	sum = sum * 31 + by_pointer(POINTERS);
	for (unsigned int i = 0; i < SWITCHES; i++)
		sum = sum * 31 + by_switch((unsigned int)(next_random() % 9));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		sum = sum * 31 + jump_out();
		sum = sum * 31 + count_down();
		sum = sum * 31 + flags_on_stack();
		sum = sum * 31 + odd_transfers();
	}
	return sum * 31 + strings();
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	uint64_t first = 0;

	for (long i = 0; i < iterations; i++) {
		uint64_t sum = iterate();

		if (i && sum != first) {
			printf("iteration %ld differs\n", i);
			return 1;
		}
		first = sum;
	}
	printf("flow_loops %016llx\n", (unsigned long long)first);
	return 0;
}
