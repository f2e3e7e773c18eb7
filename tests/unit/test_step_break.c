// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breakpoints on a real child, by either holder: they strike where they were set and nowhere else,
 * and nothing stays behind, whoever ends first. Skipped where the hypervisor has no debug
 * registers.
 */
#include "refuse_perf.h"
#include "step_breaks_here.h"
#include "unit.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_engine.h"

#define STOP_CNT     3000
#define WAIT_MS      60000
#define DATA_WATCHED 4

/* The child goes through these places in their order, for ever, and counts its rounds. */
void step_break_ring(volatile uint64_t *rounds);
extern char step_break_place_0[] __attribute__((visibility("hidden")));
extern char step_break_place_1[] __attribute__((visibility("hidden")));
extern char step_break_place_2[] __attribute__((visibility("hidden")));
extern char step_break_place_3[] __attribute__((visibility("hidden")));
extern char step_break_place_4[] __attribute__((visibility("hidden")));
__asm__(".text\n"
	".globl step_break_ring\n"
	"step_break_ring:\n"
	"1:\n"
	"step_break_place_0: nop\n"
	"	xor %eax, %eax\n"
	"step_break_place_1: inc %eax\n"
	"step_break_place_2: test %eax, %eax\n"
	"	jz 1b\n"
	"step_break_place_3: incq (%rdi)\n"
	"step_break_place_4: nop\n"
	"	jmp 1b\n");

/* Like the ring, but with a `loop` by ecx, whose target no plan can tell. */
void step_break_narrow(volatile uint64_t *rounds);
__asm__(".text\n"
	".globl step_break_narrow\n"
	"step_break_narrow:\n"
	"1:	mov $1, %ecx\n"
	"	incq (%rdi)\n"
	"	.byte 0x67, 0xe2, 0xf5\n"
	"	jmp 1b\n");

static char *const places[] = {step_break_place_0, step_break_place_1, step_break_place_2,
			       step_break_place_3, step_break_place_4};
#define PLACE_CNT (sizeof(places) / sizeof(*places))

static volatile uint64_t *rounds;

static uint64_t place(size_t i)
{
	return (uint64_t)(uintptr_t)places[i % PLACE_CNT];
}

static pid_t start(void (*code)(volatile uint64_t *rounds))
{
	pid_t child;

	if (!rounds)
		rounds =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*rounds = 0;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		code(rounds);
	}
	return child;
}

static pid_t start_child(void)
{
	return start(step_break_ring);
}

/* The status of its next stop or end; -1: there is none in time. */
static int wait_for(pid_t pid)
{
	int status;

	for (int i = 0; i < WAIT_MS * 10; i++) {
		if (waitpid(pid, &status, __WALL | WNOHANG) == pid)
			return status;
		usleep(100);
	}
	return -1;
}

static bool seize(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		return false;
	return WIFSTOPPED(wait_for(pid));
}

static void end(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		;
}

/* Whether the child, let go, goes round and round unharmed. */
static bool goes_on(pid_t pid)
{
	uint64_t before = *rounds;

	for (int i = 0; i < WAIT_MS * 10 && *rounds < before + 1000; i++)
		usleep(100);
	return *rounds >= before + 1000 && waitpid(pid, &(int){0}, __WALL | WNOHANG) == 0;
}

/*
 * Two of these tests at once, as in two trees, would take each other's registers where they watch
 * whole CPUs. A name of a socket is the machine's; the second waits until the first has ended.
 */
static void wait_for_registers(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0pathprof debug registers"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < WAIT_MS && bind(fd, (const struct sockaddr *)&name, sizeof(name)); i++)
		usleep(1000);
}

static bool has_holder(enum pp_step_break_kind kind)
{
	static bool waited;

	if (!waited)
		wait_for_registers();
	waited = true;
	return breaks_are_here(kind);
}

/* The address of the next stop by a breakpoint of ours; 0 if it stops otherwise or not at all. */
static uint64_t run_to_stop(pid_t pid)
{
	struct user_regs_struct regs;
	siginfo_t info;
	int status;

	if (ptrace(PTRACE_CONT, pid, NULL, NULL))
		return 0;
	status = wait_for(pid);
	if (status < 0 || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
	    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) || !pp_step_break_is_ours(&info) ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return 0;
	return regs.rip;
}

/* The next of the places in `set` (a bit each) behind place i. */
static size_t next_place(size_t i, uint32_t set)
{
	do
		i = (i + 1) % PLACE_CNT;
	while (!(set >> i & 1));
	return i;
}

static bool is_place_of(uint64_t address, uint32_t set)
{
	for (size_t i = 0; i < PLACE_CNT; i++)
		if ((set >> i & 1) && address == place(i))
			return true;
	return false;
}

static bool set_places(struct pp_step_break *b, uint32_t set)
{
	uint64_t addresses[PP_STEP_BREAK_MAX];
	uint32_t cnt = 0;

	for (size_t i = PLACE_CNT; i-- > 0;)
		if (set >> i & 1)
			addresses[cnt++] = place(i);
	return pp_step_break_set(b, addresses, cnt);
}

static uint32_t registers_of(enum pp_step_break_kind kind)
{
	return kind == PP_STEP_BREAK_PTRACE ? PP_STEP_BREAK_POKED : PP_STEP_BREAK_MAX;
}

static bool has_room(enum pp_step_break_kind kind, uint32_t set)
{
	return set && (uint32_t)__builtin_popcount(set) <= registers_of(kind);
}

/* Sets of one to four places that change at each stop; each stop is at the next of the set. */
static void strike_exactly(enum pp_step_break_kind kind)
{
	struct pp_step_break b;
	uint32_t set = 1;
	size_t at = 0;
	pid_t child;

	if (!has_holder(kind))
		return;
	child = start_child();
	CU_ASSERT_TRUE_FATAL(seize(child));
	pp_step_break_open(&b, kind, child);
	CU_ASSERT_EQUAL(b.cnt, registers_of(kind));
	CU_ASSERT_TRUE(set_places(&b, set));
	CU_ASSERT_EQUAL(run_to_stop(child), place(0));
	for (uint32_t i = 0; i < STOP_CNT; i++) {
		/* Now and then the same set again: what is set stays. */
		if (i % 5)
			set = (set * 7 + i) % (1u << PLACE_CNT);
		if (!has_room(kind, set))
			set = 1 + i % 7;
		CU_ASSERT_TRUE_FATAL(set_places(&b, set));
		at = next_place(at, set);
		CU_ASSERT_EQUAL_FATAL(run_to_stop(child), place(at));
	}
	/* None set: it runs. */
	CU_ASSERT_TRUE(pp_step_break_set(&b, NULL, 0));
	CU_ASSERT_EQUAL(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	CU_ASSERT_TRUE(goes_on(child));
	CU_ASSERT_EQUAL(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
	CU_ASSERT_TRUE(WIFSTOPPED(wait_for(child)));
	/* All set when it is closed. */
	CU_ASSERT_TRUE(set_places(&b, (1u << registers_of(kind)) - 1));
	pp_step_break_close(&b);
	CU_ASSERT_EQUAL(b.cnt, 0);
	CU_ASSERT_EQUAL(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	CU_ASSERT_TRUE(goes_on(child));
	end(child);
}

static void test_perf(void)
{
	strike_exactly(PP_STEP_BREAK_PERF);
}

static void test_ptrace(void)
{
	strike_exactly(PP_STEP_BREAK_PTRACE);
}

/* The opener process holds copies of the descriptors too, and closes them a moment later. */
static void test_closed_while_another_has_it(void)
{
	struct pp_step_break b;
	int others[PP_STEP_BREAK_MAX];
	pid_t child;

	if (!has_holder(PP_STEP_BREAK_PERF))
		return;
	child = start_child();
	CU_ASSERT_TRUE_FATAL(seize(child));
	pp_step_break_open(&b, PP_STEP_BREAK_PERF, child);
	for (uint32_t i = 0; i < PP_STEP_BREAK_MAX; i++)
		others[i] = dup(b.fds[i]);
	/* The child may have run a part of its first round before it was seized. */
	CU_ASSERT_TRUE(set_places(&b, 0xf));
	CU_ASSERT_TRUE(is_place_of(run_to_stop(child), 0xf));
	pp_step_break_close(&b);
	CU_ASSERT_EQUAL(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	CU_ASSERT_TRUE(goes_on(child));
	for (uint32_t i = 0; i < PP_STEP_BREAK_MAX; i++)
		close(others[i]);
	end(child);
}

/* A breakpoint at the place where the thread stands strikes only in the next round. */
static void pass_its_own_place(enum pp_step_break_kind kind)
{
	struct pp_step_break b;
	uint64_t before;
	pid_t child;

	if (!has_holder(kind))
		return;
	child = start_child();
	CU_ASSERT_TRUE_FATAL(seize(child));
	pp_step_break_open(&b, kind, child);
	CU_ASSERT_TRUE(set_places(&b, 1 << 4));
	CU_ASSERT_EQUAL(run_to_stop(child), place(4));
	before = *rounds;
	for (uint64_t i = 1; i <= 100; i++) {
		CU_ASSERT_EQUAL(run_to_stop(child), place(4));
		CU_ASSERT_EQUAL(*rounds, before + i);
	}
	pp_step_break_close(&b);
	CU_ASSERT_EQUAL(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	CU_ASSERT_TRUE(goes_on(child));
	end(child);
}

static void test_own_place_perf(void)
{
	pass_its_own_place(PP_STEP_BREAK_PERF);
}

static void test_own_place_ptrace(void)
{
	pass_its_own_place(PP_STEP_BREAK_PTRACE);
}

/* ---- registers in use */

static struct perf_event_attr watch(const uint64_t *word)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)(uintptr_t)word,
		.bp_len = HW_BREAKPOINT_LEN_8,
	};
}

/* Watches data of the child's that nobody writes; -1 where that is refused. */
static int occupy(pid_t pid, uint32_t i)
{
	static uint64_t watched[DATA_WATCHED];
	struct perf_event_attr attr = watch(&watched[i]);

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct pp_step_holder holder;
static struct pp_step_record record;

/* A burst of sixteen taken branches on a running child. */
static void burst_on(pid_t pid, enum pp_step_break_kind kind)
{
	struct pp_step_limits limits = {.taken_wanted = 16,
					.breaks = kind,
					.step_max = 2000,
					.time_ns = 60 * PP_NSEC_PER_SEC,
					.call_ns = PP_STEP_CALL_NS,
					.lookahead = true};
	struct pp_step_target target;
	bool held = false;

	holder.singles = 0;
	/* It may be caught in the kernel, or wait for a CPU and be let go of late. */
	for (int tries = 0; tries < 5000 && !held; tries++) {
		pp_step_poll_limbo(&holder);
		usleep(2000);
		target = (struct pp_step_target){.pid = pid, .tid = pid};
		held = pp_step_catch(&holder, &target) == PP_STEP_HELD;
	}
	CU_ASSERT_TRUE_FATAL(held);
	pp_step_burst(&holder, &target, &limits, &record);
}

/* A burst on the child with so many of its registers taken by another. */
static void burst_beside(enum pp_step_break_kind kind, uint32_t taken)
{
	pid_t child = start_child();
	int fds[PP_STEP_BREAK_MAX];
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < taken; i++) {
		fds[i] = occupy(child, i);
		if (fds[i] < 0) {
			end(child);
			unit_skip("the registers cannot be occupied by perf's events");
			return;
		}
	}
	usleep(20000);
	burst_on(child, kind);
	CU_ASSERT_EQUAL(record.burst.end, PATHPROF_END_FULL);
	CU_ASSERT_EQUAL(record.burst.taken_cnt, 16);
	for (uint32_t i = 0; i + 1 < record.burst.branch_cnt; i += 2)
		wrong += record.branches[i].insns + record.branches[i + 1].insns != 8 && i;
	CU_ASSERT_EQUAL(wrong, 0);
	/* Seven instructions and two branches a round: by steps it takes one stop each. */
	if (taken == PP_STEP_BREAK_MAX ||
	    (kind == PP_STEP_BREAK_PTRACE && taken > PP_STEP_BREAK_MAX - PP_STEP_BREAK_POKED)) {
		CU_ASSERT_TRUE(record.burst.step_cnt >= record.burst.insn_cnt);
	} else {
		CU_ASSERT_TRUE(record.burst.step_cnt < record.burst.insn_cnt / 2);
		CU_ASSERT_EQUAL(holder.singles, 0);
	}
	CU_ASSERT_TRUE(goes_on(child));
	end(child);
	/* Until then its registers count as used. */
	while (taken)
		close(fds[--taken]);
}

/* Whether a burst ended in front of what no plan can tell, and nothing was stepped. */
static bool ends_untold(pid_t child, enum pp_step_break_kind kind)
{
	burst_on(child, kind);
	return record.burst.end == PATHPROF_END_FETCH && !holder.singles;
}

/* Several tries by perf: another may hold all registers for a moment, and then it is stepped. */
static void test_untold(void)
{
	bool ended = false;
	pid_t child;

	if (!has_holder(PP_STEP_BREAK_PERF))
		return;
	child = start(step_break_narrow);
	for (int i = 0; i < 20 && !ended; i++)
		ended = ends_untold(child, PP_STEP_BREAK_PERF);
	CU_ASSERT_TRUE(ended);
	burst_on(child, PP_STEP_BREAK_PTRACE);
	CU_ASSERT_EQUAL(record.burst.end, PATHPROF_END_FULL);
	CU_ASSERT_TRUE(holder.singles > 0);
	CU_ASSERT_TRUE(goes_on(child));
	end(child);
}

static void beside_all(enum pp_step_break_kind kind)
{
	if (!has_holder(kind))
		return;
	for (uint32_t taken = 0; taken <= PP_STEP_BREAK_MAX; taken++)
		burst_beside(kind, taken);
}

static void test_beside_perf(void)
{
	beside_all(PP_STEP_BREAK_PERF);
}

static void test_beside_ptrace(void)
{
	beside_all(PP_STEP_BREAK_PTRACE);
}

static void test_open_counts(void)
{
	struct pp_step_break b;
	int fds[PP_STEP_BREAK_MAX];
	pid_t child;

	if (!has_holder(PP_STEP_BREAK_PERF))
		return;
	child = start_child();
	CU_ASSERT_TRUE_FATAL(seize(child));
	for (uint32_t i = 0; i < PP_STEP_BREAK_MAX; i++) {
		fds[i] = occupy(child, i);
		CU_ASSERT_TRUE(fds[i] >= 0);
		pp_step_break_open(&b, PP_STEP_BREAK_PERF, child);
		CU_ASSERT_EQUAL(b.cnt, PP_STEP_BREAK_MAX - 1 - i);
		pp_step_break_close(&b);
	}
	for (uint32_t i = 0; i < PP_STEP_BREAK_MAX; i++)
		close(fds[i]);
	fds[0] = occupy(child, 0);
	fds[1] = occupy(child, 1);
	/* It takes all of its own or none, and keeps from perf for good what it has tried. */
	pp_step_break_open(&b, PP_STEP_BREAK_PTRACE, child);
	CU_ASSERT_EQUAL(b.cnt, 0);
	pp_step_break_close(&b);
	close(fds[0]);
	close(fds[1]);
	end(child);
}

/* A register that perf's holder has closed is free for others at once. */
static void test_leaves_registers_free(void)
{
	struct pp_step_break b;
	pid_t child;
	int fd;

	if (!has_holder(PP_STEP_BREAK_PERF))
		return;
	child = start_child();
	CU_ASSERT_TRUE_FATAL(seize(child));
	for (uint32_t round = 0; round < 20; round++) {
		pp_step_break_open(&b, PP_STEP_BREAK_PERF, child);
		CU_ASSERT_EQUAL(b.cnt, PP_STEP_BREAK_MAX);
		CU_ASSERT_TRUE(set_places(&b, 0xf));
		pp_step_break_close(&b);
	}
	fd = occupy(child, 0);
	CU_ASSERT_TRUE(fd >= 0);
	close(fd);
	end(child);
}

/* ---- registers left for others */

/* How many watchpoints can be opened on each CPU at once, whoever runs there; -1: no right to any.
 */
static int open_on_cpus(void)
{
	static uint64_t watched[PP_STEP_BREAK_MAX];
	long cpu_cnt = sysconf(_SC_NPROCESSORS_ONLN);
	int fds[PP_STEP_BREAK_MAX * 2];
	int cnt = 0, code = 0;
	size_t opened = 0;

	for (uint32_t i = 0; i < PP_STEP_BREAK_MAX && !code; i++) {
		struct perf_event_attr attr = watch(&watched[i]);

		/* Two CPUs will do: a thread's registers count on all. */
		for (int cpu = 0; cpu < 2 && cpu < cpu_cnt && !code; cpu++) {
			int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
					      PERF_FLAG_FD_CLOEXEC);

			code = fd < 0 ? errno : 0;
			if (fd >= 0)
				fds[opened++] = fd;
		}
		cnt += !code;
	}
	while (opened)
		close(fds[--opened]);
	return code == EACCES || code == EPERM ? -1 : cnt;
}

/* Others may have some for a moment; whether so many can be opened in time. */
static bool can_open_on_cpus(int cnt)
{
	for (int i = 0; i < 600; i++) {
		int opened = open_on_cpus();

		if (opened >= cnt || opened < 0)
			return opened >= cnt;
		usleep(100000);
	}
	return false;
}

static void leaves_for_others(enum pp_step_break_kind kind, int cnt)
{
	pid_t child;

	if (!has_holder(kind))
		return;
	if (!can_open_on_cpus(PP_STEP_BREAK_MAX)) {
		unit_skip("others have debug registers, or watching a CPU is refused");
		return;
	}
	child = start_child();
	burst_on(child, kind);
	burst_on(child, kind);
	CU_ASSERT_TRUE(goes_on(child));
	CU_ASSERT_TRUE(can_open_on_cpus(cnt));
	end(child);
	CU_ASSERT_TRUE(can_open_on_cpus(PP_STEP_BREAK_MAX));
}

static void test_leaves_all(void)
{
	leaves_for_others(PP_STEP_BREAK_PERF, PP_STEP_BREAK_MAX);
}

static void test_leaves_one(void)
{
	leaves_for_others(PP_STEP_BREAK_PTRACE, 1);
}

/* ---- a stepper that is killed */

/*
 * A process that seizes the child and sets all four, clears them again (`closes`), says so and
 * waits to be killed.
 */
static pid_t start_stepper(pid_t child, enum pp_step_break_kind kind, bool closes, int ready)
{
	struct pp_step_break b;
	pid_t stepper = fork();

	if (stepper)
		return stepper;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!seize(child))
		_exit(1);
	pp_step_break_open(&b, kind, child);
	if (!set_places(&b, 0xf) || !run_to_stop(child))
		_exit(2);
	if (closes) {
		pp_step_break_close(&b);
		ptrace(PTRACE_DETACH, child, NULL, NULL);
	}
	if (write(ready, "r", 1) != 1)
		_exit(3);
	for (;;)
		pause();
}

static bool survives_kill(enum pp_step_break_kind kind, bool closes)
{
	pid_t child = start_child();
	int ends[2];
	pid_t stepper;
	bool survives;
	char byte;

	if (pipe(ends))
		return false;
	stepper = start_stepper(child, kind, closes, ends[1]);
	close(ends[1]);
	survives = read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	end(stepper);
	survives = survives && goes_on(child);
	end(child);
	return survives;
}

static void test_killed_between(void)
{
	for (int i = 0; i < 10 && has_holder(PP_STEP_BREAK_PTRACE); i++)
		CU_ASSERT_TRUE(survives_kill(PP_STEP_BREAK_PTRACE, true));
}

/* perf's go with the process that opened them, before the thread goes on. */
static void test_killed_amid(void)
{
	if (!has_holder(PP_STEP_BREAK_PERF))
		return;
	for (int i = 0; i < 10; i++) {
		CU_ASSERT_TRUE(survives_kill(PP_STEP_BREAK_PERF, true));
		CU_ASSERT_TRUE(survives_kill(PP_STEP_BREAK_PERF, false));
	}
}

static void refuse_events(void)
{
	if (!refuse_perf_events())
		_exit(2);
}

/* Opens breakpoints on itself so often; whether perf's breakpoints count as refused then. */
static bool is_refused_after(unsigned int opens)
{
	struct pp_step_break b;

	while (opens--) {
		pp_step_break_open(&b, PP_STEP_BREAK_PERF, getpid());
		pp_step_break_close(&b);
	}
	return pp_step_break_is_refused();
}

static _Noreturn void lose_the_right(void)
{
	if (is_refused_after(10))
		_exit(3);
	refuse_events();
	/* one thread may be out of reach */
	_exit(is_refused_after(1) ? 4 : !is_refused_after(3));
}

static void test_right_lost(void)
{
	pid_t child;
	int status;

	if (pp_step_break_probe(PP_STEP_BREAK_PERF) != PP_STEP_BREAK_PERF)
		return;
	child = fork();
	if (child == 0)
		lose_the_right();
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Registers left set at a place that the child does not come to before they are cleared. */
static void test_orphan(void)
{
	struct pp_step_break b;
	uint64_t far = (uint64_t)(uintptr_t)test_orphan;
	unsigned long control;
	pid_t child;

	if (!has_holder(PP_STEP_BREAK_PTRACE))
		return;
	child = start_child();
	CU_ASSERT_TRUE_FATAL(seize(child));
	pp_step_break_open(&b, PP_STEP_BREAK_PTRACE, child);
	CU_ASSERT_TRUE(pp_step_break_set(&b, &far, 1));
	CU_ASSERT_EQUAL(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	CU_ASSERT_TRUE(goes_on(child));
	pp_step_break_clear_orphan(child);
	CU_ASSERT_TRUE(goes_on(child));
	CU_ASSERT_TRUE_FATAL(seize(child));
	for (size_t i = 0; i < 8; i++) {
		errno = 0;
		control = (unsigned long)ptrace(PTRACE_PEEKUSER, child,
						offsetof(struct user, u_debugreg[i]), NULL);
		if (i != 6)
			CU_ASSERT_EQUAL(control & 0xff, 0);
		CU_ASSERT_EQUAL(errno, 0);
	}
	end(child);
	/* A thread that is no more. */
	pp_step_break_clear_orphan(child);
}

/* It sleeps where no interrupt reaches it until its child ends. */
static void wait_in_vfork(volatile uint64_t *at)
{
	if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
		sleep(1);
		_exit(0);
	}
	step_break_ring(at);
}

static void until_state(pid_t pid, char state)
{
	struct pp_step_stat stat = {0};

	for (int i = 0; i < WAIT_MS && stat.state != state; i++) {
		usleep(1000);
		if (pp_step_read_stat(pid, pid, &stat))
			return;
	}
}

/* An orphan that does not stop in time is released nevertheless. */
static void test_sleeping_orphan(void)
{
	struct pp_step_status status = {.tracer = -1};
	pid_t child = start(wait_in_vfork);

	until_state(child, 'D');
	pp_step_break_clear_orphan(child);
	CU_ASSERT_EQUAL(pp_step_read_status(child, child, &status), 0);
	CU_ASSERT_EQUAL(status.tracer, 0);
	CU_ASSERT_TRUE(goes_on(child));
	end(child);
}

static void count_signal(int number)
{
	rounds[1]++;
}

/* Sends itself a signal each round, and counts those that have not come. */
static void raise_signals(volatile uint64_t *at)
{
	signal(SIGUSR1, count_signal);
	at[1] = at[2] = 0;
	for (;;) {
		at[0]++;
		raise(SIGUSR1);
		at[2] += at[1] != at[0];
		at[1] = at[0];
	}
}

/* A signal that stops the thread ahead of the interrupt is handed on. */
static void test_signalled_orphan(void)
{
	pid_t child = start(raise_signals);

	for (int i = 0; i < 50; i++) {
		CU_ASSERT_TRUE(goes_on(child));
		pp_step_break_clear_orphan(child);
	}
	CU_ASSERT_TRUE(goes_on(child));
	CU_ASSERT_EQUAL(rounds[2], 0);
	end(child);
}

static const struct unit_test tests[] = {
	{"perf's breakpoints strike where they were set", test_perf},
	{"debug registers strike where they were set", test_ptrace},
	{"a breakpoint that another has open is off once it is closed",
	 test_closed_while_another_has_it},
	{"a thread passes its own place, by perf", test_own_place_perf},
	{"a thread passes its own place, by debug registers", test_own_place_ptrace},
	{"registers in use are counted", test_open_counts},
	{"a burst beside another's breakpoints, by perf", test_beside_perf},
	{"a burst beside another's breakpoints, by debug registers", test_beside_ptrace},
	{"what no plan can tell ends a burst by perf, and is stepped by others", test_untold},
	{"perf's holder leaves the registers free", test_leaves_registers_free},
	{"whoever watches a CPU finds all registers after perf's holder", test_leaves_all},
	{"whoever watches a CPU finds one register beside ptrace's holder", test_leaves_one},
	{"a stepper killed between bursts leaves none", test_killed_between},
	{"a stepper killed amid one leaves none of perf's", test_killed_amid},
	{"perf's breakpoints that are refused later are told", test_right_lost},
	{"registers that were left set are cleared", test_orphan},
	{"a thread that does not stop to have them cleared is let go", test_sleeping_orphan},
	{"a thread whose registers are cleared keeps its signals", test_signalled_orphan},
};
UNIT_SUITE(step_break, tests)
