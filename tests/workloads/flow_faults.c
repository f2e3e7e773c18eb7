// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow through faults, the same in every iteration: handlers of SIGSEGV, SIGFPE and
 * SIGILL that skip an instruction, a call to address zero, page faults on fresh memory, an alarm
 * that it sends itself; and alarms that come at any time. Prints counts that depend on nothing.
 *
 *     flow_faults ITERATIONS     (ten digits, see flow_loops.c)
 *
 * A few iterations are for the truth and have no alarm at any time: it would tear what follows
 * another in it, and a fast run might end before one came. The code around an alarm, and the
 * handler, are the same at any time, and a burst ends where a handler begins or returns: so the
 * truth holds all that a burst can. A great many iterations have alarms all the time.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_BYTES     4096
#define PAGE_CNT       12
#define FEW_ITERATIONS 100
#define OFTEN_US       1700

static volatile uint64_t faults, alarms, sum;
static char *pages;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *state = context;
	greg_t *registers = state->uc_mcontext.gregs;

	faults++;
	if (!registers[REG_RIP]) {
		registers[REG_RIP] = *(greg_t *)registers[REG_RSP];
		registers[REG_RSP] += (greg_t)sizeof(greg_t);
		return;
	}
	registers[REG_RIP] += signal == SIGSEGV ? 3 : 2;
}

static void on_alarm(int signal)
{
	uint64_t x = 3;

	for (uint64_t i = 0; i < 9; i++)
		x = i % 4 ? x * 3 : x + i;
	alarms += x > 0;
}

static __attribute__((noinline)) void fault(uint64_t number)
{
	switch (number) {
	case 0:
		__asm__ volatile("xor %%eax, %%eax\n"
				 "test %%eax, %%eax\n"
				 "jnz 1f\n"
				 ".byte 0x48, 0x8b, 0x00\n" /* mov (%rax), %rax */
				 "1:\n"
				 :
				 :
				 : "rax", "memory", "cc");
		break;
	case 1:
		__asm__ volatile("xor %%ecx, %%ecx\n"
				 "xor %%edx, %%edx\n"
				 "mov $7, %%eax\n"
				 ".byte 0xf7, 0xf1\n" /* div %ecx */
				 "jrcxz 1f\n"
				 "inc %%eax\n"
				 "1:\n"
				 :
				 :
				 : "rax", "rcx", "rdx", "cc");
		break;
	case 2:
		__asm__ volatile("ud2\n" : : : "memory");
		break;
	default:
		__asm__ volatile("sub $128, %%rsp\n"
				 "xor %%eax, %%eax\n"
				 "call *%%rax\n"
				 "add $128, %%rsp\n"
				 :
				 :
				 : "rax", "memory", "cc");
	}
}

static __attribute__((noinline)) void compute(void)
{
	uint64_t x = 12345;

	for (int i = 0; i < 60; i++) {
		x = x * 6364136223846793005ull + 1;
		if (x >> 63)
			sum += x & 7;
		else
			sum ^= 1;
	}
}

/* Each first touch faults: by a plain store, by a string instruction, by a read. */
static __attribute__((noinline)) void touch(void)
{
	char *to = pages + 3 * PAGE_BYTES - 5;
	uint64_t cnt = 300;

	madvise(pages, PAGE_CNT * PAGE_BYTES, MADV_DONTNEED);
	for (int i = 0; i < 3; i++) {
		if (pages[i * PAGE_BYTES])
			sum += 1000;
		pages[i * PAGE_BYTES + i] = (char)i;
		sum += (uint64_t)pages[i * PAGE_BYTES + 1];
	}
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(cnt) : "a"(1) : "memory");
	for (int i = 3; i < PAGE_CNT; i++)
		sum += (uint64_t)pages[i * PAGE_BYTES];
}

static void iterate(void)
{
	/* Not raise: it blocks SIGTRAP for a moment, which the truth cannot step through. */
	syscall(SYS_tgkill, getpid(), getpid(), SIGALRM);
	for (uint64_t i = 0; i < 4; i++) {
		fault(i);
		compute();
		touch();
	}
}

static void set_alarm(long interval_us)
{
	struct itimerval interval = {{0, interval_us}, {0, interval_us}};

	setitimer(ITIMER_REAL, &interval, NULL);
}

static int run(long iterations, long interval_us)
{
	uint64_t first = 0;

	for (long i = 0; i < iterations; i++) {
		set_alarm(interval_us);
		faults = alarms = sum = 0;
		iterate();
		if (faults != 4 || !alarms || (i && sum != first)) {
			printf("iteration %ld: %llu %llu %llu\n", i, (unsigned long long)faults,
			       (unsigned long long)alarms, (unsigned long long)sum);
			return 1;
		}
		first = sum;
	}
	printf("flow_faults %016llx\n", (unsigned long long)first);
	return 0;
}

int main(int argc, char **argv)
{
	/* Looked up, for a branch would go one way in the truth and the other way in the bursts. */
	static const volatile long intervals_us[] = {0, OFTEN_US};
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	struct sigaction fault_action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	signal(SIGALRM, on_alarm);
	sigaction(SIGSEGV, &fault_action, NULL);
	sigaction(SIGFPE, &fault_action, NULL);
	sigaction(SIGILL, &fault_action, NULL);
	pages = mmap(NULL, PAGE_CNT * PAGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 2;
	/* One page a fault. */
	madvise(pages, PAGE_CNT * PAGE_BYTES, MADV_NOHUGEPAGE);
	return run(iterations, intervals_us[iterations >= FEW_ITERATIONS]);
}
