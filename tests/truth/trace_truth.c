// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth about programs with threads and children: every branch of every thread by
 * single-stepping all of them and decoding with Zydis, as text (lines.h), a section a thread. It
 * shares nothing with the exact tracer.
 *
 *     trace_truth [-m NAME] [-a ACCESSES] OUT CMD ARGS...
 *
 * CMD is a path. -m: of the module whose file name begins with NAME, instead of the program
 * itself. -a: also every load and store of that module's code, for trace_accesses. Sections begin
 * with `stream PROCESS THREAD`, both numbered as they came; for the numbers to be the same in every
 * run, a process must start its threads and children itself, and wait for a child before the next.
 * Environment and working directory are handed on. Exit status: the command's. No program may be
 * executed by the command, and none with a handler of SIGTRAP may block it: the kernel would reset
 * the handler.
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

#include "accesses.h"
#include "decode.h"
#include "lines.h"

#define EXIT_TROUBLE 125
#define THREAD_MAX   64
#define RANGE_MAX    32
#define REGION_MAX   512
#define NAME_MAX_CNT 64

/* Special keys of places; other keys are the numbers of mappings' names, from 1. */
#define KEY_ANONYMOUS (1ull << 62) /* and its page */
#define KEY_STRINGS   (1ull << 61) /* what the kernel put on the stack above the auxiliary vector */
#define KEY_CANARY    (1ull << 60)
#define KEY_HANDLER   (1ull << 59) /* a handler's frame, whose size is the processor's matter */

/* Stack of a handler, around the stack pointer it begins with. */
#define HANDLER_BELOW 32768
#define HANDLER_ABOVE 448
#define HANDLER_MAX   16

struct range {
	__u64 start, end, offset;
};

/* A mapping; mappings with the same name keep their distances under an emulator. */
struct region {
	__u64 start, end, key;
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
	FILE *accesses;
	const struct access_shape *shape; /* of insn; NULL: its accesses are not wanted */
	struct access list[ACCESSES_MAX]; /* that insn is about to make */
	unsigned int list_cnt;
	__u64 handlers[HANDLER_MAX]; /* the stack pointers those under way began with */
	unsigned int handler_cnt;
};

struct tracer {
	pid_t pid;
	const char *module_name; /* the file's, without folders; NULL: the program */
	char program[PATH_MAX];
	struct range ranges[RANGE_MAX];
	unsigned int range_cnt;
	struct region regions[REGION_MAX];
	unsigned int region_cnt;
	char *names[NAME_MAX_CNT];
	unsigned int name_cnt;
	__u64 vector, strings; /* the auxiliary vector's start, its end */
	__u64 canary;
	struct decode decode;
	struct accesses accesses;
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

/* Reads the module's mappings, the same in all processes, since these were forked. */
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

/* ---------------------------------------------------------------- what is mapped where */

static __u64 key_of_name(struct tracer *tracer, const char *name)
{
	unsigned int i = 0;

	while (i < tracer->name_cnt && strcmp(tracer->names[i], name) != 0)
		i++;
	if (i == NAME_MAX_CNT)
		return 0;
	if (i == tracer->name_cnt)
		tracer->names[tracer->name_cnt++] = strdup(name);
	return i + 1;
}

static void read_regions(struct tracer *tracer, pid_t pid)
{
	char name[64], path[PATH_MAX], line[PATH_MAX + 100];
	struct region region;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	tracer->region_cnt = 0;
	while (maps && fgets(line, sizeof(line), maps) && tracer->region_cnt < REGION_MAX) {
		path[0] = '\0';
		sscanf(line, "%llx-%llx %*s %*s %*s %*s %4095s", &region.start, &region.end, path);
		region.key = path[0] ? key_of_name(tracer, path) : 0;
		tracer->regions[tracer->region_cnt++] = region;
	}
	if (maps)
		fclose(maps);
}

static bool is_on_handler(__u64 handler, __u64 address)
{
	return address >= handler - HANDLER_BELOW && address < handler + HANDLER_ABOVE;
}

/* The part of the address space that moves as one; 0: nothing is there. */
static __u64 key_of(const struct tracer *tracer, const struct thread *thread, __u64 address)
{
	const struct region *region = NULL;

	for (unsigned int i = thread->handler_cnt; i-- > 0;)
		if (is_on_handler(thread->handlers[i], address))
			return KEY_HANDLER | thread->handlers[i];
	for (unsigned int i = 0; i < tracer->region_cnt && !region; i++)
		if (address >= tracer->regions[i].start && address < tracer->regions[i].end)
			region = &tracer->regions[i];
	if (!region)
		return 0;
	if (tracer->vector >= region->start && tracer->vector < region->end &&
	    address >= tracer->vector)
		return address < tracer->strings ? KEY_ANONYMOUS | address / 16 : KEY_STRINGS;
	return region->key ? region->key : KEY_ANONYMOUS | address / 4096;
}

static __u64 key_of_value(const struct tracer *tracer, const struct thread *thread,
			  const struct access *access)
{
	if (access->size_bytes != 8 || access->store)
		return 0;
	return tracer->canary && access->value == tracer->canary
		       ? KEY_CANARY
		       : key_of(tracer, thread, access->value);
}

/* Words on the stack from address to a zero one; the address behind that. */
static __u64 skip_words(pid_t pid, __u64 address, unsigned int step_bytes)
{
	__u64 word = 1;

	for (; word; address += step_bytes)
		if (accesses_peek(pid, address, &word, sizeof(word)) != sizeof(word))
			break;
	return address;
}

static void find_vector(struct tracer *tracer, const struct thread *thread)
{
	__u64 environment = skip_words(thread->tid, thread->regs.rsp + 8, 8);

	tracer->vector = skip_words(thread->tid, environment, 8);
	tracer->strings = skip_words(thread->tid, tracer->vector, 16);
}

static bool maps_anew(__u64 call)
{
	switch (call) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_brk:
		return true;
	default:
		return false;
	}
}

/* ---------------------------------------------------------------- what a step did */

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

/* The accesses of an instruction that was executed. */
static void write_accesses(struct tracer *tracer, struct thread *thread)
{
	for (unsigned int i = 0; i < thread->list_cnt; i++) {
		const struct access *access = &thread->list[i];

		if (access->is_canary)
			tracer->canary = access->value;
		fprintf(thread->accesses, "%llx %u %d %d %llx %llx %llx %llx\n",
			offset_of(tracer, thread->insn.pc), access->size_bytes, access->store,
			thread->shape->is_locked, access->address,
			key_of(tracer, thread, access->address), access->value,
			key_of_value(tracer, thread, access));
	}
}

/* Records the step from thread->insn to next; before: the registers before the step. */
static void account(struct tracer *tracer, struct thread *thread,
		    const struct user_regs_struct *before, __u64 next)
{
	const struct decoded *insn = &thread->insn;

	write_accesses(tracer, thread);
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
	if (insn->special == CALLS_KERNEL && tracer->accesses.slots && maps_anew(before->rax))
		read_regions(tracer, thread->pid);
}

/* A handler is left when the stack is: by returning, or by a long jump. */
static void follow_handlers(struct thread *thread)
{
	while (thread->handler_cnt &&
	       !is_on_handler(thread->handlers[thread->handler_cnt - 1], thread->regs.rsp))
		thread->handler_cnt--;
}

static void look_ahead(struct tracer *tracer, struct thread *thread)
{
	thread->insn = *decode_look_up(&tracer->decode, thread->tid, thread->regs.rip);
	thread->list_cnt = 0;
	follow_handlers(thread);
	if (!tracer->accesses.slots || offset_of(tracer, thread->regs.rip) == LINES_OUTSIDE)
		return;
	thread->shape = accesses_look_up(&tracer->accesses, thread->tid, thread->regs.rip);
	thread->list_cnt = accesses_list(thread->shape, thread->tid, &thread->regs, thread->list);
}

/* An instruction that ran with the one behind it, whose accesses nobody has looked at. */
static void account_lost(struct tracer *tracer, struct thread *thread,
			 const struct user_regs_struct *before)
{
	__u64 behind = thread->insn.pc + thread->insn.len_bytes;

	account(tracer, thread, before, behind);
	thread->insn = *decode_look_up(&tracer->decode, thread->tid, behind);
	thread->list_cnt = 0;
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
		if (thread->handler_cnt < HANDLER_MAX)
			thread->handlers[thread->handler_cnt++] = thread->regs.rsp;
	} else {
		if (decode_lost_trap(&thread->insn, thread->regs.rip))
			account_lost(tracer, thread, &before);
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
	thread->accesses = tmpfile();
	if (!thread->lines.out || !thread->accesses)
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

/* Handles a stop and steps on by one instruction. */
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

static int begin_program(struct tracer *tracer, struct thread *thread, int status)
{
	if (!thread)
		return -ENOMEM;
	if (tracer->accesses.slots) {
		read_regions(tracer, tracer->pid);
		ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs);
		find_vector(tracer, thread);
	}
	return on_status(tracer, thread, status);
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
	return begin_program(tracer, find_thread(tracer, tracer->pid), status);
}

static void write_section(const struct thread *thread, FILE *from, FILE *to)
{
	char line[256];

	if (to)
		fprintf(to, "stream %u %u\n", thread->process, thread->thread);
	rewind(from);
	while (to && fgets(line, sizeof(line), from))
		fputs(line, to);
	fclose(from);
}

static int write_sections(struct tracer *tracer, FILE *out, FILE *accesses)
{
	unsigned long long branches = 0;

	for (unsigned int i = 0; i < tracer->thread_cnt; i++) {
		const struct thread *thread = &tracer->threads[i];

		write_section(thread, thread->lines.out, out);
		write_section(thread, thread->accesses, accesses);
		branches += thread->lines.branch_cnt;
	}
	fprintf(stderr, "trace_truth: %llu steps, %llu branches, %u threads\n", tracer->steps,
		branches, tracer->thread_cnt);
	for (unsigned int i = 0; i < tracer->name_cnt; i++)
		free(tracer->names[i]);
	return (accesses ? fclose(accesses) : 0) | fclose(out);
}

/* Index of the first word that is no option; < 0: usage. */
static int read_options(struct tracer *tracer, int argc, char **argv, const char **ret_accesses)
{
	int option;

	while ((option = getopt(argc, argv, "+m:a:")) != -1) {
		if (option == 'm')
			tracer->module_name = optarg;
		else if (option == 'a')
			*ret_accesses = optarg;
		else
			return -1;
	}
	return argc - optind >= 2 && realpath(argv[optind + 1], tracer->program) ? optind : -1;
}

int main(int argc, char **argv)
{
	static struct tracer tracer;
	const char *accesses_name = NULL;
	int first = read_options(&tracer, argc, argv, &accesses_name);
	FILE *out, *accesses = NULL;
	int status = 0;

	if (first < 0) {
		fprintf(stderr, "usage: trace_truth [-m NAME] [-a ACCESSES] OUT CMD ARGS...\n");
		return EXIT_TROUBLE;
	}
	out = fopen(argv[first], "we");
	if (accesses_name)
		accesses = fopen(accesses_name, "we");
	if (!out || (accesses_name && (!accesses || accesses_init(&tracer.accesses))) ||
	    decode_init(&tracer.decode) || start(&tracer, argv + first + 1) ||
	    trace(&tracer, &status) || write_sections(&tracer, out, accesses)) {
		perror("trace_truth");
		return EXIT_TROUBLE;
	}
	free(tracer.decode.slots);
	free(tracer.accesses.slots);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
