// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock on children that do nothing but run, against the CPU time that the kernel says they
 * had. What the kernel does not let us open is skipped out loud.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/clock/clock.h"

#define HZ     499
#define RUN_MS 400

static void spin(int cpu_ms)
{
	struct timespec used;
	volatile uint64_t x = 1;

	do {
		for (int i = 0; i < 20000; i++)
			x = x * 3 + 1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < cpu_ms);
}

/* A child that waits for its pipe, then runs, itself and in a child of its own. */
static pid_t start(int *ret_go)
{
	int go[2];
	pid_t child;
	char c;

	CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		pid_t grandchild = fork();
		spin(RUN_MS);
		if (grandchild > 0)
			waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	close(go[0]);
	*ret_go = go[1];
	return child;
}

struct seen {
	pid_t child;
	uint64_t cnt, of_child, kernel, early, last_ns;
};

static void on_sample(void *context, const struct pp_cpu_sample *sample)
{
	struct seen *seen = context;

	seen->cnt++;
	seen->of_child += sample->pid == seen->child;
	seen->kernel += sample->kernel;
	seen->early += sample->time_ns < seen->last_ns;
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
	/* a host that takes the CPU away also takes its timer's strikes */
	CU_ASSERT((double)seen.cnt < 1.15 * HZ * cpu_s + 10);
	CU_ASSERT((double)seen.cnt > 0.5 * HZ * cpu_s);
	CU_ASSERT(seen.of_child > seen.cnt / 4 && seen.of_child < seen.cnt * 3 / 4);
	CU_ASSERT(pp_clock_sees_kernel(clock) || !seen.kernel);
	CU_ASSERT_EQUAL(lost, 0);
	pp_clock_free(clock);
}

static void test_helper_is_left_out(void)
{
	struct seen seen = {0};
	struct pp_clock *clock;
	int go;

	seen.child = start(&go);
	clock = open_or_skip(seen.child);
	CU_ASSERT_EQUAL(write(go, "", 1), 1);
	waitpid(seen.child, NULL, 0);
	close(go);
	if (!clock)
		return;
	pp_clock_read(clock, seen.child, on_sample, &seen);
	CU_ASSERT(seen.cnt > 0);
	CU_ASSERT_EQUAL(seen.of_child, 0);
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

static const struct unit_test tests[] = {
	{"a family's samples are its CPU time", test_family},
	{"the process that helps is left out", test_helper_is_left_out},
	{"a process that is not there is told", test_nobody_to_follow},
};
UNIT_SUITE(cpu_clock, tests)
