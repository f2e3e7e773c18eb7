// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Catching and releasing: what the target keeps. Children that spin, sleep in system calls, or
 * shut SIGTRAP out are held and let go by the stepper's own functions, called in this process.
 */
#include "step_child.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_watch.h"

#define TOO_LATE 9 /* a child's exit status: it tells nothing */

static void spin_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	spin();
}

/* How long children wait: a slow machine needs longer until it has come to one in its wait. */
#define WAIT_MS 300
static int wait_ms = WAIT_MS;

static struct timespec wait_time(void)
{
	return (struct timespec){wait_ms / 1000, wait_ms % 1000 * (long)PP_NSEC_PER_MSEC};
}

/* Children report by their exit status: 0 as if nobody had come. */
static void wait_in_epoll(void)
{
	struct epoll_event event;

	_exit(epoll_wait(epoll_create1(0), &event, 1, wait_ms) ? 1 : 0);
}

static void wait_in_sigtimedwait(void)
{
	struct timespec timeout = wait_time();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	_exit(sigtimedwait(&set, NULL, &timeout) < 0 && errno == EAGAIN ? 0 : 1);
}

static void wait_in_semop(void)
{
	struct sembuf operation = {.sem_op = -1};
	struct timespec timeout = wait_time();
	int id = semget(IPC_PRIVATE, 1, 0600);
	int code = semtimedop(id, &operation, 1, &timeout);
	int right = code < 0 && errno == EAGAIN;

	semctl(id, 0, IPC_RMID);
	_exit(right ? 0 : 1);
}

static void wait_in_nanosleep(void)
{
	struct timespec timeout = wait_time();
	uint64_t begin_ns = pp_monotonic_ns();
	uint64_t waited_ns;

	if (nanosleep(&timeout, NULL))
		_exit(1);
	waited_ns = pp_monotonic_ns() - begin_ns;
	_exit(waited_ns < (uint64_t)wait_ms * PP_NSEC_PER_MSEC);
}

static void wait_in_read(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		_exit(2);
	if (fork() == 0) {
		usleep((useconds_t)wait_ms * 1000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	_exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
}

/*
 * EINTR is owed here: the alarm would have broken the wait off without us. TOO_LATE: it may have
 * come before the wait.
 */
static void wait_for_alarm(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct epoll_event event;
	const struct itimerval once = {.it_value = {wait_ms / 1000, wait_ms % 1000 * 1000}};
	int fd = epoll_create1(0);
	uint64_t begin_ns;

	sigaction(SIGALRM, &action, NULL);
	begin_ns = pp_monotonic_ns();
	setitimer(ITIMER_REAL, &once, NULL);
	if (pp_monotonic_ns() - begin_ns > (uint64_t)wait_ms * PP_NSEC_PER_MSEC / 2)
		_exit(TOO_LATE);
	_exit(epoll_wait(fd, &event, 1, 10000) < 0 && errno == EINTR ? 0 : 1);
}

/* Waits under a sandbox that does not allow restart_syscall, by which the kernel goes on. */
static void wait_under_filter(void)
{
	struct timespec timeout = wait_time();

	filter_out(SYS_restart_syscall);
	_exit(nanosleep(&timeout, NULL) ? 1 : 0);
}

/*
 * Interrupted whatever it does, which the stepper avoids where it can; then let go. By a process of
 * its own: the parent, were it the tracer, would consume the end it waits for. Restarts, 0 or 1.
 */
static int disturb(pid_t pid)
{
	struct pp_step_target target = {.pid = pid, .tid = pid};
	pid_t tracer = fork();
	int status = 0;

	if (tracer == 0) {
		enum pp_step_stop stop;
		int signal = 0;

		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
			_exit(0);
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		stop = pp_step_wait(&target, pp_monotonic_ns() + 60 * PP_NSEC_PER_SEC, &signal);
		holder.restarts = 0;
		pp_step_release(&holder, &target, stop, signal);
		_exit((int)holder.restarts);
	}
	waitpid(tracer, &status, 0);
	return WEXITSTATUS(status);
}

/*
 * The exit status of a child that is disturbed until it ends; -1: it did not. A wait that were
 * begun again after each interrupt would not end while they go on.
 */
static int disturb_to_the_end(void (*run)(void), unsigned int pause_us)
{
	uint64_t end_ns = pp_monotonic_ns() + 60 * PP_NSEC_PER_SEC;
	pid_t pid = start(run);
	int status = -1;

	while (!has_ended(pid, &status)) {
		if (pp_monotonic_ns() > end_ns) {
			end(pid);
			return -1;
		}
		disturb(pid);
		usleep(pause_us);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void disturb_all_along(void (*run)(void), unsigned int pause_us)
{
	CU_ASSERT_EQUAL(disturb_to_the_end(run, pause_us), 0);
}

/* In the call that it waits in, or at its end. */
static void until_asleep(pid_t pid)
{
	struct pp_step_stat stat;

	for (int i = 0; i < 60000; i++) {
		if (!pp_step_read_stat(pid, pid, &stat) && stat.state != 'R')
			return;
		usleep(1000);
	}
}

/*
 * Started again each time, it ends only once we leave it alone. Whether that happened: on a busy
 * machine its wait may be over before we come.
 */
static bool disturb_thrice(void (*run)(void))
{
	pid_t pid = start(run);
	int status = -1;
	int restarts = 0;

	for (int i = 0; i < 3; i++) {
		until_asleep(pid);
		restarts += disturb(pid);
		usleep(20000);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return restarts > 0;
}

static void disturb_in_its_call(void (*run)(void))
{
	bool was_restarted = false;

	for (int i = 0; i < 100 && !was_restarted; i++) {
		wait_ms = WAIT_MS * (1 + i / 10);
		was_restarted = disturb_thrice(run);
	}
	wait_ms = WAIT_MS;
	CU_ASSERT_TRUE(was_restarted);
}

static void test_epoll(void)
{
	disturb_in_its_call(wait_in_epoll);
}

static void test_sigtimedwait(void)
{
	disturb_in_its_call(wait_in_sigtimedwait);
}

static void test_semop(void)
{
	disturb_in_its_call(wait_in_semop);
}

static void test_nanosleep(void)
{
	disturb_all_along(wait_in_nanosleep, 20000);
}

static void test_filtered_sleep(void)
{
	disturb_in_its_call(wait_under_filter);
}

static void test_read(void)
{
	disturb_all_along(wait_in_read, 20000);
}

static void test_owed_eintr(void)
{
	int status = TOO_LATE;

	for (int i = 0; i < 20 && status == TOO_LATE; i++) {
		wait_ms = WAIT_MS * (1 + i / 2);
		status = disturb_to_the_end(wait_for_alarm, 7000);
	}
	wait_ms = WAIT_MS;
	CU_ASSERT_EQUAL(status, 0);
}

static void test_burst(void)
{
	static struct pp_step_record record;
	pid_t pid = start_spinning(spin);

	burst_on(pid, &record);
	CU_ASSERT_EQUAL(record.burst.end, PATHPROF_END_FULL);
	CU_ASSERT_EQUAL(record.burst.taken_cnt, 16);
	CU_ASSERT_EQUAL(record.burst.pid, (__u32)pid);
	CU_ASSERT(record.burst.branch_cnt >= 16);
	for (uint32_t i = 0; i < record.burst.branch_cnt; i++)
		CU_ASSERT(record.branches[i].kind == 1 || record.branches[i].taken);
	CU_ASSERT_EQUAL(kill(pid, 0), 0);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

static volatile uint32_t *handled;

static void on_user(int signal)
{
	++*handled;
}

static void spin_with_handlers(void)
{
	struct sigaction action = {.sa_handler = on_user};

	sigaction(SIGUSR1, &action, NULL);
	signal(SIGUSR2, SIG_IGN);
	spin();
}

/* The end of a burst whose thread was sent a signal when it was held. */
static uint32_t end_after_signal(pid_t pid, enum pp_step_break_kind breaks, int signal)
{
	static struct pp_step_record record;
	const struct pp_step_limits limits = {.taken_wanted = 16,
					      .step_max = 1500,
					      .breaks = breaks,
					      .time_ns = 60 * PP_NSEC_PER_SEC,
					      .call_ns = PP_STEP_CALL_NS,
					      .lookahead = true};
	struct pp_step_target target;

	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	CU_ASSERT_EQUAL(kill(pid, signal), 0);
	pp_step_burst(&holder, &target, &limits, &record);
	return record.burst.end;
}

static void expect_ends(enum pp_step_break_kind breaks)
{
	pid_t pid = start_spinning(spin_with_handlers);
	int status = 0;

	*handled = 0;
	CU_ASSERT_EQUAL(end_after_signal(pid, breaks, SIGCHLD), PATHPROF_END_FULL);
	CU_ASSERT_EQUAL(end_after_signal(pid, breaks, SIGWINCH), PATHPROF_END_FULL);
	CU_ASSERT_EQUAL(end_after_signal(pid, breaks, SIGUSR2), PATHPROF_END_FULL);
	CU_ASSERT_EQUAL(*handled, 0);
	CU_ASSERT_EQUAL(end_after_signal(pid, breaks, SIGUSR1), PATHPROF_END_SIGNAL);
	for (int i = 0; i < 6000 && !*handled; i++)
		usleep(10000);
	CU_ASSERT_EQUAL(*handled, 1);
	CU_ASSERT_EQUAL(end_after_signal(pid, breaks, SIGTERM), PATHPROF_END_SIGNAL);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void test_signals(void)
{
	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	CU_ASSERT_FATAL(handled != MAP_FAILED);
	expect_ends(PP_STEP_BREAK_NONE);
	expect_ends(pp_step_break_probe(PP_STEP_BREAK_PERF));
	munmap((void *)handled, sizeof(*handled));
}

static void trap_unnamed(void)
{
	raise(SIGSTOP);
	__asm__ volatile(".byte 0xf1");
	_exit(1);
}

/*
 * The kind of stop of a thread that executes `int1`. The kernel reports a step's trap in the same
 * way if a hypervisor has lost the debug register.
 */
static enum pp_step_stop stop_at_int1(bool stepped)
{
	pid_t pid = start(trap_unnamed);
	struct pp_step_target target = {.pid = pid, .tid = pid, .stepped = stepped};
	enum pp_step_stop stop;
	int status, signal = 0;

	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, WUNTRACED), pid);
	CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	kill(pid, SIGCONT);
	do {
		stop = pp_step_wait(&target, pp_monotonic_ns() + 60 * PP_NSEC_PER_SEC, &signal);
		if (stop == PP_STEP_STOP_STEP || signal == SIGTRAP)
			break;
	} while (!ptrace(PTRACE_CONT, pid, NULL, NULL));
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	return stop;
}

static void test_unnamed_trap(void)
{
	CU_ASSERT_EQUAL(stop_at_int1(true), PP_STEP_STOP_STEP);
	CU_ASSERT_EQUAL(stop_at_int1(false), PP_STEP_STOP_SIGNAL);
}

static void test_blocked_sigtrap(void)
{
	static struct pp_step_record record;
	struct pp_step_status status;
	pid_t pid = start_spinning(spin_blocked);
	uint64_t blocked;

	CU_ASSERT_EQUAL_FATAL(pp_step_read_status(pid, pid, &status), 0);
	blocked = status.blocked;
	burst_on(pid, &record);
	CU_ASSERT_EQUAL(record.burst.taken_cnt, 16);
	CU_ASSERT_EQUAL_FATAL(pp_step_read_status(pid, pid, &status), 0);
	CU_ASSERT_EQUAL(status.blocked, blocked);
	CU_ASSERT(blocked & 1 << (SIGTRAP - 1));
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

static void sleep_long(void)
{
	sleep(100);
}

/* A busy machine lets it reach its sleep late. */
static pid_t start_sleeping(void)
{
	pid_t pid = start(sleep_long);
	struct pp_step_stat stat = {0};

	for (int i = 0; i < 60000 && stat.state != 'S'; i++) {
		usleep(1000);
		if (pp_step_read_stat(pid, pid, &stat))
			break;
	}
	CU_ASSERT_EQUAL(stat.state, 'S');
	return pid;
}

/* Nothing of ours is in the way of one that sleeps; whatever is, and whoever runs, is waited for.
 */
static void test_leaving(void)
{
	pid_t sleeper = start_sleeping();
	pid_t runner = start_spinning(spin);
	struct pp_step_limbo limbo = {
		.cnt = 1, .targets = {{.pid = sleeper, .tid = sleeper, .stepped = true}}};
	struct pp_step_target *target = &limbo.targets[0];

	CU_ASSERT_TRUE(pp_step_may_leave(&limbo));
	target->single = true;
	CU_ASSERT_FALSE(pp_step_may_leave(&limbo));
	target->single = false;
	target->mask_changed = true;
	CU_ASSERT_FALSE(pp_step_may_leave(&limbo));
	target->mask_changed = false;
	target->breaks.cnt = 1;
	CU_ASSERT_FALSE(pp_step_may_leave(&limbo));
	target->breaks.cnt = 0;
	target->pid = target->tid = runner;
	CU_ASSERT_FALSE(pp_step_may_leave(&limbo));
	CU_ASSERT_EQUAL(end(sleeper), SIGKILL);
	CU_ASSERT_EQUAL(end(runner), SIGKILL);
	/* Gone, and its end consumed. */
	CU_ASSERT_TRUE(pp_step_may_leave(&limbo));
	limbo.cnt = 0;
	CU_ASSERT_TRUE(pp_step_may_leave(&limbo));
}

/* Memory shared by the test and a process of two threads. */
struct second {
	pid_t tid;
	bool ends, executes;
};
static volatile struct second *second;

static void *run_second(void *argument)
{
	second->tid = (pid_t)syscall(SYS_gettid);
	while (!second->ends && !second->executes)
		sink++;
	if (second->executes)
		execl("/bin/sleep", "sleep", "1000", NULL);
	return NULL;
}

static void run_two(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_second, NULL))
		_exit(3);
	for (;;)
		pause();
}

static pid_t start_two(void)
{
	pid_t pid;

	*second = (struct second){0};
	pid = start(run_two);
	for (int i = 0; i < 60000 && !second->tid; i++)
		usleep(1000);
	CU_ASSERT_NOT_EQUAL_FATAL(second->tid, 0);
	CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_SEIZE, second->tid, NULL, NULL), 0);
	return pid;
}

static void run_without_first(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_second, NULL))
		_exit(3);
	pthread_exit(NULL);
}

static bool has_first_ended(pid_t pid)
{
	struct pp_step_stat stat;

	return !pp_step_read_stat(pid, pid, &stat) && stat.state == 'Z';
}

/* A process goes on after its first thread has ended, and is profiled. */
static void test_without_first(void)
{
	struct pp_step_target target;
	enum pathprof_drop drop;
	pid_t pid;

	second = mmap(NULL, sizeof(*second), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CU_ASSERT_FATAL(second != MAP_FAILED);
	pid = start(run_without_first);
	for (int i = 0; i < 60000 && !(second->tid && has_first_ended(pid)); i++)
		usleep(1000);
	CU_ASSERT_TRUE(has_first_ended(pid));
	drop = catch_thread(pid, second->tid, &target);
	CU_ASSERT_EQUAL(drop, PP_STEP_HELD);
	if (drop == PP_STEP_HELD)
		pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	empty_limbo();
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	munmap((void *)second, sizeof(*second));
}

/* The second thread leaves its number while the first one is in limbo, and is let go of. */
static void release_second(pid_t pid, enum pp_step_stop expected)
{
	struct pp_step_target target = {.pid = pid, .tid = second->tid};
	enum pp_step_stop stop = PP_STEP_STOP_LATE;
	int signal = 0;

	holder.limbo.targets[0] = (struct pp_step_target){.pid = pid, .tid = pid, .stepped = true};
	holder.limbo.cnt = 1;
	for (int i = 0; i < 60000 && stop == PP_STEP_STOP_LATE; i++) {
		usleep(1000);
		stop = pp_step_wait(&target, 0, &signal);
	}
	CU_ASSERT_EQUAL(stop, expected);
	pp_step_release(&holder, &target, stop, signal);
}

/* A thread that ends beside its leader in limbo adds none; one that executes takes its place. */
static void test_leader_in_limbo(void)
{
	struct pp_step_limbo *limbo = &holder.limbo;
	struct pp_step_status status;
	pid_t pid;

	second = mmap(NULL, sizeof(*second), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CU_ASSERT_FATAL(second != MAP_FAILED);
	pid = start_two();
	second->ends = true;
	release_second(pid, PP_STEP_STOP_GONE);
	CU_ASSERT_EQUAL(limbo->cnt, 1);
	CU_ASSERT_TRUE(limbo->targets[0].stepped);
	limbo->cnt = 0;
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	pid = start_two();
	second->executes = true;
	release_second(pid, PP_STEP_STOP_MOVED);
	CU_ASSERT_EQUAL(limbo->cnt, 1);
	CU_ASSERT_EQUAL(limbo->targets[0].tid, pid);
	CU_ASSERT_FALSE(limbo->targets[0].stepped);
	empty_limbo();
	CU_ASSERT_EQUAL(limbo->cnt, 0);
	CU_ASSERT_EQUAL_FATAL(pp_step_read_status(pid, pid, &status), 0);
	CU_ASSERT_EQUAL(status.tracer, 0);
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
	munmap((void *)second, sizeof(*second));
}

/* Registers that stay set in a sleeping target are named in the page once another is let go. */
static void test_registers_in_limbo(void)
{
	struct pp_step_hold hold = {0};
	struct pp_step_target other = {.pid = getpid(), .tid = getpid()};
	struct pp_step_target target = {.stepped = true};

	holder.pin.hold = &hold;
	target.pid = target.tid = start(sleep_long);
	target.breaks = (struct pp_step_break){
		.kind = PP_STEP_BREAK_PTRACE, .tid = target.tid, .cnt = PP_STEP_BREAK_POKED};
	pp_step_publish_armed(&holder.pin, &target);
	pp_step_release(&holder, &target, PP_STEP_STOP_LATE, 0);
	pp_step_publish_armed(&holder.pin, &other);
	pp_step_release(&holder, &other, PP_STEP_STOP_GONE, 0);
	CU_ASSERT_EQUAL(hold.armed, 1);
	CU_ASSERT_EQUAL(hold.tid, target.tid);
	CU_ASSERT_FALSE(pp_step_watch_may_kill(&hold, 'S'));
	CU_ASSERT_EQUAL(end(target.pid), SIGKILL);
	empty_limbo();
	CU_ASSERT_EQUAL(hold.armed, 0);
	CU_ASSERT_TRUE(pp_step_watch_may_kill(&hold, 'S'));
	holder.pin.hold = NULL;
}

static void test_killed_while_held(void)
{
	static const struct pp_step_limits limits = {.taken_wanted = 16,
						     .step_max = 1500,
						     .time_ns = 60 * PP_NSEC_PER_SEC,
						     .call_ns = PP_STEP_CALL_NS,
						     .lookahead = true};
	static struct pp_step_record record;
	struct pp_step_target target;
	pid_t pid = start_spinning(spin);

	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	kill(pid, SIGKILL);
	pp_step_burst(&holder, &target, &limits, &record);
	/* The process's code or its area of restartable sequences may go before its thread. */
	CU_ASSERT(record.burst.end == PATHPROF_END_EXIT || record.burst.end == PATHPROF_END_FETCH ||
		  record.burst.end == PATHPROF_END_DISCONT);
	CU_ASSERT_EQUAL(record.burst.branch_cnt, 0);
	empty_limbo();
	CU_ASSERT_EQUAL(holder.limbo.cnt, 0);
	waitpid(pid, NULL, 0);
	CU_ASSERT(kill(pid, 0) < 0 && errno == ESRCH);
}

static int cpus_of(pid_t pid)
{
	cpu_set_t set;

	return sched_getaffinity(pid, sizeof(set), &set) ? -1 : CPU_COUNT(&set);
}

static void test_pin(void)
{
	struct pp_step_hold hold = {0};
	struct pp_step_target target;
	int all = cpus_of(0);
	pid_t pid;

	if (all != sysconf(_SC_NPROCESSORS_ONLN) || all < 2) {
		unit_skip("needs two CPUs and leave to use all of them");
		return;
	}
	pid = start_spinning(spin);
	holder.pin = (struct pp_step_pin){true, (uint32_t)all, &hold};
	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	CU_ASSERT(target.pinned);
	CU_ASSERT_EQUAL(hold.pinned, 1);
	CU_ASSERT_EQUAL(hold.tid, pid);
	CU_ASSERT_EQUAL(cpus_of(pid), 1);
	pp_step_release(&holder, &target, PP_STEP_STOP_OURS, 0);
	CU_ASSERT_EQUAL(hold.pinned, 0);
	CU_ASSERT_EQUAL(cpus_of(pid), all);
	CU_ASSERT_EQUAL(cpus_of(0), all);
	CU_ASSERT_EQUAL(getpriority(PRIO_PROCESS, (id_t)pid), getpriority(PRIO_PROCESS, 0));
	holder.pin.enabled = false;
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

/* Told to run on one CPU, the target is there, whether it runs or waits. */
static void test_follow(void)
{
	struct pp_step_hold hold = {0};
	struct pp_step_target target;
	int all = cpus_of(0);

	if (all != sysconf(_SC_NPROCESSORS_ONLN) || all < 2) {
		unit_skip("needs two CPUs and leave to use all of them");
		return;
	}
	holder.pin = (struct pp_step_pin){true, (uint32_t)all, &hold};
	for (int cpu = 0; cpu < 2; cpu++) {
		pid_t pid = start_spinning(spin);
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		CU_ASSERT_EQUAL_FATAL(sched_setaffinity(pid, sizeof(one), &one), 0);
		target = (struct pp_step_target){.pid = pid, .tid = pid};
		pp_step_follow(&holder.pin, &target);
		CU_ASSERT_EQUAL(cpus_of(0), 1);
		CU_ASSERT_EQUAL(sched_getcpu(), cpu);
		pp_step_unpin(&holder.pin, &target);
		CU_ASSERT_EQUAL(cpus_of(0), all);
		CU_ASSERT_EQUAL(end(pid), SIGKILL);
	}
	/* One that runs no more when the stepper comes to it: nothing stays behind. */
	target = (struct pp_step_target){.pid = getpid(), .tid = getpid()};
	CU_ASSERT_NOT_EQUAL(pp_step_catch(&holder, &target), PP_STEP_HELD);
	CU_ASSERT_EQUAL(cpus_of(0), all);
	holder.pin.enabled = false;
}

/* Also the planted fault: a tie that nobody undoes must show. */
static void test_orphan(void)
{
	struct pp_step_hold hold = {0};
	struct itimerval never = {{0, 0}, {0, 0}};
	struct pp_step_target target;
	int all = cpus_of(0);
	pid_t pid;

	if (all != sysconf(_SC_NPROCESSORS_ONLN) || all < 2) {
		unit_skip("needs two CPUs and leave to use all of them");
		return;
	}
	pid = start_spinning(spin);
	holder.pin = (struct pp_step_pin){true, (uint32_t)all, &hold};
	CU_ASSERT_EQUAL_FATAL(catch_spinning(pid, &target), PP_STEP_HELD);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	CU_ASSERT_EQUAL(cpus_of(pid), 1);
	hold.start_time++;
	pp_step_unpin_orphan(&hold);
	CU_ASSERT_EQUAL(cpus_of(pid), 1);
	hold.start_time--;
	pp_step_unpin_orphan(&hold);
	CU_ASSERT_EQUAL(cpus_of(pid), all);
	CU_ASSERT_EQUAL(getpriority(PRIO_PROCESS, (id_t)pid), getpriority(PRIO_PROCESS, 0));
	target.pinned = target.boosted = false;
	pp_step_unpin(&holder.pin, &target);
	holder.pin.enabled = false;
	CU_ASSERT_EQUAL(end(pid), SIGKILL);
}

static const struct unit_test tests[] = {
	{"epoll_wait never sees our EINTR", test_epoll},
	{"sigtimedwait never sees our EINTR", test_sigtimedwait},
	{"semtimedop never sees our EINTR", test_semop},
	{"nanosleep keeps its length", test_nanosleep},
	{"a sleep under a filter goes on without restart_syscall", test_filtered_sleep},
	{"read goes on", test_read},
	{"an EINTR that a signal owes is delivered", test_owed_eintr},
	{"a spinning child gives a full burst and lives", test_burst},
	{"a signal that does nothing ends no burst, another does and arrives", test_signals},
	{"a trap without a name is the step's, and else the target's", test_unnamed_trap},
	{"blocked SIGTRAP stays blocked", test_blocked_sigtrap},
	{"only what would be left behind keeps the stepper", test_leaving},
	{"threads are held after the first one has ended", test_without_first},
	{"a process has one place in limbo, whatever its threads do", test_leader_in_limbo},
	{"registers that stay set in a sleeping target are named", test_registers_in_limbo},
	{"a target killed while held is reaped", test_killed_while_held},
	{"a held target is tied and untied", test_pin},
	{"the stepper goes to the CPU of whom it seizes", test_follow},
	{"a dead stepper's tie is undone, of the right process only", test_orphan},
};

UNIT_SUITE(step_target, tests)
