// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions of the module over windows that the test PMU was given, and the child that it strikes.
 *
 * Workload: a few sessions of some thousand windows. Expected windows are awaited, up to a limit at
 * which the machine must be broken.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "../../testpmu/testpmu.h"
#include "../common.h"
#include "vmsegments.h"

#define PERIOD_NS  100000u
#define RUN_MS     20     /* at a time: 200 windows, where a ring has room for 1,800 */
#define GIVE_UP_MS 60000u /* without a window */

/* ------------------------------------------------------------- what to ask for */

static void small(struct pathprof_kmod_start *start)
{
	start->chain.hpt_bits = 3;
	start->chain.hpt_ways = 3;
	start->chain.rate = 8;
	start->chain.assoc_size = 3;
	start->chain.seed = 12345;
}

static void lfu(struct pathprof_kmod_start *start)
{
	small(start);
	start->chain.hpt_policy = PP_HPT_LFU;
	start->chain.sampler = PP_SAMPLER_COUNTING_RANDOM;
	start->chain.phased = 0;
}

static void tagged(struct pathprof_kmod_start *start)
{
	small(start);
	start->chain.sampler = PP_SAMPLER_TAGGED;
	start->chain.phased = 0;
	start->chain.substream_bits = 6;
	start->chain.tag_bits = 8;
	start->chain.ways = 4;
	start->chain.evict = 16;
	start->chain.replace = 4;
}

static void cycles(struct pathprof_kmod_start *start)
{
	start->metric = PATHPROF_METRIC_CYCLES;
}

static void mispredict(struct pathprof_kmod_start *start)
{
	start->metric = PATHPROF_METRIC_MISPREDICT;
}

static void calls(struct pathprof_kmod_start *start)
{
	start->profiles = PATHPROF_PROFILE_CALLS;
	start->kinds = 1u << PERF_BR_CALL | 1u << PERF_BR_IND;
	start->chain.rate = 16;
}

static void dirty(struct pathprof_kmod_start *start)
{
	start->pmu_config |= TESTPMU_DIRTY | TESTPMU_HOLE;
}

static void nmi(struct pathprof_kmod_start *start)
{
	start->pmu_config |= TESTPMU_NMI_PAIR;
}

static void nothing_else(struct pathprof_kmod_start *start)
{
}

static const struct spec {
	const char *name;
	void (*change)(struct pathprof_kmod_start *start);
} specs[] = {
	{"default", nothing_else}, {"small", small},   {"lfu", lfu},
	{"tagged", tagged},        {"cycles", cycles}, {"mispredict", mispredict},
	{"calls", calls},          {"dirty", dirty},   {"nmi", nmi},
};

int specify(struct pathprof_kmod_start *start, const char *spec)
{
	*start = (struct pathprof_kmod_start){
		.source = PATHPROF_SOURCE_LBR,
		.mode = PATHPROF_MODE_RAW | PATHPROF_MODE_CHAIN,
		.period = PERIOD_NS,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pmu_type = (uint32_t)pmu_type("pathprof_test"),
		.pmu_config = 32 | TESTPMU_GIVEN,
		.chain = {.sampler = PP_SAMPLER_PERIODIC,
			  .rate = 256,
			  .substream_bits = 11,
			  .assoc_size = 16,
			  .phased = 1,
			  .max_length = 32,
			  .hpt_bits = 9,
			  .hpt_ways = 4,
			  .hpt_policy = PP_HPT_TAIL},
	};
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		if (!strcmp(specs[i].name, spec)) {
			specs[i].change(start);
			return 0;
		}
	return -EINVAL;
}

int give(const char *path, uint64_t windows)
{
	static unsigned char window[32 * TESTPMU_BYTES];
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = open(TESTPMU_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC), err = 0;
	ssize_t len;

	if (from < 0 || to < 0)
		err = -errno;
	while (!err && windows-- && (len = read(from, window, sizeof(window))) > 0)
		if (write(to, window, (size_t)len) != len)
			err = errno ? -errno : -EIO;
	close(from);
	close(to);
	return err;
}

/* -------------------------------------------------------------------- the child */

/* On the CPU that is not the reader's if there is one. */
pid_t start_child(bool rests)
{
	pid_t pid = fork();
	cpu_set_t cpus;

	if (pid)
		return pid;
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (uint64_t end_ms = now_ms() + RUN_MS;;) {
		compute(end_ms);
		if (!rests || now_ms() < end_ms)
			continue;
		raise(SIGSTOP);
		end_ms = now_ms() + RUN_MS;
	}
}

void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_raw(const struct check *check)
{
	return check->start.mode & PATHPROF_MODE_RAW;
}

/* With the child at rest no window comes, and all that came is read. */
static int await_rest(struct check *check, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -ECHILD;
	reader_drain(check->reader, take, check);
	return 0;
}

static int await_records(struct check *check, pid_t pid)
{
	if (is_raw(check))
		return await_rest(check, pid);
	reader_wait(check->reader, 5);
	reader_drain(check->reader, take, check);
	return 0;
}

/* Drains between two windows: with whole windows it is known which came before the DRAIN. */
static int drain_between(struct check *check)
{
	if (ioctl(check->reader->fd, PATHPROF_IOC_DRAIN))
		return -errno;
	reader_drain(check->reader, take, check);
	keep_drain(check);
	return 0;
}

int collect_upto(struct check *check, pid_t pid, uint64_t windows)
{
	uint64_t end_ms = now_ms() + GIVE_UP_MS, taken = 0, before;
	struct pathprof_collector_stats now;

	for (;;) {
		int err = await_records(check, pid);

		if (err)
			return err;
		before = taken;
		reader_stats(check->reader, &now);
		taken = stats_since(&check->before, &now, PATHPROF_STAT_WINDOWS);
		if (taken >= windows)
			return 0;
		if (taken != before)
			end_ms = now_ms() + GIVE_UP_MS;
		if (now_ms() > end_ms)
			return -ETIMEDOUT;
		kill(pid, SIGCONT);
	}
}

int collect(struct check *check, uint64_t windows)
{
	pid_t pid = start_child(is_raw(check));
	int err;

	if (pid < 0)
		return -errno;
	check->start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &check->start);
	if (!err)
		err = collect_upto(check, pid, windows / 2);
	if (!err)
		err = drain_between(check);
	kill(pid, SIGCONT);
	if (!err)
		err = collect_upto(check, pid, windows);
	if (!err)
		err = reader_stop(check->reader);
	end_child(pid);
	reader_drain(check->reader, take, check);
	return err;
}
