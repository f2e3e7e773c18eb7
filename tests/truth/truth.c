// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth: every branch of a single-threaded program, by single-stepping all of it and decoding
 * with Zydis. Shares nothing with the step source but the record layout and the way the program
 * is started.
 *
 *     truth OUT CMD ARGS...
 *
 * OUT gets struct pathprof_branch after struct pathprof_branch, in the order of execution; where a
 * signal or its return led elsewhere stands one of kind 0, which no burst can hold. The program
 * must not see that it is stepped: the trap flag is taken back out of what pushf pushes and of the
 * register that a system call saves the flags in. It must not block SIGTRAP: the kernel would reset
 * its handler. Exit status: the command's.
 *
 * Workload: a million steps, some tens of seconds; program and tracer share one CPU, where a step
 * is cheapest. Each address is decoded once: the code must not change.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "decode.h"
#include "launch.h"
#include "pathprof/abi.h"

#define EXIT_TROUBLE 125

struct tracer {
	pid_t pid;
	FILE *out;
	struct decode decode;
	unsigned long long steps, branches;
	__u32 insns; /* since the last branch, or since control was led elsewhere */
};

static void write_branch(struct tracer *tracer, const struct decoded *insn, __u64 next)
{
	struct pathprof_branch branch = {
		.from = insn->pc,
		.target = insn->target ? insn->target : next,
		.next = next,
		.kind = insn->kind,
		.taken = insn->kind != PERF_BR_COND || next == insn->target,
		.insns = tracer->insns,
	};

	tracer->insns = 0;

	fwrite(&branch, sizeof(branch), 1, tracer->out);
	tracer->branches++;
}

static void write_jump(struct tracer *tracer, __u64 from, __u64 next)
{
	struct pathprof_branch jump = {.from = from, .target = next, .next = next};

	tracer->insns = 0;
	fwrite(&jump, sizeof(jump), 1, tracer->out);
}

/* The kind of the step from insn to next. An instruction that repeats counts when it is done. */
static void account(struct tracer *tracer, const struct decoded *insn, __u64 next)
{
	tracer->insns += insn->kind || next != insn->pc;
	if (insn->kind)
		write_branch(tracer, insn, next);
	else if (next != insn->pc && next != insn->pc + insn->len_bytes)
		write_jump(tracer, insn->pc, next);
}

/*
 * 0 for a step: after an instruction (TRAP_TRACE), after a system call (TRAP_BRKPT), onto a handler
 * (SIGTRAP). Else the signal about to be delivered.
 */
static int signal_of_stop(pid_t pid, int status)
{
	siginfo_t info;

	if (WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETSIGINFO, pid, NULL, &info))
		return WSTOPSIG(status);
	switch (info.si_code) {
	case TRAP_TRACE:
	case TRAP_BRKPT:
	case SIGTRAP:
		return 0;
	default:
		return SIGTRAP;
	}
}

/* Runs to the end of the program; its wait status. */
static int trace(struct tracer *tracer)
{
	struct user_regs_struct regs;
	int signal = 0;
	int status;

	ptrace(PTRACE_GETREGS, tracer->pid, NULL, &regs);
	for (;;) {
		struct decoded insn = *decode_look_up(&tracer->decode, tracer->pid, regs.rip);
		int handed_on = signal;

		if (ptrace(PTRACE_SINGLESTEP, tracer->pid, NULL, (long)signal) ||
		    waitpid(tracer->pid, &status, 0) < 0)
			return 1 << 8;
		if (!WIFSTOPPED(status))
			return status;
		tracer->steps++;
		signal = signal_of_stop(tracer->pid, status);
		ptrace(PTRACE_GETREGS, tracer->pid, NULL, &regs);
		/* A signal in the way, or a step onto its handler: nothing was executed. */
		if (handed_on && !signal)
			write_jump(tracer, insn.pc, regs.rip);
		if (signal || handed_on)
			continue;
		if (decode_lost_trap(&insn, regs.rip)) {
			__u64 behind = insn.pc + insn.len_bytes;

			account(tracer, &insn, behind);
			insn = *decode_look_up(&tracer->decode, tracer->pid, behind);
		}
		decode_hide(tracer->pid, insn.special, &regs);
		account(tracer, &insn, regs.rip);
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

	if (argc < 3) {
		fprintf(stderr, "usage: truth OUT CMD ARGS...\n");
		return EXIT_TROUBLE;
	}
	tracer.out = fopen(argv[1], "wb");
	if (decode_init(&tracer.decode) || !tracer.out || start(&tracer, argv + 2)) {
		perror("truth");
		return EXIT_TROUBLE;
	}
	status = trace(&tracer);
	if (fclose(tracer.out))
		return EXIT_TROUBLE;
	fprintf(stderr, "truth: %llu steps, %llu branches\n", tracer.steps, tracer.branches);
	free(tracer.decode.slots);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
