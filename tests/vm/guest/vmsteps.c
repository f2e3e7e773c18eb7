// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth about instructions: the address of each one that a single-threaded program runs, by
 * single-stepping all of it. It decodes nothing but what would show the program that it is stepped
 * (pushf, and r11 behind a system call), so it cannot share a decoder's mistakes.
 *
 *     vmsteps OUT CMD ARGS...
 *
 * OUT gets a 64-bit word an instruction, in the order of execution: its address, with STEPS_KERNEL
 * set for a system call and for cpuid. A string instruction stands there once, however many rounds
 * it went; so would a branch to itself, and the programs have none. STEPS_BREAK is where a signal
 * led elsewhere. Exit status: the command's.
 *
 * Workload: a hundred thousand steps; program and tracer share one CPU.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../../truth/launch.h"
#include "steps.h"

#define EXIT_TROUBLE 125
#define EFLAGS_TF    0x100ull

struct tracer {
	pid_t pid;
	FILE *out;
	unsigned long long insns, rounds;
};

static void put(struct tracer *tracer, uint64_t word)
{
	fwrite(&word, sizeof(word), 1, tracer->out);
}

/* The first bytes at an address; 0 where there are none. */
static uint64_t code_at(const struct tracer *tracer, uint64_t address)
{
	errno = 0;
	return (uint64_t)ptrace(PTRACE_PEEKTEXT, tracer->pid, address, NULL);
}

static bool is_syscall(uint64_t code)
{
	return (code & 0xffff) == 0x050f;
}

static bool is_cpuid(uint64_t code)
{
	return (code & 0xffff) == 0xa20f;
}

static bool is_pushf(uint64_t code)
{
	return (code & 0xff) == 0x9c || (code & 0xffff) == 0x9c66;
}

/* Takes the trap flag out of where the step before left it. */
static void hide(const struct tracer *tracer, uint64_t code, struct user_regs_struct *regs)
{
	if (is_pushf(code)) {
		long top = ptrace(PTRACE_PEEKDATA, tracer->pid, regs->rsp, NULL);

		ptrace(PTRACE_POKEDATA, tracer->pid, regs->rsp, top & ~(long)EFLAGS_TF);
	} else if (is_syscall(code) && regs->r11 & EFLAGS_TF) {
		regs->r11 &= ~EFLAGS_TF;
		ptrace(PTRACE_SETREGS, tracer->pid, NULL, regs);
	}
}

/* 0 for a step: behind an instruction or a system call, or onto a handler. Else the signal. */
static int signal_of_stop(pid_t pid, int status)
{
	siginfo_t info;

	if (WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETSIGINFO, pid, NULL, &info))
		return WSTOPSIG(status);
	return info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code == SIGTRAP
		       ? 0
		       : SIGTRAP;
}

/* Records the origin of a step, and counts steps and iterations. */
static void account(struct tracer *tracer, uint64_t pc, uint64_t code, uint64_t next)
{
	if (next == pc) {
		tracer->rounds++;
		return;
	}
	put(tracer, is_syscall(code) || is_cpuid(code) ? pc | STEPS_KERNEL : pc);
	tracer->insns++;
}

/* Runs to the end of the program; its wait status. */
static int trace(struct tracer *tracer)
{
	struct user_regs_struct regs;
	int signal = 0, status;

	ptrace(PTRACE_GETREGS, tracer->pid, NULL, &regs);
	for (;;) {
		uint64_t pc = regs.rip, code = code_at(tracer, pc);
		int handed_on = signal;

		if (ptrace(PTRACE_SINGLESTEP, tracer->pid, NULL, (long)signal) ||
		    waitpid(tracer->pid, &status, 0) < 0)
			return EXIT_TROUBLE << 8;
		if (!WIFSTOPPED(status))
			return status;
		signal = signal_of_stop(tracer->pid, status);
		ptrace(PTRACE_GETREGS, tracer->pid, NULL, &regs);
		/* With a signal in the way, or onto its handler, nothing was executed. */
		if (handed_on && !signal)
			put(tracer, STEPS_BREAK);
		if (signal || handed_on)
			continue;
		hide(tracer, code, &regs);
		account(tracer, pc, code, regs.rip);
	}
}

static int start(struct tracer *tracer, char **argv)
{
	cpu_set_t one;
	int status;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	tracer->pid = fork();
	if (tracer->pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		launch_fixed(argv);
	}
	if (tracer->pid < 0 || waitpid(tracer->pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return -1;
	return ptrace(PTRACE_SETOPTIONS, tracer->pid, NULL, PTRACE_O_EXITKILL) ? -1 : 0;
}

int main(int argc, char **argv)
{
	static struct tracer tracer;
	int status;

	tracer.out = argc > 2 ? fopen(argv[1], "wb") : NULL;
	if (!tracer.out || start(&tracer, argv + 2)) {
		fprintf(stderr, "usage: vmsteps OUT CMD ARGS...\n");
		return EXIT_TROUBLE;
	}
	status = trace(&tracer);
	if (fclose(tracer.out))
		return EXIT_TROUBLE;
	fprintf(stderr, "vmsteps: %llu instructions, %llu more rounds of string instructions\n",
		tracer.insns, tracer.rounds);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
