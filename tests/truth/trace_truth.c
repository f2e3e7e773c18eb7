// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth about programs with threads and children: every branch of every thread by
 * single-stepping all of them and decoding with Zydis, as text (lines.h), a section a thread. It
 * shares nothing with the exact tracer.
 *
 *     trace_truth [-m NAME] OUT CMD ARGS...
 *
 * CMD is a path. -m: of the module whose file name begins with NAME, instead of the program
 * itself. Sections begin with `stream PROCESS THREAD`, both numbered as they came; for the numbers
 * to be the same in every run, a process must start its threads and children itself, and wait for
 * a child before the next. Environment and working directory are handed on. Exit status: the
 * command's. No program may be executed by the command, and none with a handler of SIGTRAP may
 * block it: the kernel would reset the handler.
 *
 * Workload: a million steps, some tens of seconds; all share one CPU, where a step is cheapest.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "lines.h"

#define EXIT_TROUBLE 125
#define THREAD_MAX   64
#define RANGE_MAX    32

struct range {
	__u64 start, end, offset;
};

struct thread {
	pid_t tid, pid;
	unsigned int process, thread; /* numbers */
	bool begun, gone;
	int signal; /* to be delivered with the next step */
	struct user_regs_struct regs;
	struct decoded insn; /* about to run */
	uint32_t insn_cnt;   /* since the last branch */
	struct lines lines;
};

struct tracer {
	pid_t pid;
	const char *module_name; /* the file's, without folders; NULL: the program */
	char program[PATH_MAX];
	struct range ranges[RANGE_MAX];
	unsigned int range_cnt;
	struct decode decode;
	struct thread threads[THREAD_MAX];
	unsigned int thread_cnt;
	unsigned long long steps;
};

static bool wanted(const struct tracer *tracer, const char *path)
{
	const char *name = strrchr(path, '/');

	if (!tracer->module_name)
		return !strcmp(path, tracer->program);
	return name && !strncmp(name + 1, tracer->module_name, strlen(tracer->module_name));
}

/* Where the module lies now. All processes have it in the same place: they were forked. */
static void read_ranges(struct tracer *tracer, pid_t pid)
{
	char name[64], path[PATH_MAX], line[PATH_MAX + 100];
	struct range range;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	tracer->range_cnt = 0;
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %4095s", &range.start, &range.end,
			   &range.offset, path) == 4 &&
		    wanted(tracer, path) && tracer->range_cnt < RANGE_MAX)
			tracer->ranges[tracer->range_cnt++] = range;
	if (maps)
		fclose(maps);
}

static __u64 offset_of(const struct tracer *tracer, __u64 address)
{
	for (unsigned int i = 0; i < tracer->range_cnt; i++)
		if (address >= tracer->ranges[i].start && address < tracer->ranges[i].end)
			return address - tracer->ranges[i].start + tracer->ranges[i].offset;
	return LINES_OUTSIDE;
}

static void write_branch(const struct tracer *tracer, struct thread *thread, __u64 next)
{
	const struct decoded *insn = &thread->insn;
	struct line line = {
		.from = offset_of(tracer, insn->pc),
		.target = offset_of(tracer, insn->target ? insn->target : next),
		.next = offset_of(tracer, next),
		.kind = insn->kind,
		.taken = insn->kind != PERF_BR_COND || next == insn->target,
		.insn_cnt = thread->insn_cnt,
	};

	lines_branch(&thread->lines, &line);
	thread->insn_cnt = 0;
}

static void write_leap(const struct tracer *tracer, struct thread *thread, const char *name,
		       __u64 next)
{
	lines_leap(&thread->lines, name, offset_of(tracer, next));
}

/* What the step from thread->insn to next was; before: the registers ahead of it. */
static void account(struct tracer *tracer, struct thread *thread,
		    const struct user_regs_struct *before, __u64 next)
{
	const struct decoded *insn = &thread->insn;

	if (insn->special == REPEATS && next == insn->pc)
		return;
	thread->insn_cnt++;
	if (insn->kind)
		write_branch(tracer, thread, next);
	else if (insn->special == CALLS_KERNEL && before->rax == SYS_rt_sigreturn)
		write_leap(tracer, thread, "sigreturn", next);
	else if (next != insn->pc && next != insn->pc + insn->len_bytes)
		write_leap(tracer, thread, "jump", next);
	if (insn->special == CALLS_KERNEL && before->rax == SYS_mmap)
		read_ranges(tracer, thread->pid);
}

static void look_ahead(struct tracer *tracer, struct thread *thread)
{
	thread->insn = *decode_look_up(&tracer->decode, thread->tid, thread->regs.rip);
}

/* A stop of SIGTRAP that is our step's. */
static bool is_step(int code)
{
	return code == TRAP_TRACE || code == TRAP_BRKPT || code == SIGTRAP;
}

static void on_stop(struct tracer *tracer, struct thread *thread, int signal)
{
	struct user_regs_struct before = thread->regs;
	siginfo_t info = {0};

	if (signal == SIGTRAP)
		ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info);
	ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs);
	if (signal != SIGTRAP || !is_step(info.si_code)) {
		/* About to be delivered: nothing was executed. */
		thread->signal = signal;
	} else if (info.si_code == SIGTRAP) {
		write_leap(tracer, thread, "signal", thread->regs.rip);
	} else {
		decode_hide(thread->tid, thread->insn.special, &thread->regs);
		account(tracer, thread, &before, thread->regs.rip);
	}
	look_ahead(tracer, thread);
}

static pid_t group_of(pid_t tid)
{
	char name[64], line[256];
	pid_t group = 0;
	FILE *status;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	status = fopen(name, "re");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "Tgid:", 5))
			group = (pid_t)strtol(line + 5, NULL, 10);
	if (status)
		fclose(status);
	return group;
}

/* Numbers a thread not seen before: the first of a process, or the next of one. */
static void number(const struct tracer *tracer, struct thread *thread)
{
	thread->pid = group_of(thread->tid);
	for (unsigned int i = 0; i < tracer->thread_cnt; i++) {
		const struct thread *other = &tracer->threads[i];

		if (other->pid == thread->pid) {
			thread->process = other->process;
			thread->thread++;
		} else if (!thread->thread && other->process >= thread->process) {
			thread->process = other->process + 1;
		}
	}
}

/* NULL when there are too many. */
static struct thread *find_thread(struct tracer *tracer, pid_t tid)
{
	struct thread *thread = &tracer->threads[tracer->thread_cnt];

	for (unsigned int i = 0; i < tracer->thread_cnt; i++)
		if (tracer->threads[i].tid == tid && !tracer->threads[i].gone)
			return &tracer->threads[i];
	if (tracer->thread_cnt == THREAD_MAX)
		return NULL;
	thread->tid = tid;
	number(tracer, thread);
	thread->lines.out = tmpfile();
	if (!thread->lines.out)
		return NULL;
	tracer->thread_cnt++;
	return thread;
}

/* A thread's first stop, before its first instruction. */
static void begin(struct tracer *tracer, struct thread *thread)
{
	thread->begun = true;
	ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs);
	look_ahead(tracer, thread);
}

/* What a stop was, and on by one step. */
static int on_status(struct tracer *tracer, struct thread *thread, int status)
{
	int event = status >> 16;
	unsigned long child;
	int signal;

	if (!thread->begun) {
		begin(tracer, thread);
	} else if (event) {
		/* Numbered now: before the parent can start another. */
		if (ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &child) ||
		    !find_thread(tracer, (pid_t)child))
			return -errno;
	} else {
		on_stop(tracer, thread, WSTOPSIG(status));
	}
	tracer->steps++;
	signal = thread->signal;
	thread->signal = 0;
	if (ptrace(PTRACE_SINGLESTEP, thread->tid, NULL, (long)signal) && errno != ESRCH)
		return -errno;
	return 0;
}

/* Runs to the end of all; the wait status of the program itself. */
static int trace(struct tracer *tracer, int *ret_status)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct thread *thread = find_thread(tracer, tid);
		int err;

		if (!thread)
			return -ENOSPC;
		if (!WIFSTOPPED(status)) {
			thread->gone = true;
			if (tid == tracer->pid)
				*ret_status = status;
			continue;
		}
		err = on_status(tracer, thread, status);
		if (err)
			return err;
	}
	return 0;
}

static int start(struct tracer *tracer, char **argv)
{
	const long options =
		PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	cpu_set_t one;
	int status;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	tracer->pid = fork();
	if (tracer->pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	if (tracer->pid < 0 || waitpid(tracer->pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, tracer->pid, NULL, options))
		return -1;
	read_ranges(tracer, tracer->pid);
	return on_status(tracer, find_thread(tracer, tracer->pid), status);
}

static int write_sections(struct tracer *tracer, FILE *out)
{
	unsigned long long branches = 0;
	char line[256];

	for (unsigned int i = 0; i < tracer->thread_cnt; i++) {
		struct thread *thread = &tracer->threads[i];

		fprintf(out, "stream %u %u\n", thread->process, thread->thread);
		rewind(thread->lines.out);
		while (fgets(line, sizeof(line), thread->lines.out))
			fputs(line, out);
		fclose(thread->lines.out);
		branches += thread->lines.branch_cnt;
	}
	fprintf(stderr, "trace_truth: %llu steps, %llu branches, %u threads\n", tracer->steps,
		branches, tracer->thread_cnt);
	return fclose(out);
}

int main(int argc, char **argv)
{
	static struct tracer tracer;
	int named = argc > 2 && !strcmp(argv[1], "-m");
	char **words = argv + 1 + 2L * named;
	int status = 0;
	FILE *out;

	if (argc < 3 + 2 * named || !realpath(words[1], tracer.program)) {
		fprintf(stderr, "usage: trace_truth [-m NAME] OUT CMD ARGS...\n");
		return EXIT_TROUBLE;
	}
	tracer.module_name = named ? argv[2] : NULL;
	out = fopen(words[0], "we");
	if (!out || decode_init(&tracer.decode) || start(&tracer, words + 1) ||
	    trace(&tracer, &status) || write_sections(&tracer, out)) {
		perror("trace_truth");
		return EXIT_TROUBLE;
	}
	free(tracer.decode.slots);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
