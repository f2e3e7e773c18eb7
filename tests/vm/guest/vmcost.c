// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of the module, in instructions: for a machine whose time stamp counter counts them (QEMU
 * -icount shift=0, one CPU). The same work is done without the module, with a source that passes
 * every sample over, and with one that takes them; the differences, by the counts the module keeps,
 * are what a sample, a trap, a burst costs. The same stacks are also read through perf's own ring,
 * as `perf record -b` does.
 *
 *     vmcost [WINDOWS...]     files as tests/tools/cut_windows writes them: what real windows cost
 *
 * Workload: 40 M instructions a run, some ten runs. Prints a table, every line of it behind a #,
 * then a line of figures; exit status 1 when a limit is exceeded.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../testpmu/testpmu.h"
#include "reader.h"

#define WORK_ROUNDS   16000u
#define PERIOD_NS     1000000u
#define LOOP_ROUNDS   1000000u
#define RAW_PAGES     256u
#define LBR_LIMIT     4000   /* instructions of ours a stack of 32 */
#define BURST_LIMIT   150000 /* a burst of 32, in this work */
#define CHAINED_LIMIT 100000 /* ... compressed */
#define HORIZON_LIMIT 700    /* an instruction of a horizon */
#define DENSE_NS      40000u /* between real windows: some two thousand a run */
#define DENSE_RUNS    2

static volatile uint64_t sink;

static uint64_t tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static __attribute__((noinline)) uint64_t mix(uint64_t x)
{
	return x >> 63 ? x * 3 + 1 : x ^ 0x55;
}

/* Some 2,500 instructions a round, a branch in every six. */
static uint64_t work(void)
{
	uint64_t x = 1, begun = tsc();

	for (unsigned int round = 0; round < WORK_ROUNDS; round++)
		for (unsigned int i = 0; i < 200; i++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			x = mix(x);
			if (!(x & 0xff00))
				x++;
		}
	sink = x;
	return tsc() - begun;
}

/* How far the counter goes in 2,000,000 instructions, as a check of the machine. */
static uint64_t calibrate(void)
{
	uint64_t rounds = LOOP_ROUNDS, begun = tsc();

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
	return tsc() - begun;
}

/* The figures with limits, in instructions; 0: not measured. */
struct figures {
	uint64_t burst, trap, burst_chained;  /* swlbr, 32 taken branches */
	uint64_t insn;                        /* swlbr, of a horizon */
	uint64_t sample, whole, most_chained; /* lbr, 32 entries */
};

struct run {
	uint64_t insns; /* more than the work alone */
	uint64_t samples, bursts, traps, bytes, records;
	uint64_t drain_insns;
};

static struct pathprof_kmod_start swlbr(uint32_t window)
{
	return (struct pathprof_kmod_start){
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_RAW,
		.period = PERIOD_NS,
		.window = window,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pid = (uint32_t)getpid(),
	};
}

static struct pathprof_kmod_start lbr(void)
{
	return (struct pathprof_kmod_start){
		.source = PATHPROF_SOURCE_LBR,
		.mode = PATHPROF_MODE_RAW,
		.period = PERIOD_NS,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pid = (uint32_t)getpid(),
		.pmu_type = (uint32_t)pmu_type("pathprof_test"),
		.pmu_config = 32,
		.pmu_config1 = 0x10000000,
	};
}

/* Passes every sample over: no code lies at address 1. */
static struct pathprof_kmod_start passing_over(struct pathprof_kmod_start start)
{
	start.ip_min = 1;
	start.ip_max = 1;
	return start;
}

static int measure(struct reader *reader, struct pathprof_kmod_start start, uint64_t bare,
		   struct run *ret_run)
{
	struct pathprof_collector_stats before, after;
	struct run run = {0};
	int err = reader_stats(reader, &before);

	err = err ? err : reader_start(reader, &start);
	if (err) {
		printf("vmcost: start: %s\n", strerror(-err));
		return err;
	}
	run.insns = work() - bare;
	err = reader_stop(reader);
	err = err ? err : reader_stats(reader, &after);
	if (err)
		return err;
	run.samples = stats_since(&before, &after, PATHPROF_STAT_SAMPLES);
	run.bursts = stats_since(&before, &after, PATHPROF_STAT_BURSTS);
	run.traps = stats_since(&before, &after, PATHPROF_STAT_TRAPS);
	run.bytes = stats_since(&before, &after, PATHPROF_STAT_BYTES);
	run.records = stats_since(&before, &after, PATHPROF_STAT_RECORDS);
	run.drain_insns = tsc();
	reader_drain(reader, NULL, NULL);
	run.drain_insns = tsc() - run.drain_insns;
	*ret_run = run;
	return run.samples ? 0 : -ENODATA;
}

static uint64_t per(uint64_t value, uint64_t cnt)
{
	return cnt ? (value + cnt / 2) / cnt : 0;
}

/* Compressed where it arises; the bytes are those of the tables too, written out at the stop. */
static int table_chain(struct reader *reader, uint64_t bare, uint64_t tick, struct figures *figures)
{
	struct pathprof_kmod_start start = swlbr(32);
	struct run run;
	int err;

	start.mode = PATHPROF_MODE_CHAIN;
	err = measure(reader, start, bare, &run);
	if (err)
		return err;
	figures->burst_chained = per(run.insns - run.samples * tick, run.bursts);
	printf("# %-34s %10llu   %llu traps, %llu bytes (%llu bursts)\n",
	       "swlbr: 32 taken, compressed", (unsigned long long)figures->burst_chained,
	       (unsigned long long)per(run.traps, run.bursts),
	       (unsigned long long)per(run.bytes, run.bursts), (unsigned long long)run.bursts);
	return 0;
}

/* By instructions: what a burst costs follows from its horizon, whatever the work. */
static int table_horizon(struct reader *reader, uint64_t bare, uint64_t tick,
			 struct figures *figures)
{
	static const uint32_t horizons[] = {128, 512, 1024};

	for (size_t i = 0; i < sizeof(horizons) / sizeof(horizons[0]); i++) {
		struct pathprof_kmod_start start = swlbr(0);
		uint64_t insns;
		struct run run;
		int err;

		start.horizon = horizons[i];
		err = measure(reader, start, bare, &run);
		if (err)
			return err;
		insns = run.insns - run.samples * tick;
		figures->insn = per(insns, run.bursts * horizons[i]);
		printf("# swlbr: a horizon of %-4u               %8llu   %llu traps of %llu, %llu "
		       "bytes (%llu bursts)\n",
		       horizons[i], (unsigned long long)per(insns, run.bursts),
		       (unsigned long long)per(run.traps, run.bursts),
		       (unsigned long long)per(insns, run.traps),
		       (unsigned long long)per(run.bytes, run.records),
		       (unsigned long long)run.bursts);
	}
	return 0;
}

static int table_swlbr(struct reader *reader, uint64_t bare, struct figures *figures)
{
	static const uint32_t windows[] = {8, 16, 32, 64};
	struct run pass, run;
	uint64_t tick;
	int err = measure(reader, passing_over(swlbr(32)), bare, &pass);

	if (err)
		return err;
	tick = per(pass.insns, pass.samples);
	printf("# %-34s %10llu   (%llu samples)\n", "swlbr: a tick that is passed over",
	       (unsigned long long)tick, (unsigned long long)pass.samples);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		uint64_t bursts_insns;

		err = measure(reader, swlbr(windows[i]), bare, &run);
		if (err)
			return err;
		bursts_insns = run.insns - run.samples * tick;
		printf("# swlbr: a burst of %-2u taken           %10llu   %llu traps of %llu, %llu "
		       "bytes (%llu bursts)\n",
		       windows[i], (unsigned long long)per(bursts_insns, run.bursts),
		       (unsigned long long)per(run.traps, run.bursts),
		       (unsigned long long)per(bursts_insns, run.traps),
		       (unsigned long long)per(run.bytes, run.records),
		       (unsigned long long)run.bursts);
		if (windows[i] == 32) {
			figures->burst = per(bursts_insns, run.bursts);
			figures->trap = per(bursts_insns, run.traps);
		}
	}
	err = table_horizon(reader, bare, tick, figures);
	return err ? err : table_chain(reader, bare, tick, figures);
}

static int table_lbr(struct reader *reader, uint64_t bare, struct figures *figures)
{
	struct run pass, run;
	int err = measure(reader, passing_over(lbr()), bare, &pass);

	err = err ? err : measure(reader, lbr(), bare, &run);
	if (err)
		return err;
	figures->whole = per(run.insns, run.samples);
	figures->sample = figures->whole - per(pass.insns, pass.samples);
	printf("# %-34s %10llu   (%llu samples)\n", "lbr: timer and test PMU alone",
	       (unsigned long long)per(pass.insns, pass.samples), (unsigned long long)pass.samples);
	printf("# %-34s %10llu   %llu bytes\n", "lbr: our part, 32 entries, raw ring",
	       (unsigned long long)figures->sample,
	       (unsigned long long)per(run.bytes, run.records));
	printf("# %-34s %10llu\n", "lbr: the whole chain, kernel side",
	       (unsigned long long)figures->whole);
	printf("# %-34s %10llu\n", "reader, a record, checks included",
	       (unsigned long long)per(run.drain_insns, run.records));
	return 0;
}

/* Gives the test PMU the windows that it is to deliver. 0, -errno. */
static int give(const char *path)
{
	static unsigned char buffer[1 << 16];
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = open(TESTPMU_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC), err = 0;
	ssize_t len;

	if (from < 0 || to < 0)
		err = -errno;
	while (!err && (len = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)len) != len)
			err = errno ? -errno : -EIO;
	close(from);
	close(to);
	return err;
}

/* A session of real windows: what it takes over the work alone, the tables written out included. */
static int measure_dense(struct reader *reader, struct pathprof_kmod_start start, uint64_t bare,
			 struct run *ret_run)
{
	struct pathprof_collector_stats before, after;
	struct run run = {0};
	uint64_t begun;
	int err = reader_stats(reader, &before);

	start.period = DENSE_NS;
	start.pmu_config |= TESTPMU_GIVEN;
	err = err ? err : reader_start(reader, &start);
	if (err)
		return err;
	for (int i = 0; i < DENSE_RUNS; i++) {
		run.insns += work() - bare;
		reader_drain(reader, NULL, NULL);
	}
	begun = tsc();
	ioctl(reader->fd, PATHPROF_IOC_DRAIN);
	run.drain_insns = tsc() - begun;
	err = reader_stop(reader);
	err = err ? err : reader_stats(reader, &after);
	if (err)
		return err;
	reader_drain(reader, NULL, NULL);
	run.samples = stats_since(&before, &after, PATHPROF_STAT_SAMPLES);
	run.bytes = stats_since(&before, &after, PATHPROF_STAT_BYTES);
	*ret_run = run;
	return run.samples ? 0 : -ENODATA;
}

/* Real windows, whole and through the chain. */
static int table_windows(struct reader *reader, uint64_t bare, const char *path,
			 struct figures *figures)
{
	struct pathprof_kmod_start start = lbr();
	struct run pass, raw, chain;
	uint64_t idle, cost;
	int err = give(path);

	err = err ? err : measure_dense(reader, passing_over(start), bare, &pass);
	err = err ? err : measure_dense(reader, start, bare, &raw);
	start.mode = PATHPROF_MODE_CHAIN;
	err = err ? err : measure_dense(reader, start, bare, &chain);
	if (err)
		return err;
	idle = per(pass.insns, pass.samples);
	cost = per(chain.insns + chain.drain_insns, chain.samples) - idle;
	printf("# lbr: %-27s %10llu   raw %llu; of it DRAIN %llu; %llu bytes, raw %llu (%llu "
	       "samples)\n",
	       path, (unsigned long long)cost,
	       (unsigned long long)(per(raw.insns, raw.samples) - idle),
	       (unsigned long long)per(chain.drain_insns, chain.samples),
	       (unsigned long long)per(chain.bytes, chain.samples),
	       (unsigned long long)per(raw.bytes, raw.samples), (unsigned long long)chain.samples);
	if (cost > figures->most_chained)
		figures->most_chained = cost;
	return 0;
}

/* perf's own ring at the same PMU; its record's size and cost. */
static int table_raw(uint64_t bare)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)pmu_type("pathprof_test"),
		.size = sizeof(attr),
		.config = 32,
		.config1 = 0x10000000,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	uint64_t delivered = module_number("testpmu", "delivered");
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	const struct perf_event_mmap_page *page;
	uint64_t insns;

	if (fd < 0)
		return -errno;
	page = mmap(NULL, (RAW_PAGES + 1) * 4096ul, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	insns = work() - bare;
	delivered = module_number("testpmu", "delivered") - delivered;
	printf("# %-34s %10llu   %llu bytes (%llu samples)\n", "perf's ring, the whole chain",
	       (unsigned long long)per(insns, delivered),
	       (unsigned long long)per(page->data_head, delivered), (unsigned long long)delivered);
	munmap((void *)(uintptr_t)page, (RAW_PAGES + 1) * 4096ul);
	close(fd);
	return delivered ? 0 : -ENODATA;
}

static void table_overhead(const char *what, uint64_t insns)
{
	printf("# %-34s", what);
	for (uint64_t giga = 1; giga <= 3; giga += 2)
		for (uint64_t hz = 100; hz <= 1000; hz *= 10)
			printf("  %6.3f %%", (double)(insns * hz) / (double)(giga * 10000000ull));
	printf("\n");
}

static void print_figures(const struct figures *f)
{
	printf("# overhead a CPU                       100 Hz    1000 Hz    100 Hz    1000 Hz\n");
	printf("#                                      at 10^9 a second      at 3*10^9\n");
	table_overhead("swlbr, bursts of 32", f->burst);
	table_overhead("swlbr, compressed", f->burst_chained);
	table_overhead("lbr, our part", f->sample);
	table_overhead("lbr, our part, compressed", f->most_chained);
	table_overhead("lbr, the whole chain", f->whole);
	printf("burst_of_32 %llu compressed %llu trap %llu horizon_insn %llu lbr_sample %llu "
	       "compressed %llu\n",
	       (unsigned long long)f->burst, (unsigned long long)f->burst_chained,
	       (unsigned long long)f->trap, (unsigned long long)f->insn,
	       (unsigned long long)f->sample, (unsigned long long)f->most_chained);
}

static bool are_within_limits(const struct figures *f)
{
	return f->burst && f->burst <= BURST_LIMIT && f->burst_chained <= CHAINED_LIMIT &&
	       f->insn && f->insn <= HORIZON_LIMIT && f->sample && f->sample <= LBR_LIMIT &&
	       f->most_chained <= LBR_LIMIT;
}

static int tables(struct reader *reader, char *const *paths, int path_cnt)
{
	struct figures figures = {0};
	uint64_t bare;
	int err;

	work();
	bare = work();
	printf("# instructions                                (counter: %llu in 2,000,000; work "
	       "%llu)\n",
	       (unsigned long long)calibrate(), (unsigned long long)bare);
	err = table_swlbr(reader, bare, &figures);
	err = err ? err : table_lbr(reader, bare, &figures);
	for (int i = 0; i < path_cnt && !err; i++)
		err = table_windows(reader, bare, paths[i], &figures);
	err = err ? err : table_raw(bare);
	if (err) {
		printf("vmcost: %s\n", strerror(-err));
		return 1;
	}
	print_figures(&figures);
	return !are_within_limits(&figures);
}

int main(int argc, char **argv)
{
	static struct reader reader;
	int err = reader_open(&reader);

	if (err) {
		printf("vmcost: %s\n", strerror(-err));
		return 1;
	}
	err = tables(&reader, argv + 1, argc - 1);
	reader_close(&reader);
	return err || reader.bad;
}
