// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock on children that do nothing but run, against the CPU time that the kernel says they
 * had. Clocks that the kernel does not let us open are reported as skipped.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/clock/clock.h"

#define HZ     499
#define RUN_MS 400

#define SECOND_NS UINT64_C(1000000000)

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The time that it ran without a gap: who takes the CPU away also takes the timer's strikes. */
static uint64_t spin(int cpu_ms)
{
	uint64_t before_ns = wall_ns(), now_ns, ran_ns = 0;
	struct timespec used;
	volatile uint64_t x = 1;

	do {
		for (int i = 0; i < 20000; i++)
			x = x * 3 + 1;
		now_ns = wall_ns();
		if (now_ns - before_ns < SECOND_NS / HZ)
			ran_ns += now_ns - before_ns;
		before_ns = now_ns;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < cpu_ms);
	return ran_ns;
}

/* The child's child, which the clock of the whole system cannot tell from others. */
struct told {
	pid_t grandchild;
	uint64_t ran_ns; /* of both */
};
static volatile struct told *told;

/* A child that waits for its pipe, then runs, itself and in a child of its own. */
static pid_t start(int *ret_go)
{
	int go[2];
	pid_t child;
	char c;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(told != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		pid_t own = fork();
		if (own == 0)
			told->grandchild = getpid();
		__atomic_fetch_add(&told->ran_ns, spin(RUN_MS), __ATOMIC_RELAXED);
		if (own > 0)
			waitpid(own, NULL, 0);
		_exit(0);
	}
	close(go[0]);
	*ret_go = go[1];
	return child;
}

struct seen {
	pid_t child;
	uint64_t cnt, of_child, others, kernel, early, last_ns;
};

static void on_sample(void *context, const struct pp_cpu_sample *sample)
{
	struct seen *seen = context;

	if (sample->pid != seen->child && sample->pid != told->grandchild) {
		seen->others++;
		return;
	}
	seen->cnt++;
	seen->of_child += sample->pid == seen->child;
	seen->kernel += sample->kernel;
	seen->early += sample->time_ns < seen->last_ns;
}

/* A sample that is read before its process has told its number would count as a stranger's. */
static void await_grandchild(void)
{
	for (int i = 0; i < 60000 && !told->grandchild; i++)
		usleep(1000);
	CU_ASSERT_NOT_EQUAL(told->grandchild, 0);
}

static struct pp_clock *open_or_skip(pid_t pid)
{
	const struct pp_clock_config config = {.only_pid = pid, .hz = HZ};
	struct pathprof_error error = {""};
	struct pp_clock *clock = NULL;
	int code = pp_clock_open(&clock, &config, &error);

	if (code < 0) {
		CU_ASSERT(error.text[0] != 0);
		unit_skip(error.text);
	}
	return clock;
}

static double cpu_of_children(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The child and the one it makes later, and nobody else, at the rate asked for. */
static void test_family(void)
{
	struct seen seen = {0};
	double before = cpu_of_children(), cpu_s;
	struct pp_clock *clock;
	uint64_t lost = 0;
	int go;

	seen.child = start(&go);
	clock = open_or_skip(seen.child);
	CU_ASSERT_EQUAL(write(go, "", 1), 1);
	await_grandchild();
	while (waitpid(seen.child, NULL, WNOHANG) == 0) {
		if (clock)
			lost += pp_clock_read(clock, 0, on_sample, &seen);
		usleep(50000);
	}
	close(go);
	if (!clock)
		return;
	lost += pp_clock_read(clock, 0, on_sample, &seen);
	cpu_s = cpu_of_children() - before;
	printf("%llu samples of %.3f s\n", (unsigned long long)seen.cnt, cpu_s);
	CU_ASSERT(cpu_s > 1.5 * RUN_MS / 1000.0);
	CU_ASSERT((double)seen.cnt < 1.15 * HZ * cpu_s + 10);
	/* of a clock of the whole system, other programs' samples may be among those lost */
	CU_ASSERT((double)(seen.cnt + lost) > 0.5 * HZ * (double)told->ran_ns / 1e9);
	CU_ASSERT(seen.of_child > seen.cnt / 4 && seen.of_child < seen.cnt * 3 / 4);
	CU_ASSERT(pp_clock_sees_kernel(clock) || !seen.kernel);
	CU_ASSERT(pp_clock_sees_others(clock) || !seen.others);
	CU_ASSERT(lost == 0 || pp_clock_sees_others(clock));
	pp_clock_free(clock);
}

/* The child starts one of its own as soon as it has events itself. */
static void let_go(void *context)
{
	int *go = context;

	if (*go < 0)
		return;
	CU_ASSERT_EQUAL(write(*go, "", 1), 1);
	await_grandchild();
	close(*go);
	*go = -1;
}

static void count_grandchild(void *context, const struct pp_cpu_sample *sample)
{
	*(uint64_t *)context += sample->pid == told->grandchild;
}

/* One that starts while events are opened is counted once, though it inherits events. */
static void test_start_while_opening(void)
{
	int go;
	const pid_t child = start(&go);
	const struct pp_cpu_clock_config config = {
		.only_pid = child,
		.period_ns = SECOND_NS / HZ,
		.jitter_ns = SECOND_NS / HZ / 10,
		.ring_pages = 64,
		.opened = let_go,
		.opened_context = &go,
	};
	struct pp_cpu_clock *clock = NULL;
	uint64_t cnt = 0;
	int code = pp_cpu_clock_open(&clock, &config);

	let_go(&go);
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
	if (code == -EACCES || code == -EPERM) {
		unit_skip("perf_event_open is refused");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(code, 0);
	pp_cpu_clock_read(clock, count_grandchild, &cnt);
	printf("%llu samples of %d ms\n", (unsigned long long)cnt, RUN_MS);
	CU_ASSERT(cnt > 0);
	CU_ASSERT((double)cnt < 1.5 * HZ * RUN_MS / 1000);
	pp_cpu_clock_free(clock);
}

/* Returns how many samples there were, with those of the helper and of other PID namespaces. */
static uint64_t read_of_all(struct pp_clock *clock, pid_t helper, struct seen *seen)
{
	pp_clock_read(clock, helper, on_sample, seen);
	return pp_clock_read_cnt(clock);
}

static void test_helper_is_left_out(void)
{
	struct seen seen = {0};
	struct pp_clock *clock;
	uint64_t all = 0;
	int go;

	seen.child = start(&go);
	clock = open_or_skip(seen.child);
	CU_ASSERT_EQUAL(write(go, "", 1), 1);
	/* others of a busy machine may fill the rings before it runs */
	while (waitpid(seen.child, NULL, WNOHANG) == 0) {
		if (clock)
			all += read_of_all(clock, seen.child, &seen);
		usleep(50000);
	}
	close(go);
	if (!clock)
		return;
	all += read_of_all(clock, seen.child, &seen);
	CU_ASSERT(seen.cnt > 0);
	CU_ASSERT_EQUAL(seen.of_child, 0);
	CU_ASSERT(all > seen.cnt + seen.others);
	pp_clock_free(clock);
}

static void test_nobody_to_follow(void)
{
	const struct pp_clock_config config = {.only_pid = 0x3fffff, .hz = HZ};
	struct pathprof_error error = {""};
	struct pp_clock *clock = NULL;

	CU_ASSERT(pp_clock_open(&clock, &config, &error) < 0);
	CU_ASSERT_PTR_NULL(clock);
	CU_ASSERT(error.text[0] != 0);
	pp_clock_free(NULL);
}

/* ---------------------------------------------------------------- a program in step */

/* Half of each period in one function, half in the other, by the clock on the wall. */
#define STEP_S  0.6 /* of CPU time */
#define HALF_NS (SECOND_NS / HZ / 2)

static double cpu_s(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Counters of their own keep the two from being made one. */
static volatile uint64_t first_cnt, second_cnt;

#define SPIN_UNTIL(end_ns, cnt)                                                                    \
	do {                                                                                       \
		(cnt)++;                                                                           \
		for (volatile int i = 0; i < 5000; i++)                                            \
			;                                                                          \
	} while (wall_ns() < (end_ns))

static __attribute__((noinline)) void spin_first(uint64_t end_ns)
{
	SPIN_UNTIL(end_ns, first_cnt);
}

static __attribute__((noinline)) void spin_second(uint64_t end_ns)
{
	SPIN_UNTIL(end_ns, second_cnt);
}

/* Writes down the part of its CPU time that it had in the first function. */
static void keep_step(int out)
{
	uint64_t begin_ns = wall_ns();
	double first_s = 0, second_s = 0, part;

	for (uint64_t i = 0; first_s + second_s < STEP_S; i++) {
		double before_s = cpu_s(), between_s;

		spin_first(begin_ns + 2 * i * HALF_NS + HALF_NS);
		between_s = cpu_s();
		spin_second(begin_ns + 2 * (i + 1) * HALF_NS);
		first_s += between_s - before_s;
		second_s += cpu_s() - between_s;
	}
	part = first_s / (first_s + second_s);
	_exit(write(out, &part, sizeof(part)) != sizeof(part));
}

struct in_step {
	pid_t child;
	unsigned int first, second;
};

/* They are one code, and as long as they lie apart. */
static int is_in(uint64_t address, void (*function)(uint64_t))
{
	uint64_t first = (uintptr_t)spin_first, second = (uintptr_t)spin_second;

	return address - (uintptr_t)function < (first < second ? second - first : first - second);
}

static void on_step_sample(void *context, const struct pp_cpu_sample *sample)
{
	struct in_step *seen = context;

	if (sample->pid != seen->child)
		return;
	seen->first += (unsigned int)is_in(sample->address, spin_first);
	seen->second += (unsigned int)is_in(sample->address, spin_second);
}

/* Whether its two halves have the time that they had. */
static int gets_its_time(struct pp_clock *clock)
{
	struct in_step seen = {0};
	double part = 0, off;
	int said[2];

	CU_ASSERT_EQUAL_FATAL(pipe(said), 0);
	seen.child = fork();
	CU_ASSERT_FATAL(seen.child >= 0);
	if (seen.child == 0)
		keep_step(said[1]);
	while (waitpid(seen.child, NULL, WNOHANG) == 0) {
		pp_clock_read(clock, 0, on_step_sample, &seen);
		usleep(50000);
	}
	pp_clock_read(clock, 0, on_step_sample, &seen);
	CU_ASSERT_EQUAL(read(said[0], &part, sizeof(part)), sizeof(part));
	close(said[0]);
	close(said[1]);
	off = (double)seen.first / (seen.first + seen.second) - part;
	printf("%u and %u samples, %.3f of the time\n", seen.first, seen.second, part);
	CU_ASSERT_FATAL(seen.first + seen.second > 20);
	/* five standard deviations of counting, and what the two calls in between take */
	return fabs(off) < 5 * sqrt(part * (1 - part) / (seen.first + seen.second)) + 0.03;
}

/*
 * It keeps step with the clock's nominal rate. One period in sixty is drawn so near to that that
 * half a second shows one half only; three of five are not.
 */
static void test_program_in_step(void)
{
	int right = 0;

	for (int i = 0; i < 5; i++) {
		struct pp_clock *clock = open_or_skip(0);

		if (!clock)
			return;
		right += gets_its_time(clock);
		pp_clock_free(clock);
	}
	CU_ASSERT(right >= 3);
}

/* A program that slept while others' samples were lost has lost none. */
static void test_own_loss(void)
{
	CU_ASSERT_EQUAL(pp_clock_own_loss(1000, 0, 50), 0);
	CU_ASSERT_EQUAL(pp_clock_own_loss(1000, 0, 0), 0);
	CU_ASSERT_EQUAL(pp_clock_own_loss(1000, 10, 40), 250);
	CU_ASSERT_EQUAL(pp_clock_own_loss(1000, 7, 7), 1000);
	CU_ASSERT_EQUAL(pp_clock_own_loss(0, 7, 10), 0);
}

static const struct unit_test tests[] = {
	{"a family's samples are its CPU time", test_family},
	{"a process that starts while events are opened counts once", test_start_while_opening},
	{"the process that helps is left out", test_helper_is_left_out},
	{"a process that is not there is told", test_nobody_to_follow},
	{"of others' lost samples none is a program's own", test_own_loss},
	{"a program in step with the clock gets its time", test_program_in_step},
};
UNIT_SUITE(cpu_clock, tests)
