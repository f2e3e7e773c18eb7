// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that would notice a stepper: it looks for the trap flag wherever a program can see it
 * (pushf, r11 after a system call, the context a signal handler gets, in a fork's child, and right
 * after what the kernel or a hypervisor does in the processor's place), steps itself and counts the
 * traps, blocks SIGTRAP and looks whether mask and handler survive, looks at its CPU affinity and
 * that of its children, and expects no SIGTRAP that it did not cause.
 *
 *     tf_watch [SECONDS [THREADS [io]]]
 *
 * With "io" it asks for I/O privileges and uses cli and sti, which kernels from 5.5 on pretend.
 * Prints "tf_watch clean" and exits 0, or what it saw (20 lines at most) and exits 1.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EFLAGS_TF      0x100
#define OWN_STEP_TRAPS 16
#define THREAD_MAX     16

static atomic_int seen;
static atomic_bool stop;
static int cpu_cnt;
static bool io_allowed;
static _Thread_local volatile sig_atomic_t stepping;
static _Thread_local volatile int own_traps;

static void complain(const char *what)
{
	if (atomic_fetch_add(&seen, 1) < 20)
		dprintf(STDOUT_FILENO, "tf_watch: %s\n", what);
}

static uint64_t flags(void)
{
	uint64_t value;

	__asm__ volatile("sub $128, %%rsp\n"
			 "pushfq\n"
			 "pop %0\n"
			 "add $128, %%rsp\n"
			 : "=r"(value)
			 :
			 : "memory", "cc");
	return value;
}

static uint64_t flags_16bit(void)
{
	uint64_t value = 0;

	__asm__ volatile("sub $128, %%rsp\n"
			 "pushfw\n"
			 "popw %w0\n"
			 "add $128, %%rsp\n"
			 : "+r"(value)
			 :
			 : "memory", "cc");
	return value;
}

/* The flags that the processor saves in r11 on the way into the kernel. */
static uint64_t flags_in_r11(void)
{
	long result = SYS_getpid;
	uint64_t r11;

	__asm__ volatile("syscall\n"
			 "mov %%r11, %1\n"
			 : "+a"(result), "=r"(r11)
			 :
			 : "rcx", "r11", "memory");
	return r11;
}

/* Instructions that may fault have three bytes: on_fault() skips what the kernel does not emulate.
 */
#define FLAGS_AFTER(insns)                                                                         \
	({                                                                                         \
		char table_[16];                                                                   \
		void *to_ = table_;                                                                \
		uint64_t value_;                                                                   \
                                                                                                   \
		__asm__ volatile("sub $128, %%rsp\n" insns "\n"                                    \
				 "pushfq\n"                                                        \
				 "pop %0\n"                                                        \
				 "add $128, %%rsp\n"                                               \
				 : "=&r"(value_), "+a"(to_)                                        \
				 :                                                                 \
				 : "memory", "cc");                                                \
		value_;                                                                            \
	})

/* A hypervisor that runs cpuid may lose the trap behind it, so pushf is what is stepped next. */
static uint64_t flags_after_cpuid(void)
{
	uint64_t value = 0;

	__asm__ volatile("sub $128, %%rsp\n"
			 "cpuid\n"
			 "pushfq\n"
			 "pop %0\n"
			 "add $128, %%rsp\n"
			 : "+a"(value)
			 :
			 : "rbx", "rcx", "rdx", "memory", "cc");
	return value;
}

static void look_after_emulation(void)
{
	if (FLAGS_AFTER("sgdt (%%rax)") & EFLAGS_TF)
		complain("trap flag pushed after sgdt");
	if (FLAGS_AFTER("sidt (%%rax)") & EFLAGS_TF)
		complain("trap flag pushed after sidt");
	if (FLAGS_AFTER("sldt %%eax") & EFLAGS_TF)
		complain("trap flag pushed after sldt");
	if (FLAGS_AFTER("str %%eax") & EFLAGS_TF)
		complain("trap flag pushed after str");
	if (FLAGS_AFTER("smsw %%eax") & EFLAGS_TF)
		complain("trap flag pushed after smsw");
	if (flags_after_cpuid() & EFLAGS_TF)
		complain("trap flag pushed after cpuid");
	if (io_allowed && FLAGS_AFTER("cli") & EFLAGS_TF)
		complain("trap flag pushed after cli");
	if (io_allowed && FLAGS_AFTER("sti") & EFLAGS_TF)
		complain("trap flag pushed after sti");
}

static void look_at_flags(void)
{
	if (flags() & EFLAGS_TF)
		complain("trap flag pushed");
	if (flags_16bit() & EFLAGS_TF)
		complain("trap flag pushed, 16 bits");
	if (flags_in_r11() & EFLAGS_TF)
		complain("trap flag in r11");
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *state = context;

	if (!stepping && state->uc_mcontext.gregs[REG_EFL] & EFLAGS_TF)
		complain("trap flag in the interrupted context");
	if (flags() & EFLAGS_TF)
		complain("trap flag in a handler");
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *state = context;

	on_signal(signal, info, context);
	state->uc_mcontext.gregs[REG_RIP] += 3; /* mov (%rax), %rax */
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *state = context;

	if (stepping) {
		own_traps++;
		return;
	}
	complain("SIGTRAP out of nowhere");
	state->uc_mcontext.gregs[REG_EFL] &= ~EFLAGS_TF;
}

static void step_myself(void)
{
	own_traps = 0;
	stepping = 1;
	__asm__ volatile("sub $128, %%rsp\n"
			 "pushfq\n"
			 "orq $0x100, (%%rsp)\n"
			 "popfq\n"
			 "nop\n"
			 "nop\n"
			 "mov $5, %%ecx\n"
			 "1: dec %%ecx\n"
			 "jnz 1b\n"
			 "pushfq\n"
			 "andq $~0x100, (%%rsp)\n"
			 "popfq\n"
			 "nop\n"
			 "add $128, %%rsp\n"
			 :
			 :
			 : "rcx", "memory", "cc");
	stepping = 0;
	if (own_traps != OWN_STEP_TRAPS)
		complain("own steps miscounted");
}

static void fault(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 ".byte 0x48, 0x8b, 0x00\n"
			 :
			 :
			 : "rax", "memory", "cc");
}

static uint64_t compute(uint64_t seed)
{
	uint64_t x = seed;

	for (int i = 0; i < 3000; i++) {
		x = x * 6364136223846793005ull + 1;
		if (x >> 63)
			x ^= (uint64_t)i;
		if ((x & 0xff) == 0)
			x = ~x;
	}
	return x;
}

/* With SIGTRAP blocked, as libraries do around fork and thread creation. */
static void compute_blocked(uint64_t seed, uint64_t expected)
{
	struct sigaction action;
	sigset_t all, old, now;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (compute(seed) != expected)
		complain("wrong result while blocked");
	pthread_sigmask(SIG_SETMASK, &old, &now);
	if (!sigismember(&now, SIGTRAP))
		complain("SIGTRAP got unblocked");
	sigaction(SIGTRAP, NULL, &action);
	if (action.sa_sigaction != on_trap)
		complain("SIGTRAP's handler is gone");
}

static void look_at_affinity(const char *what)
{
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) != cpu_cnt)
		complain(what);
}

static void await(pid_t pid, int expected)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			complain("child lost");
			return;
		}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
		complain("child ended otherwise");
}

static void fork_child(uint64_t seed, uint64_t expected)
{
	pid_t pid = fork();

	if (pid == 0) {
		atomic_store(&seen, 0);
		look_at_flags();
		look_at_affinity("child's affinity is narrowed");
		_exit(compute(seed) == expected && !atomic_load(&seen) ? 7 : 8);
	}
	if (pid > 0)
		await(pid, 7);
}

static void exec_child(void)
{
	pid_t pid = vfork(); /* NOLINT: vfork is what is tested */

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	if (pid > 0)
		await(pid, 0);
}

static void *run(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument;
	uint64_t expected = compute(seed);

	for (unsigned int round = 0; !atomic_load(&stop); round++) {
		if (compute(seed) != expected)
			complain("wrong result");
		look_at_flags();
		look_after_emulation();
		fault();
		if (round % 4 == 0)
			step_myself();
		if (round % 8 == 1)
			compute_blocked(seed, expected);
		if (round % 16 == 2)
			pthread_kill(pthread_self(), SIGUSR1);
		if (round % 64 == 3)
			fork_child(seed, expected);
		if (round % 128 == 4)
			exec_child();
		look_at_affinity("affinity is narrowed");
	}
	return NULL;
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval every = {{0, 3000}, {0, 3000}};

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	action.sa_sigaction = on_trap;
	action.sa_flags |= SA_NODEFER;
	sigaction(SIGTRAP, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

int main(int argc, char **argv)
{
	time_t seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
	int thread_cnt = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
	struct itimerval never = {{0, 0}, {0, 0}};
	pthread_t threads[THREAD_MAX];
	cpu_set_t set;
	time_t end = time(NULL) + seconds;

	if (thread_cnt < 1 || thread_cnt > THREAD_MAX)
		return 2;
	cpu_cnt = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
	io_allowed = argc > 3 && !iopl(3);
	install();
	for (int i = 0; i < thread_cnt; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1)))
			return 2;
	while (time(NULL) < end)
		usleep(20000);
	atomic_store(&stop, true);
	for (int i = 0; i < thread_cnt; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	if (atomic_load(&seen))
		return 1;
	printf("tf_watch clean\n");
	return 0;
}
