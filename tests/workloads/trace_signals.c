// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Control that leaves the ordinary ways, the same in every run: signals raised, a division fault
 * left by siglongjmp, a bad access in the middle of a block that the handler steps over, a handler
 * on a stack of its own, a signal inside a handler, longjmp over frames, callbacks from the C
 * library, a switch table. Exit status 0 when the counts are right.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))

static sigjmp_buf escape;
static jmp_buf plain_escape;
static volatile uint64_t raised, nested, divided, stepped_over, on_stack, dived, sum;
static volatile int zero;

static void on_user(int signal)
{
	for (uint64_t i = 0; i < 9; i++)
		if (i & 2)
			sum += i;
	raised++;
	if (signal == SIGUSR1)
		raise(SIGUSR2);
	else
		nested++;
}

static void on_division(int signal)
{
	divided++;
	siglongjmp(escape, 1);
}

/* The instruction that faults has three bytes. */
static void on_access(int signal, siginfo_t *info, void *context)
{
	ucontext_t *state = context;

	stepped_over++;
	state->uc_mcontext.gregs[REG_RIP] += 3;
}

static void on_alternate(int signal)
{
	char here;

	on_stack += (uintptr_t)&here > 4096;
	for (int i = 0; i < 3; i++)
		sum += (uint64_t)i;
}

static NOINLINE void divide(void)
{
	if (!sigsetjmp(escape, 1))
		sum += (uint64_t)(100 / zero);
	else
		sum++;
}

/* The increments before and behind the bad access are in one basic block with it. */
static NOINLINE void access_badly(void)
{
	uint64_t count = 0;

	__asm__ volatile("inc %0\n"
			 "xor %%eax, %%eax\n"
			 "inc %0\n"
			 ".byte 0x48, 0x8b, 0x00\n"
			 "inc %0\n"
			 : "+r"(count)
			 :
			 : "rax", "memory", "cc");
	sum += count;
}

static NOINLINE void dive(unsigned int depth)
{
	if (depth)
		dive(depth - 1);
	else if (!zero)
		longjmp(plain_escape, 1);
	sum++;
}

static NOINLINE void jump_out(void)
{
	if (!setjmp(plain_escape))
		dive(5);
	else
		dived++;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static NOINLINE void sort(void)
{
	uint32_t values[100];
	uint32_t x = 12345;

	for (int i = 0; i < 100; i++) {
		x = x * 1664525 + 1013904223;
		values[i] = x >> 16;
	}
	qsort(values, 100, sizeof(*values), by_value);
	sum += values[50];
}

static NOINLINE uint64_t choose(unsigned int what)
{
	switch (what) {
	case 0:
		return sum + 1;
	case 1:
		return sum * 3;
	case 2:
		return sum ^ 0x55;
	case 3:
		return sum >> 1;
	case 4:
		return sum - 7;
	case 5:
		return sum | 8;
	default:
		return 0;
	}
}

static void set_up(void)
{
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction access = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO};
	struct sigaction other = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &access, NULL);
	sigaction(SIGHUP, &other, NULL);
	signal(SIGUSR1, on_user);
	signal(SIGUSR2, on_user);
	signal(SIGFPE, on_division);
}

int main(void)
{
	set_up();
	for (unsigned int i = 0; i < 10; i++) {
		raise(SIGUSR1);
		divide();
		access_badly();
		raise(SIGHUP);
		jump_out();
		sort();
		for (unsigned int k = 0; k < 30; k++)
			sum = choose(k % 7) & 0xffff;
	}
	return raised != 20 || nested != 10 || divided != 10 || stepped_over != 10 ||
	       on_stack != 10 || dived != 10;
}
