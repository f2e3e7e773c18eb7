// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that are left alone, since a stepper has no right to hold them or would do harm. Children
 * give each of the reasons, and the stepper's own functions refuse them, called in this process.
 */
#include "step_child.h"

#include <elf.h>
#include <errno.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void spin_ignoring(void)
{
	signal(SIGTRAP, SIG_IGN);
	spin();
}

static void spin_under_filter(void)
{
	filter_out(SYS_restart_syscall);
	spin();
}

/* The sanitizer makes a system call before what does not return, which strict mode kills for. */
__attribute__((no_sanitize_address)) static void spin_under_strict_seccomp(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(3);
	spin();
}

static void test_ignored_sigtrap(void)
{
	struct pp_step_target target;
	pid_t pid = start_spinning(spin_ignoring);

	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PATHPROF_DROP_DENIED);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

static void test_seccomp(void)
{
	static struct pp_step_record record;
	struct pp_step_target target;
	pid_t pid = start_spinning(spin_under_filter);

	burst_on(pid, &record);
	CU_ASSERT_EQUAL(record.burst.end, PATHPROF_END_FULL);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	pid = start_spinning(spin_under_strict_seccomp);
	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PATHPROF_DROP_SECCOMP);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

/* The argument of sched_setattr(2), which the C library does not declare. */
struct policy {
	uint32_t size_bytes, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool set_policy(pid_t pid, uint32_t number)
{
	struct policy policy = {.size_bytes = sizeof(policy), .policy = number};

	policy.priority = number != SCHED_DEADLINE;
	if (number == SCHED_DEADLINE) {
		policy.runtime_ns = 2 * PP_NSEC_PER_MSEC;
		policy.deadline_ns = policy.period_ns = 20 * PP_NSEC_PER_MSEC;
	}
	return !syscall(SYS_sched_setattr, pid, &policy, 0);
}

static void expect_realtime(uint32_t policy)
{
	struct pp_step_target target;
	pid_t pid = start_spinning(spin);

	if (!set_policy(pid, policy)) {
		unit_skip("no right to a real-time policy");
		end(pid);
		return;
	}
	holder.spare.enabled = true;
	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PATHPROF_DROP_REALTIME);
	holder.spare.enabled = false;
	/* A bandwidth used up is a wait, and it is passed over until it runs again. */
	if (policy != SCHED_DEADLINE) {
		CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
		pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	}
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

static void test_realtime(void)
{
	expect_realtime(SCHED_FIFO);
	expect_realtime(SCHED_RR);
	expect_realtime(SCHED_DEADLINE);
}

/* It is told by its number alone: nothing of it is looked at, let alone stopped. */
static void test_init(void)
{
	struct pp_step_target target = {.pid = 1, .tid = 1};

	CU_ASSERT_EQUAL(pp_step_catch(&holder, &target), PATHPROF_DROP_INIT);
	CU_ASSERT_EQUAL(target.interrupted_ns, 0);
	target = (struct pp_step_target){.pid = 1, .tid = getpid()};
	CU_ASSERT_EQUAL(pp_step_catch(&holder, &target), PATHPROF_DROP_INIT);
	CU_ASSERT_EQUAL(holder.limbo.cnt, 0);
}

/* The result of catching a spinning child; limbo and table are as the test has made them. */
static enum pathprof_drop catch_child(void)
{
	struct pp_step_target target = {.pid = start_spinning(spin)};
	enum pathprof_drop drop;

	target.tid = target.pid;
	drop = pp_step_catch(&holder, &target);
	if (drop == PP_STEP_HELD)
		pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	return drop;
}

/* One user's threads that sleep leave room for others'. */
static void test_limbo_of_a_user(void)
{
	struct pp_step_limbo *limbo = &holder.limbo;
	uint32_t cnt = 0;

	while (catch_child() != PATHPROF_DROP_SILENT && cnt < PP_STEP_LIMBO_MAX) {
		limbo->targets[cnt] = (struct pp_step_target){.uid = getuid()};
		limbo->cnt = ++cnt;
	}
	CU_ASSERT(cnt > 4 && cnt <= 16);
	for (uint32_t i = 0; i < cnt; i++)
		limbo->targets[i].uid = getuid() + 1;
	CU_ASSERT_NOT_EQUAL(catch_child(), PATHPROF_DROP_SILENT);
	limbo->cnt = 0;
	CU_ASSERT_NOT_EQUAL(catch_child(), PATHPROF_DROP_SILENT);
}

static void test_silent(void)
{
	static struct pp_step_silent silent;
	struct pp_step_target target = {.pid = start_spinning(spin)};
	struct pp_step_stat stat;

	target.tid = target.pid;
	CU_ASSERT_EQUAL(pp_step_read_stat(target.pid, target.pid, &stat), 0);
	pp_step_silent_add(&silent, target.pid, stat.start_time, getuid(), PP_STEP_SILENT_STEPPER,
			   pp_monotonic_ns());
	holder.silent = &silent;
	CU_ASSERT_EQUAL(pp_step_catch(&holder, &target), PATHPROF_DROP_SILENT);
	CU_ASSERT_EQUAL(target.interrupted_ns, 0);
	holder.silent = NULL;
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
}

/* The daemon waits for its children; the command that it records is one, too. */
static void test_own(void)
{
	struct pp_step_target target = {.pid = start_spinning(spin)};

	target.tid = target.pid;
	holder.daemon_pid = getpid();
	CU_ASSERT_EQUAL(pp_step_catch(&holder, &target), PATHPROF_DROP_OWN);
	CU_ASSERT_EQUAL(target.interrupted_ns, 0);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	CU_ASSERT_EQUAL(catch_child(), PATHPROF_DROP_OWN);
	holder.daemon_pid = 0;
	CU_ASSERT_NOT_EQUAL(catch_child(), PATHPROF_DROP_OWN);
}

/* Until pid has run for so many ticks; whether it has. */
static bool has_run(pid_t pid, uint64_t ticks)
{
	struct pp_step_stat stat;

	for (int i = 0; i < 6000; i++) {
		if (!pp_step_read_stat(pid, 0, &stat) &&
		    stat.utime_ticks + stat.stime_ticks >= ticks)
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * Whether a fork is left alone as one that may be about to execute. It is young for half a second
 * of its time only, which a slow machine may let pass before it is met.
 */
static bool is_left_alone(pid_t pid, uint64_t ticks)
{
	struct pp_step_target target;
	enum pathprof_drop drop = catch_spinning(pid, &target);
	struct pp_step_stat stat;

	if (drop == PATHPROF_DROP_STARTING)
		return true;
	if (drop == PP_STEP_HELD)
		pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	/* one that is young is not to be held */
	CU_ASSERT_EQUAL_FATAL(pp_step_read_stat(pid, 0, &stat), 0);
	CU_ASSERT(stat.utime_ticks + stat.stime_ticks >= ticks);
	return false;
}

static void be_a_shell(void)
{
	execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
}

/*
 * A thread that may be about to execute is left alone by a stepper without rights only. False: a
 * fork was no longer young when it was met.
 */
static bool expect_starting(void (*run)(void), bool forked, uint64_t ticks)
{
	struct pp_step_target target;
	pid_t pid = forked ? start_spinning(run) : start(run);
	struct pp_step_stat stat;
	bool is_young = true;

	CU_ASSERT_TRUE(has_run(pid, 2));
	CU_ASSERT_EQUAL(pp_step_read_stat(pid, 0, &stat), 0);
	CU_ASSERT_EQUAL(stat.forked, forked);
	holder.unprivileged = true;
	if (forked)
		is_young = is_left_alone(pid, ticks);
	CU_ASSERT_TRUE(has_run(pid, ticks));
	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	holder.unprivileged = false;
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	return is_young;
}

static void test_starting(void)
{
	struct pp_step_target target;
	pid_t pid = start_spinning(spin);
	int tries = 20;

	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	while (tries && !expect_starting(spin, true, 50))
		tries--;
	CU_ASSERT_TRUE(tries);
	CU_ASSERT_TRUE(expect_starting(be_a_shell, false, 4));
}

static void test_isolated(void)
{
	struct pp_step_target target;
	pid_t pid = start_spinning(spin);
	struct pp_step_stat stat;
	cpu_set_t one;

	/* The thread is bound to the CPU it runs on. */
	CU_ASSERT_EQUAL_FATAL(pp_step_read_stat(pid, pid, &stat), 0);
	CPU_ZERO(&one);
	CPU_SET(stat.cpu, &one);
	sched_setaffinity(pid, sizeof(one), &one);
	usleep(20000);
	holder.spare = (struct pp_step_spare){.enabled = true, .any_isolated = true};
	holder.spare.is_isolated[stat.cpu] = true;
	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PATHPROF_DROP_ISOLATED);
	holder.spare.is_isolated[stat.cpu] = false;
	holder.spare.is_isolated[stat.cpu + 1] = true;
	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	holder.spare = (struct pp_step_spare){0};
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

#define GROUP_CNT 400

/* Groups of ten digits each: more than 4 KB of its status. */
static void spin_in_many_groups(void)
{
	gid_t groups[GROUP_CNT];

	for (unsigned int i = 0; i < GROUP_CNT; i++)
		groups[i] = 4000000000u + i;
	if (setgroups(GROUP_CNT, groups))
		_exit(3);
	signal(SIGUSR1, on_alarm);
	spin_under_filter();
}

static void test_many_groups(void)
{
	struct pp_step_status status = {0};
	struct pp_step_target target;
	pid_t pid = geteuid() ? 0 : start_spinning(spin_in_many_groups);

	if (!pid || has_ended(pid, &(int){0})) {
		unit_skip("needs the right to any group");
		return;
	}
	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PP_STEP_HELD);
	pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	CU_ASSERT_EQUAL(pp_step_read_status(pid, pid, &status), 0);
	CU_ASSERT(status.caught & PP_STEP_SIGNAL_BIT(SIGUSR1));
	CU_ASSERT_EQUAL(status.seccomp, SECCOMP_MODE_FILTER);
	CU_ASSERT(status.switches > 0);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

/* ---- a 32-bit program */

#define PROGRAM_AT 0x8048000

/* A whole program: a jump to itself. */
struct program {
	Elf32_Ehdr head;
	Elf32_Phdr segment;
	unsigned char code[2];
};
static const struct program program = {
	.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			     EV_CURRENT},
		 .e_type = ET_EXEC,
		 .e_machine = EM_386,
		 .e_version = EV_CURRENT,
		 .e_entry = PROGRAM_AT + offsetof(struct program, code),
		 .e_phoff = offsetof(struct program, segment),
		 .e_ehsize = sizeof(Elf32_Ehdr),
		 .e_phentsize = sizeof(Elf32_Phdr),
		 .e_phnum = 1},
	.segment = {.p_type = PT_LOAD,
		    .p_vaddr = PROGRAM_AT,
		    .p_filesz = sizeof(struct program),
		    .p_memsz = sizeof(struct program),
		    .p_flags = PF_R | PF_X,
		    .p_align = 4096},
	.code = {0xeb, 0xfe},
};
static char program_path[256];

static void execute_program(void)
{
	execl(program_path, "program", NULL);
	_exit(127);
}

/* Once it has executed the program; 0: it cannot be executed here. */
static pid_t start_program(void)
{
	FILE *file;
	struct pp_step_stat stat;
	pid_t pid;

	snprintf(program_path, sizeof(program_path), "%s/program", unit_tmpdir());
	file = fopen(program_path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(&program, sizeof(program), 1, file), 1);
	CU_ASSERT_EQUAL(fclose(file), 0);
	CU_ASSERT_EQUAL(chmod(program_path, 0755), 0);
	pid = start(execute_program);
	for (int i = 0; i < 60000; i++) {
		if (has_ended(pid, &(int){0}))
			return 0;
		if (!pp_step_read_stat(pid, 0, &stat) && !stat.forked)
			return pid;
		usleep(1000);
	}
	return pid;
}

/* The program's file is not opened: it may be on a server that does not answer. */
static void test_32bit(void)
{
	struct inotify_event event;
	struct pp_step_target target;
	pid_t pid = start_program();
	int notices;

	if (!pid) {
		unit_skip("no 32-bit programs here");
		return;
	}
	notices = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	CU_ASSERT(inotify_add_watch(notices, program_path, IN_OPEN) >= 0);
	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PATHPROF_DROP_32BIT);
	CU_ASSERT(read(notices, &event, sizeof(event)) < 0 && errno == EAGAIN);
	close(notices);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

static void test_refusals(void)
{
	struct pp_step_target target;
	pid_t pid = start_spinning(spin);
	int status;

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	CU_ASSERT_EQUAL(catch_spinning(pid, &target), PATHPROF_DROP_STOPPED);
	kill(pid, SIGCONT);
	CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	target = (struct pp_step_target){.pid = pid, .tid = pid};
	CU_ASSERT_EQUAL(pp_step_catch(&holder, &target), PATHPROF_DROP_TRACED);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	/* at once: somebody else may have its number soon */
	target = (struct pp_step_target){.pid = pid, .tid = pid};
	CU_ASSERT_EQUAL(pp_step_catch(&holder, &target), PATHPROF_DROP_GONE);
}

static const struct unit_test tests[] = {
	{"who ignores SIGTRAP is left alone", test_ignored_sigtrap},
	{"who is under a seccomp filter is stepped, strict mode is left alone", test_seccomp},
	{"process 1 is never stopped", test_init},
	{"threads of one user leave room in limbo", test_limbo_of_a_user},
	{"who put a stepper to sleep is not touched", test_silent},
	{"the daemon's own children are not touched", test_own},
	{"threads of a real-time policy are left alone", test_realtime},
	{"threads on isolated CPUs are left alone", test_isolated},
	{"who may be about to execute is left alone by who lacks rights", test_starting},
	{"who is in hundreds of groups is held", test_many_groups},
	{"a 32-bit program is told by what the kernel told it", test_32bit},
	{"stopped, traced and ended targets are told apart", test_refusals},
};

UNIT_SUITE(step_refused, tests)
