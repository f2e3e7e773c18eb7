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
#include <Zydis/Zydis.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <linux/perf_event.h>

#include "launch.h"
#include "pathprof/abi.h"

#define CACHE_SLOTS  (1u << 18)
#define EFLAGS_TF    0x100
#define EXIT_TROUBLE 125

enum special { PLAIN, PUSHES_FLAGS, CALLS_KERNEL };

struct decoded {
	__u64 pc; /* 0: free */
	__u64 target;
	__u32 kind; /* 0: no branch */
	__u32 len_bytes;
	enum special special;
};

struct tracer {
	pid_t pid;
	FILE *out;
	ZydisDecoder decoder;
	struct decoded *cache;
	unsigned long long steps, branches;
};

static __u32 kind_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	int direct = operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return PERF_BR_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? PERF_BR_UNCOND : PERF_BR_IND;
	case ZYDIS_CATEGORY_CALL:
		return direct ? PERF_BR_CALL : PERF_BR_IND_CALL;
	case ZYDIS_CATEGORY_RET:
		return PERF_BR_RET;
	default:
		return 0;
	}
}

static enum special special_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return PUSHES_FLAGS;
	case ZYDIS_MNEMONIC_SYSCALL:
		return CALLS_KERNEL;
	default:
		return PLAIN;
	}
}

static void decode(const struct tracer *tracer, __u64 pc, struct decoded *ret_decoded)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	unsigned char code[16];
	ZyanU64 target;
	size_t first = 4096 - pc % 4096 < 16 ? 4096 - pc % 4096 : 16;
	struct iovec local = {code, 16};
	struct iovec remote[2] = {{(void *)pc, first}, {(void *)(pc + first), 16 - first}};
	ssize_t got = process_vm_readv(tracer->pid, &local, 1, remote, 2, 0);

	*ret_decoded = (struct decoded){.pc = pc};
	if (got <= 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&tracer->decoder, code, (ZyanUSize)got,
							     &insn, operands)))
		return;
	ret_decoded->kind = kind_of(&insn, operands);
	ret_decoded->len_bytes = insn.length;
	ret_decoded->special = special_of(&insn);
	if (ret_decoded->kind && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    ret_decoded->kind != PERF_BR_RET &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &operands[0], pc, &target)))
		ret_decoded->target = target;
}

static const struct decoded *look_up(struct tracer *tracer, __u64 pc)
{
	__u32 slot = (__u32)(pc * 0x9e3779b97f4a7c15ull >> 46);

	while (tracer->cache[slot].pc && tracer->cache[slot].pc != pc)
		slot = (slot + 1) % CACHE_SLOTS;
	if (!tracer->cache[slot].pc)
		decode(tracer, pc, &tracer->cache[slot]);
	return &tracer->cache[slot];
}

static void write_branch(struct tracer *tracer, const struct decoded *insn, __u64 next)
{
	struct pathprof_branch branch = {
		.from = insn->pc,
		.target = insn->target ? insn->target : next,
		.next = next,
		.kind = insn->kind,
		.taken = insn->kind != PERF_BR_COND || next == insn->target,
	};

	fwrite(&branch, sizeof(branch), 1, tracer->out);
	tracer->branches++;
}

static void write_jump(struct tracer *tracer, __u64 from, __u64 next)
{
	struct pathprof_branch jump = {.from = from, .target = next, .next = next};

	fwrite(&jump, sizeof(jump), 1, tracer->out);
}

/* What the step from insn to next was. */
static void account(struct tracer *tracer, const struct decoded *insn, __u64 next)
{
	if (insn->kind)
		write_branch(tracer, insn, next);
	else if (next != insn->pc && next != insn->pc + insn->len_bytes)
		write_jump(tracer, insn->pc, next);
}

/* Takes the trap flag out of sight again. */
static void hide(struct tracer *tracer, enum special special, struct user_regs_struct *regs)
{
	errno = 0;
	if (special == PUSHES_FLAGS) {
		long top = ptrace(PTRACE_PEEKDATA, tracer->pid, regs->rsp, NULL);

		ptrace(PTRACE_POKEDATA, tracer->pid, regs->rsp, top & ~(long)EFLAGS_TF);
	} else if (special == CALLS_KERNEL && regs->r11 & EFLAGS_TF) {
		regs->r11 &= ~(__u64)EFLAGS_TF;
		ptrace(PTRACE_SETREGS, tracer->pid, NULL, regs);
	}
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
		struct decoded insn = *look_up(tracer, regs.rip);
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
		hide(tracer, insn.special, &regs);
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
	tracer.cache = calloc(CACHE_SLOTS, sizeof(*tracer.cache));
	tracer.out = fopen(argv[1], "wb");
	if (!tracer.cache || !tracer.out || start(&tracer, argv + 2)) {
		perror("truth");
		return EXIT_TROUBLE;
	}
	ZydisDecoderInit(&tracer.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	status = trace(&tracer);
	if (fclose(tracer.out))
		return EXIT_TROUBLE;
	fprintf(stderr, "truth: %llu steps, %llu branches\n", tracer.steps, tracer.branches);
	free(tracer.cache);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
