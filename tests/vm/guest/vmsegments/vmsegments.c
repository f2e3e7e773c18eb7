// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chain for hardware windows, on windows of real programs that the test PMU delivers (FILE: as
 * tests/tools/cut_windows writes it).
 *
 *     vmsegments check FILE SPEC SAMPLES OVERLAP
 *     vmsegments bytes FILE SAMPLES TIMES
 *     vmsegments drain FILE MILLISECONDS
 *     vmsegments offline FILE SAMPLES
 *
 * `check`: same windows, same bits. Takes windows together with the module's output, repeats it
 * with the same core, and compares each PATH, TUPLE and DEFINE, with one DRAIN in the middle. The
 * profiles of segments by the PATH records and by the windows must have an overlap of OVERLAP at
 * least. SPEC is default, small, lfu, tagged, cycles, mispredict, calls, dirty or nmi. `bytes`:
 * what a sample takes in the ring, with all that comes there until the stop, is to be TIMES less
 * than in perf's own. `drain`: DRAIN again and again while NMIs bring windows. `offline`: the CPU
 * of the windows is taken away, and what its tables hold is in its ring at once.
 *
 * Watches a child of its own, so that every ring knows one address space only and its number is 1.
 * As a control of `check` the first windows are changed, and the comparison must fail.
 *
 * Workload: some thousand windows. One thread; a twin of the module's tables for every CPU.
 */
#include <sys/ioctl.h>

#include "../../testpmu/testpmu.h"
#include "../common.h"
#include "vmsegments.h"

#define KEEP_BYTES      (32u << 20)
#define RAW_BYTES       795 /* of a sample with 32 entries in perf's own ring */
#define DRAIN_PERIOD_NS 30000u
#define DRAINS_MIN      50
#define EXACT           1e-9 /* of a share: sums of doubles */

/*
 * The counts of all PATH records are off by what the tables' strata (pp_hpt.h) run ahead or behind
 * since they began, and by nothing else. One stratum through which m counts came does so, for
 * phases at random, with a variance of r (16 - r), where r is what m leaves divided by 16: at most
 * 64, and at most 16 m. Four standard deviations of the sum are let pass. LFU has no strata. By
 * cycles a count stands for 32, and each segment is rounded to such, by 16 at the most in the
 * standard deviation.
 */
static bool is_off(const struct check *check, double truth, double told, double segments)
{
	double unit = (double)(1u << count_shift(check)), strata = PP_HPT_STRATA;
	double most = (double)PP_HPT_RATE * PP_HPT_RATE / 4 * strata *
		      (double)sysconf(_SC_NPROCESSORS_CONF);
	double variance = PP_HPT_RATE * truth / unit;

	if (variance > most)
		variance = most;
	if (check->config.hpt.policy != PP_HPT_TAIL)
		variance = 0;
	variance *= unit * unit;
	if (unit > 1)
		variance += unit * unit / 4 * segments;
	return !((told - truth) * (told - truth) <= 16 * variance);
}

static int trouble(int err)
{
	fprintf(stderr, "vmsegments: %s\n", err ? strerror(-err) : "no windows");
	return 1;
}

static uint64_t lines_seen(const struct check *check)
{
	uint64_t cnt = 0;

	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++)
		cnt += side_cnt(&check->twins[cpu].seen);
	return cnt;
}

static int run_check(struct check *check, const char *spec, uint64_t samples, double overlap)
{
	struct totals totals;
	uint64_t lines, wrong, control;
	int err = collect(check, samples);

	if (err || !check->windows)
		return trouble(err);
	lines = lines_seen(check);
	wrong = replay(check, 1);
	totals = keys_totals(&check->profile);
	falsify(check);
	control = replay(check, 0);
	printf("%s: windows %llu cuts %llu lines %llu differ %llu, with some falsified %llu; "
	       "counts %.4f of what ran, overlap %.4f\n",
	       spec, (unsigned long long)check->windows, (unsigned long long)check->cuts,
	       (unsigned long long)lines, (unsigned long long)wrong, (unsigned long long)control,
	       totals.told / totals.truth, totals.overlap);
	return wrong || !control || !lines || check->windows < samples || !check->contexts ||
	       check->reader->bad || reader_lost(check->reader) ||
	       is_off(check, totals.truth, totals.told, (double)check->segments) ||
	       !(totals.overlap >= overlap - EXACT) || (!check->cuts && !strcmp(spec, "dirty"));
}

static uint64_t ring_bytes(const struct reader *reader)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		if (reader->rings[cpu].producer)
			sum += reader->rings[cpu].producer->head;
	return sum;
}

/* In a session that only counts, compares the counts of PATH records with the segments met. */
static bool counts_are_off(const struct check *check, uint64_t told, uint64_t segments)
{
	return is_off(check, (double)segments, (double)told, (double)segments);
}

static int run_bytes(struct check *check, uint64_t samples, uint64_t times)
{
	struct pathprof_collector_stats after;
	uint64_t bytes, windows, segments;
	int err;

	memset(&check->start.chain, 0, sizeof(check->start.chain));
	check->start.mode = PATHPROF_MODE_CHAIN;
	err = collect(check, samples);
	if (err)
		return trouble(err);
	reader_stats(check->reader, &after);
	bytes = ring_bytes(check->reader);
	windows = stats_since(&check->before, &after, PATHPROF_STAT_WINDOWS);
	segments = stats_since(&check->before, &after, PATHPROF_STAT_SEGMENTS);
	printf("samples %llu bytes a sample %.2f (perf's own %d, %.0f times): PATH %.2f DEFINE "
	       "%.2f TUPLE %.2f; segments a sample %.1f, counts %.3f of them; DEFINEs %llu\n",
	       (unsigned long long)windows, (double)bytes / (double)windows, RAW_BYTES,
	       RAW_BYTES * (double)windows / (double)bytes,
	       (double)check->bytes[PATHPROF_RECORD_PATH] / (double)windows,
	       (double)check->bytes[PATHPROF_RECORD_DEFINE] / (double)windows,
	       (double)check->bytes[PATHPROF_RECORD_TUPLE] / (double)windows,
	       (double)segments / (double)windows, (double)check->path_sum / (double)segments,
	       (unsigned long long)check->records[PATHPROF_RECORD_DEFINE]);
	return bytes * times > RAW_BYTES * windows || windows < samples || check->reader->bad ||
	       reader_lost(check->reader) || counts_are_off(check, check->path_sum, segments);
}

/* Every sample was taken, left out because of a DRAIN, or for a reason that has a counter. */
static void balance(struct check *check, const struct pathprof_collector_stats *after)
{
	const struct pathprof_collector_stats *before = &check->before;
	uint64_t accounted = stats_since(before, after, PATHPROF_STAT_WINDOWS) +
			     stats_since(before, after, PATHPROF_STAT_LOST_BUSY);

	for (unsigned int i = PATHPROF_STAT_SKIP_KERNEL; i <= PATHPROF_STAT_SKIP_CEILING; i++)
		accounted += stats_since(before, after, i);
	if (accounted != stats_since(before, after, PATHPROF_STAT_SAMPLES))
		reader_complain(check->reader, "samples accounted for", accounted);
}

static int run_drain(struct check *check, uint64_t ms)
{
	struct pathprof_collector_stats after;
	uint64_t end_ms, drains = 0, segments;
	pid_t pid = start_child(false);
	int err;

	check->start.mode = PATHPROF_MODE_CHAIN;
	check->start.pmu_config |= TESTPMU_NMI_PAIR | TESTPMU_ANYWHERE;
	check->start.period = DRAIN_PERIOD_NS;
	check->start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &check->start);
	for (end_ms = now_ms() + ms; !err && (now_ms() < end_ms || drains < DRAINS_MIN); drains++) {
		err = ioctl(check->reader->fd, PATHPROF_IOC_DRAIN) ? -errno : 0;
		reader_drain(check->reader, take, check);
		usleep(500);
	}
	err = err ? err : reader_stop(check->reader);
	end_child(pid);
	reader_drain(check->reader, take, check);
	reader_stats(check->reader, &after);
	if (err)
		return trouble(err);
	balance(check, &after);
	segments = stats_since(&check->before, &after, PATHPROF_STAT_SEGMENTS);
	printf("drains %llu windows %llu in_nmi %llu busy %llu; counts %.3f of %llu segments\n",
	       (unsigned long long)drains,
	       (unsigned long long)stats_since(&check->before, &after, PATHPROF_STAT_WINDOWS),
	       (unsigned long long)stats_since(&check->before, &after, PATHPROF_STAT_NMI),
	       (unsigned long long)stats_since(&check->before, &after, PATHPROF_STAT_LOST_BUSY),
	       (double)check->path_sum / (double)segments, (unsigned long long)segments);
	return check->reader->bad || !segments || reader_lost(check->reader) ||
	       counts_are_off(check, check->path_sum, segments);
}

/* The second CPU comes or goes. 0, -errno. */
static int put_cpu(const char *online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0 || write(fd, online, 1) != 1)
		err = -errno;
	close(fd);
	return err;
}

static int run_offline(struct check *check, uint64_t samples)
{
	struct pathprof_collector_stats after;
	pid_t pid = start_child(false);
	uint64_t segments, told;
	int err;

	check->start.mode = PATHPROF_MODE_CHAIN;
	check->start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &check->start);
	if (!err)
		err = collect_upto(check, pid, samples);
	end_child(pid);
	if (!err)
		err = put_cpu("0");
	reader_drain(check->reader, take, check);
	reader_stats(check->reader, &after);
	told = check->path_sum;
	err = err ? err : put_cpu("1");
	err = err ? err : reader_stop(check->reader);
	reader_drain(check->reader, take, check);
	if (err)
		return trouble(err);
	segments = stats_since(&check->before, &after, PATHPROF_STAT_SEGMENTS);
	printf("counts %.3f of %llu segments when the CPU was gone, %llu more at the stop\n",
	       (double)told / (double)segments, (unsigned long long)segments,
	       (unsigned long long)(check->path_sum - told));
	return check->reader->bad || reader_lost(check->reader) || check->path_sum != told ||
	       counts_are_off(check, told, segments);
}

static int run(struct check *check, int argc, char **argv)
{
	bool checks = argc == 6 && !strcmp(argv[1], "check");
	const char *spec = checks ? argv[3] : "default";
	int err = specify(&check->start, spec);
	uint64_t samples = checks ? strtoull(argv[4], NULL, 10) : 0;

	reader_stats(check->reader, &check->before);
	err = err ? err : give(argv[2], checks ? 2 * samples : UINT64_MAX);
	if (err) {
		fprintf(stderr, "vmsegments: %s: %s\n", argv[2], strerror(-err));
		return 1;
	}
	twin_config(&check->start.chain, &check->config);
	if (checks)
		return run_check(check, spec, samples, strtod(argv[5], NULL));
	if (argc == 5 && !strcmp(argv[1], "bytes"))
		return run_bytes(check, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "drain"))
		return run_drain(check, strtoull(argv[3], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "offline"))
		return run_offline(check, strtoull(argv[3], NULL, 10));
	return 2;
}

int main(int argc, char **argv)
{
	static unsigned char kept[KEEP_BYTES];
	static struct twin twins[TWIN_CPU_MAX];
	static struct reader reader;
	struct check check = {.reader = &reader, .twins = twins, .kept = {kept, 0, sizeof(kept)}};
	int err = argc < 4 ? -EINVAL : reader_open(&reader);

	if (err || sysconf(_SC_NPROCESSORS_CONF) > TWIN_CPU_MAX) {
		fprintf(stderr, "vmsegments: %s\n", strerror(err ? -err : E2BIG));
		return 1;
	}
	err = run(&check, argc, argv);
	reader_close(&reader);
	return err;
}
