// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bursts that meet system calls. A child computes until it is held; then the stepper's own
 * functions, called in this process, take it through a burst that comes to its call. The child's
 * exit status says whether it saw anything.
 */
#include "step_breaks_here.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_engine.h"
#include "../../daemon/step/step_memory.h"

#define BIG_BYTES  262144
#define PATIENCE_S 60
#define HORIZON    2000
#define TRIES      200
#define CALL_NS    (100 * PP_NSEC_PER_MSEC) /* a slow machine's call, and far less than a sleep */
#define PAGE       4096

static struct pp_step_holder holder;
static struct pp_step_record record;
static struct pp_step_stack *stack; /* to be filled; NULL: none */
static volatile int *ready; /* shared with the child: 1 it computes, 2 it may go to its call */
static int pipe_fds[2];

/* Each function was called once before: code that is not there yet would end a burst. */
static void compute(void)
{
	*ready = 1;
	while (*ready != 2)
		;
}

static void write_much(void)
{
	static char block[BIG_BYTES];

	close(pipe_fds[0]);
	if (write(pipe_fds[1], block, 0))
		_exit(2);
	compute();
	_exit(write(pipe_fds[1], block, sizeof(block)) == (ssize_t)sizeof(block) ? 0 : 1);
}

static void wait_in_epoll(void)
{
	int fd = epoll_create1(0);
	struct epoll_event event;

	epoll_wait(fd, &event, 1, 0);
	compute();
	_exit(epoll_wait(fd, &event, 1, 500) == 0 ? 0 : 1);
}

/* The loop behind the call makes the window full. */
static void ask(void)
{
	syscall(SYS_getppid);
	compute();
	for (int i = 0; i < HORIZON; i++)
		if (syscall(SYS_getppid) <= 0)
			_exit(1);
	_exit(0);
}

/* Like ask(), but a hypervisor answers. */
static void identify(void)
{
	compute();
	for (int i = 0; i < HORIZON; i++) {
		uint32_t leaf = 0;

		__asm__ volatile("cpuid" : "+a"(leaf) : : "rbx", "rcx", "rdx", "memory");
	}
	_exit(0);
}

static void execute(void)
{
	execl("/", "true", (char *)NULL);
	compute();
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* Computes with rsp on the first byte of a page; the page below was never touched. */
static void stand_at_an_edge(void)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		_exit(1);
	madvise(pages, 2 * PAGE, MADV_NOHUGEPAGE);
	memset(pages + PAGE, 'x', PAGE);
	__asm__ volatile("mov %%rsp, %%rbx\n"
			 "mov %[top], %%rsp\n"
			 "movl $1, (%[ready])\n"
			 "1: cmpl $2, (%[ready])\n"
			 "jne 1b\n"
			 "mov %%rbx, %%rsp\n"
			 :
			 : [top] "r"(pages + PAGE), [ready] "r"(ready)
			 : "rbx", "cc", "memory");
	_exit(0);
}

static pid_t start(void (*run)(void))
{
	pid_t child;

	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ready == MAP_FAILED)
		return -1;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
	}
	while (child > 0 && !*ready)
		usleep(1000);
	return child;
}

/* One burst that begins in compute(), whose end comes as the burst does. Why it ended. */
static int burst_of(pid_t child, enum pp_step_break_kind kind, uint32_t horizon)
{
	const struct pp_step_limits limits = {
		.horizon = horizon,
		.breaks = kind,
		.step_max = horizon,
		.time_ns = 60 * PP_NSEC_PER_SEC,
		.call_ns = CALL_NS,
		.lookahead = true,
		.stack = stack,
	};
	struct pp_step_target target;
	enum pathprof_drop drop = PATHPROF_DROP_GONE;

	holder = (struct pp_step_holder){0};
	for (int i = 0; i < PATIENCE_S * 100 && drop != PP_STEP_HELD; i++) {
		/* On a busy machine a stop may come late: then it is let go first, and tried again.
		 */
		pp_step_poll_limbo(&holder);
		target = (struct pp_step_target){.pid = child, .tid = child};
		drop = pp_step_catch(&holder, &target);
		if (drop != PP_STEP_HELD)
			usleep(10000);
	}
	if (drop != PP_STEP_HELD) {
		kill(child, SIGKILL);
		return -1;
	}
	*ready = 2;
	pp_step_burst(&holder, &target, &limits, &record);
	return (int)record.burst.end;
}

static int burst(pid_t child, enum pp_step_break_kind kind)
{
	return burst_of(child, kind, HORIZON);
}

/* The child's wait status, when nobody traces it any more. */
static int finish(pid_t child)
{
	int status = -1;

	for (int i = 0; i < PATIENCE_S * 1000 && holder.limbo.cnt; i++) {
		pp_step_poll_limbo(&holder);
		usleep(1000);
	}
	if (holder.limbo.cnt)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	munmap((void *)(uintptr_t)ready, 4096);
	return status;
}

static const enum pp_step_break_kind kinds[] = {PP_STEP_BREAK_PERF, PP_STEP_BREAK_PTRACE};

/* Whether a burst went through all calls; one may take long where the machine is busy. */
static bool goes_through(enum pp_step_break_kind kind, void (*run)(void), uint32_t horizon)
{
	pid_t child = start(run);
	int end;

	CU_ASSERT_FATAL(child > 0);
	end = burst_of(child, kind, horizon);
	CU_ASSERT_EQUAL(finish(child), 0);
	return end == PATHPROF_END_FULL && record.burst.insn_cnt == horizon;
}

/* None of a hundred calls may wait for a CPU; where others always want one, a dozen will do. */
static void check_goes_through(void (*run)(void))
{
	for (int i = 0; i < 2; i++) {
		int tries = TRIES;

		if (!breaks_are_here(kinds[i]))
			continue;
		while (tries &&
		       !goes_through(kinds[i], run, tries > TRIES / 2 ? HORIZON : HORIZON / 10))
			tries--;
		CU_ASSERT_TRUE(tries);
	}
}

static void test_quick(void)
{
	check_goes_through(ask);
}

static void test_cpuid(void)
{
	check_goes_through(identify);
}

/* Broken off, and started again unseen; one that is not asleep in time, as on a busy machine, is
 * left in its call. */
static bool is_broken_off(enum pp_step_break_kind kind)
{
	pid_t child = start(wait_in_epoll);
	bool is_in_call;

	CU_ASSERT_FATAL(child > 0);
	CU_ASSERT_EQUAL(burst(child, kind), PATHPROF_END_SYSCALL);
	is_in_call = holder.limbo.cnt;
	CU_ASSERT_EQUAL(holder.restarts, is_in_call ? 0 : 1);
	CU_ASSERT_EQUAL(finish(child), 0);
	return !is_in_call;
}

static void test_again(void)
{
	for (int i = 0; i < 2; i++) {
		int tries = TRIES;

		if (!breaks_are_here(kinds[i]))
			continue;
		while (tries && !is_broken_off(kinds[i]))
			tries--;
		CU_ASSERT_TRUE(tries);
	}
}

static void drain(void)
{
	static char block[4096];
	size_t got_bytes = 0;
	ssize_t got = 1;

	while (got_bytes < BIG_BYTES && got > 0) {
		got = read(pipe_fds[0], block, sizeof(block));
		got_bytes += got > 0 ? (size_t)got : 0;
	}
}

/* It has moved some of its bytes when the burst gives up on it, and must move all of them. */
static void test_whole(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t child;

		if (!breaks_are_here(kinds[i]))
			continue;
		CU_ASSERT_FATAL(!pipe2(pipe_fds, O_CLOEXEC));
		child = start(write_much);
		close(pipe_fds[1]);
		CU_ASSERT_FATAL(child > 0);
		CU_ASSERT_EQUAL(burst(child, kinds[i]), PATHPROF_END_SYSCALL);
		CU_ASSERT_EQUAL(holder.limbo.cnt, 1);
		pp_step_poll_limbo(&holder);
		CU_ASSERT_EQUAL(holder.limbo.cnt, 1);
		drain();
		CU_ASSERT_EQUAL(finish(child), 0);
		close(pipe_fds[0]);
	}
}

/* The stepper's end: perf's breakpoint goes, and the sleeper is not waited for. */
static void test_leave(void)
{
	pid_t child;

	if (!breaks_are_here(PP_STEP_BREAK_PERF))
		return;
	CU_ASSERT_FATAL(!pipe2(pipe_fds, O_CLOEXEC));
	child = start(write_much);
	close(pipe_fds[1]);
	CU_ASSERT_FATAL(child > 0);
	CU_ASSERT_EQUAL(burst(child, PP_STEP_BREAK_PERF), PATHPROF_END_SYSCALL);
	CU_ASSERT_EQUAL(holder.limbo.cnt, 1);
	/* On a busy machine the write may not have filled the pipe yet. */
	for (int i = 0; i < 60000 && !pp_step_may_leave(&holder.limbo); i++)
		usleep(1000);
	CU_ASSERT_TRUE(pp_step_may_leave(&holder.limbo));
	/* Still traced, but nothing stops it any more. */
	holder.limbo.cnt = 0;
	drain();
	CU_ASSERT_EQUAL(finish(child), 0);
	close(pipe_fds[0]);
}

static void test_ends(void)
{
	pid_t child;

	if (!breaks_are_here(PP_STEP_BREAK_PERF))
		return;
	child = start(execute);
	CU_ASSERT_FATAL(child > 0);
	CU_ASSERT_EQUAL(burst(child, PP_STEP_BREAK_PERF), PATHPROF_END_SYSCALL);
	CU_ASSERT_EQUAL(holder.limbo.cnt, 0);
	CU_ASSERT_EQUAL(finish(child), 0);
}

static bool has_page_maps(void)
{
	struct pp_step_memory memory;
	bool has;

	pp_step_memory_open(&memory, getpid());
	has = memory.map_fd >= 0;
	pp_step_memory_close(&memory);
	if (!has)
		unit_skip("no page maps here");
	return has;
}

static void copy_at_an_edge(enum pp_step_break_kind kind)
{
	static struct pp_step_stack copy;
	pid_t child = start(stand_at_an_edge);

	CU_ASSERT_FATAL(child > 0);
	copy.stack_bytes = 0;
	stack = &copy;
	CU_ASSERT(burst(child, kind) >= 0);
	stack = NULL;
	CU_ASSERT_EQUAL(finish(child), 0);
	CU_ASSERT(copy.stack_bytes >= PAGE);
	CU_ASSERT_EQUAL(copy.address, copy.registers[PATHPROF_UNWIND_RSP]);
	CU_ASSERT_EQUAL(copy.stack[0], 'x');
}

static void test_stack_at_an_edge(void)
{
	for (int i = 0; i < 2; i++)
		if (breaks_are_here(kinds[i]) && has_page_maps())
			copy_at_an_edge(kinds[i]);
}

static const struct unit_test tests[] = {
	{"goes through calls", test_quick},
	{"a window goes through cpuid", test_cpuid},
	{"breaks a sleep off unseen", test_again},
	{"leaves a half-done write alone", test_whole},
	{"may end while one sleeps", test_leave},
	{"ends in front of an execution", test_ends},
	{"copies a stack below which no page is there", test_stack_at_an_edge},
};

UNIT_SUITE(step_burst, tests)
