// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow through signals that the program causes itself: one sent, a fault whose
 * handler steps over the faulting instruction, a fault that siglongjmp leaves, int3. The same in
 * every iteration; prints counts that depend on nothing.
 *
 *     flow_signal ITERATIONS     (ten digits up to 5, see flow_loops.c)
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf escape;
static volatile sig_atomic_t leave;
static volatile uint64_t raised, faults, breakpoints, sum;

static void on_user(int signal)
{
	for (uint64_t i = 0; i < 20; i++)
		if (i % 3)
			sum += i;
	raised++;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *state = context;

	faults++;
	if (leave)
		siglongjmp(escape, 1);
	state->uc_mcontext.gregs[REG_RIP] += 3; /* mov (%rax), %rax */
}

static void on_trap(int signal)
{
	breakpoints++;
}

static void fault(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 ".byte 0x48, 0x8b, 0x00\n"
			 :
			 :
			 : "rax", "memory", "cc");
}

static void compute(void)
{
	uint64_t x = 12345;

	for (int i = 0; i < 150; i++) {
		x = x * 6364136223846793005ull + 1;
		if (x >> 63)
			sum += x & 7;
		else
			sum ^= 1;
	}
}

static void iterate(void)
{
	/* Not raise: it blocks SIGTRAP for a moment, which the truth cannot step through. */
	syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
	compute();
	leave = 0;
	fault();
	compute();
	leave = 1;
	if (!sigsetjmp(escape, 1))
		fault();
	compute();
	__asm__ volatile("int3");
	compute();
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	struct sigaction fault_action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct sigaction trap_action = {.sa_handler = on_trap, .sa_flags = SA_NODEFER};
	uint64_t first = 0;

	signal(SIGUSR1, on_user);
	sigaction(SIGTRAP, &trap_action, NULL);
	sigaction(SIGSEGV, &fault_action, NULL);
	for (long i = 0; i < iterations; i++) {
		raised = faults = breakpoints = sum = 0;
		iterate();
		if (raised != 1 || faults != 2 || breakpoints != 1 || (i && sum != first)) {
			printf("iteration %ld: %llu %llu %llu\n", i, (unsigned long long)raised,
			       (unsigned long long)faults, (unsigned long long)breakpoints);
			return 1;
		}
		first = sum;
	}
	printf("flow_signal %016llx\n", (unsigned long long)first);
	return 0;
}
