// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether every stack that the test PMU makes comes out of the module's lbr source as it went in:
 * order, addresses, cycles, kind, prediction; none twice, none missing without being counted.
 *
 *     vmlbr ENTRIES timer|nmi|dirty
 *
 * Workload: a second of samples, one CPU's in ascending order of branch number (testpmu.c tells
 * what a branch of a number looks like). Exit status 0: exact.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "common.h"
#include "reader.h"
#include "../testpmu/testpmu.h"

#define BASE        0x10000000ull
#define RUN_MS      1000
#define WAIT_MAX_MS 60000 /* a busy machine takes longer until enough came */
#define ENOUGH      100
#define PERIOD_NS   1000000u

struct lbr_check {
	struct reader *reader;
	uint32_t entries;
	bool dirty;
	uint64_t samples, branches, dropped;
	uint64_t expected[READER_RING_MAX]; /* branch number that comes next, at least */
};

static bool entry_is(const struct pathprof_lbr_entry *entry, uint64_t number)
{
	uint64_t from = BASE + number * TESTPMU_BRANCH_BYTES;
	bool mispredicted = number % 7 == 0;
	uint32_t kind = number % 3 ? PERF_BR_UNCOND : PERF_BR_COND;

	return PATHPROF_LBR_ADDRESS(entry->from) == from &&
	       PATHPROF_LBR_ADDRESS(entry->to) == from + TESTPMU_BRANCH_LEAP &&
	       PATHPROF_LBR_CYCLES(entry->from) == number % 100 + 1 &&
	       PATHPROF_LBR_KIND(entry->to) == kind &&
	       !!(entry->to & PATHPROF_LBR_MISPREDICTED) == mispredicted &&
	       !!(entry->to & PATHPROF_LBR_PREDICTED) == !mispredicted;
}

/*
 * A spoiled stack of n lacks its oldest entry (zeroed) and its second newest, which was overwritten
 * by a copy of the newest: what is left are the numbers 1 to n - 3 and n - 1.
 */
static uint64_t number_of(const struct lbr_check *check, uint64_t first, uint32_t i)
{
	if (!check->dirty)
		return first + i;
	return first + 1 + i + (i + 3 == check->entries);
}

static void check_sample(struct lbr_check *check, const struct pathprof_record *record)
{
	const struct pathprof_lbr *lbr = (const void *)(record + 1);
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);
	uint32_t kept = check->entries - (check->dirty ? 2 : 0);
	uint64_t *expected = &check->expected[record->cpu % READER_RING_MAX];
	uint64_t first;

	if (lbr->branch_cnt != kept || lbr->dropped != check->entries - kept ||
	    record->size_bytes != sizeof(*record) + sizeof(*lbr) + kept * sizeof(*entries)) {
		reader_complain(check->reader, "shape of a sample", lbr->branch_cnt);
		return;
	}
	first = (PATHPROF_LBR_ADDRESS(entries[0].from) - BASE) / TESTPMU_BRANCH_BYTES -
		check->dirty;
	if (first % check->entries || first < *expected)
		reader_complain(check->reader, "first branch of a sample", first);
	for (uint32_t i = 0; i < kept; i++)
		if (!entry_is(&entries[i], number_of(check, first, i)))
			reader_complain(check->reader, "branch", number_of(check, first, i));
	*expected = first + check->entries;
	check->samples++;
	check->branches += kept;
	check->dropped += lbr->dropped;
}

static void take(void *context, const struct pathprof_record *record)
{
	struct lbr_check *check = context;

	if (record->type != PATHPROF_RECORD_LBR)
		reader_complain(check->reader, "not a sample", record->type);
	else
		check_sample(check, record);
}

/* One child a CPU runs user code, for the samples to interrupt. */
static void spin_children(pid_t *pids, long cnt)
{
	for (long i = 0; i < cnt; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			for (volatile uint64_t x = 0;; x++)
				;
	}
}

static void collect(struct reader *reader, struct lbr_check *check)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t begin_ms = now_ms();
	pid_t pids[READER_RING_MAX];

	spin_children(pids, cpu_cnt);
	while (now_ms() < begin_ms + (check->samples < ENOUGH ? WAIT_MAX_MS : RUN_MS)) {
		reader_wait(reader, 20);
		reader_drain(reader, take, check);
	}
	for (long i = 0; i < cpu_cnt; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	for (long i = 0; i < cpu_cnt; i++)
		waitpid(pids[i], NULL, 0);
	if (reader_stop(reader))
		reader_complain(reader, "stop", (uint64_t)errno);
	reader_drain(reader, take, check);
}

/* Handed over = written + lost + passed over, each with its counter. */
static void balance(struct reader *reader, const struct lbr_check *check,
		    const struct pathprof_collector_stats *before,
		    const struct pathprof_collector_stats *after, uint64_t delivered)
{
	uint64_t accounted = check->samples + reader_lost(reader);

	for (unsigned int i = PATHPROF_STAT_SKIP_KERNEL; i <= PATHPROF_STAT_SKIP_CEILING; i++)
		accounted += stats_since(before, after, i);
	if (stats_since(before, after, PATHPROF_STAT_SAMPLES) != delivered)
		reader_complain(reader, "handler calls, not as delivered", delivered);
	if (accounted != delivered)
		reader_complain(reader, "samples accounted for, not as delivered", accounted);
	if (check->dirty &&
	    stats_since(before, after, PATHPROF_STAT_LBR_ZERO) +
			    stats_since(before, after, PATHPROF_STAT_LBR_DUPLICATE) <
		    check->dropped)
		reader_complain(reader, "dropped entries without a counter", check->dropped);
}

static int run(struct reader *reader, struct lbr_check *check, uint64_t config, bool nmi)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_LBR,
		.mode = PATHPROF_MODE_RAW,
		.period = PERIOD_NS,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pmu_type = (uint32_t)pmu_type("pathprof_test"),
		.pmu_config = config,
		.pmu_config1 = BASE,
	};
	uint64_t delivered = module_number("testpmu", "delivered");
	struct pathprof_collector_stats before, after;
	int err = reader_stats(reader, &before);

	err = err ? err : reader_start(reader, &start);
	if (err) {
		fprintf(stderr, "vmlbr: start: %s\n", strerror(-err));
		return 1;
	}
	collect(reader, check);
	reader_stats(reader, &after);
	delivered = module_number("testpmu", "delivered") - delivered;
	balance(reader, check, &before, &after, delivered);
	printf("samples %llu of %llu branches %llu dropped %llu in_nmi %llu lost %llu bad %llu\n",
	       (unsigned long long)check->samples, (unsigned long long)delivered,
	       (unsigned long long)check->branches, (unsigned long long)check->dropped,
	       (unsigned long long)stats_since(&before, &after, PATHPROF_STAT_NMI),
	       (unsigned long long)reader_lost(reader), (unsigned long long)reader->bad);
	return reader->bad || check->samples < ENOUGH ||
	       (nmi && stats_since(&before, &after, PATHPROF_STAT_NMI) < ENOUGH);
}

int main(int argc, char **argv)
{
	static struct reader reader;
	static struct lbr_check check;
	const char *how = argc == 3 ? argv[2] : "timer";
	uint64_t config;
	int err;

	check.reader = &reader;
	check.entries = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 32;
	check.dirty = !strcmp(how, "dirty");
	config = check.entries | (strcmp(how, "nmi") ? 0 : TESTPMU_NMI_PAIR) |
		 (check.dirty ? TESTPMU_DIRTY : 0);
	err = reader_open(&reader);
	if (err) {
		fprintf(stderr, "vmlbr: %s\n", strerror(-err));
		return 1;
	}
	err = run(&reader, &check, config, !strcmp(how, "nmi"));
	reader_close(&reader);
	return err;
}
