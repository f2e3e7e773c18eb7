// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The transport at its edges, one named test a run:
 *
 *     vmring one_reader   a second open is refused, as is one without the right
 *            overflow     nobody reads: what is lost is counted to the record
 *            wakeup       a reader that sleeps in poll is woken
 *            full         also where only a full ring wakes it
 *            killed       a reader that is killed leaves nothing behind
 *            tail         a reader that writes nonsense harms itself only
 *
 * Records come from the test PMU. Workload: a second each. Exit status 0: as it should be.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../testpmu/testpmu.h"
#include "common.h"
#include "reader.h"

#define NOBODY      65534
#define DEADLINE_MS 5000

static uint64_t bad;

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition) && bad++ < 10)                                                    \
			fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno);  \
	} while (0)

static int start_lbr(struct reader *reader, uint32_t period_ns)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_LBR,
		.mode = PATHPROF_MODE_RAW,
		.period = period_ns,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pmu_type = (uint32_t)pmu_type("pathprof_test"),
		.pmu_config = 32,
		.pmu_config1 = 0x10000000,
	};

	return reader_start(reader, &start);
}

/* Burns a millisecond or so of user time, for samples to fall into. */
static void burn(void)
{
	for (volatile uint64_t i = 0; i < 200000; i++)
		;
}

static int open_as_nobody(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(0);
		_exit(open(PATHPROF_KMOD_DEVICE, O_RDWR) < 0 ? errno : 0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void one_reader(struct reader *reader)
{
	EXPECT(open(PATHPROF_KMOD_DEVICE, O_RDWR) < 0 && errno == EBUSY);
	reader_close(reader);
	EXPECT(open_as_nobody() == EACCES);
	EXPECT(!chmod(PATHPROF_KMOD_DEVICE, 0666));
	EXPECT(open_as_nobody() == EPERM);
	EXPECT(!chmod(PATHPROF_KMOD_DEVICE, 0600));
	EXPECT(!reader_open(reader));
	printf("refused, and free again\n");
}

static uint64_t lost_by_seq(const struct reader *reader)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		sum += reader->rings[cpu].missing;
	return sum;
}

/* Until every ring has shown a record past its gap, or the deadline. */
static void read_past_gaps(struct reader *reader)
{
	uint64_t lost = reader_lost(reader);

	EXPECT(!start_lbr(reader, 200000));
	for (int ms = 0; lost_by_seq(reader) < lost && ms < DEADLINE_MS; ms++) {
		burn();
		reader_drain(reader, NULL, NULL);
	}
	EXPECT(!reader_stop(reader));
	reader_drain(reader, NULL, NULL);
}

/* Only where user code runs are there samples: the ring that lost must be the one that goes on. */
static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	EXPECT(!sched_setaffinity(0, sizeof(set), &set));
}

static void overflow(struct reader *reader)
{
	struct pathprof_collector_stats before, after;
	uint64_t written, lost;

	stay_here();
	EXPECT(!reader_stats(reader, &before));
	EXPECT(!start_lbr(reader, 20000));
	for (int ms = 0; reader_lost(reader) < 1000 && ms < 8 * DEADLINE_MS; ms++)
		burn();
	EXPECT(!reader_stop(reader));
	EXPECT(!reader_stats(reader, &after));
	written = stats_since(&before, &after, PATHPROF_STAT_RECORDS);
	lost = reader_lost(reader);
	EXPECT(lost >= 1000);
	EXPECT(lost == stats_since(&before, &after, PATHPROF_STAT_LOST_FULL) +
			       stats_since(&before, &after, PATHPROF_STAT_LOST_NESTED));
	reader_drain(reader, NULL, NULL);
	EXPECT(reader_received(reader) == written);
	EXPECT(lost_by_seq(reader) == 0);
	read_past_gaps(reader);
	EXPECT(lost_by_seq(reader) == reader_lost(reader));
	printf("%llu kept, %llu lost, %llu missing by number\n", (unsigned long long)written,
	       (unsigned long long)lost, (unsigned long long)lost_by_seq(reader));
}

static uint64_t wakeups(const struct reader *reader)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		if (reader->rings[cpu].producer)
			sum += reader->rings[cpu].producer->wakeup_cnt;
	return sum;
}

static void wakeup(struct reader *reader)
{
	struct pollfd poll_fd = {.fd = reader->fd, .events = POLLIN};
	pid_t pid = fork();
	int woken = 0;

	if (pid == 0)
		for (;;)
			burn();
	EXPECT(!start_lbr(reader, 20000));
	/* An emulator beside other work may take longer than one deadline. */
	for (int i = 0; woken < 3 && i < 60; i++) {
		woken += poll(&poll_fd, 1, DEADLINE_MS) == 1 && poll_fd.revents & POLLIN;
		reader_drain(reader, NULL, NULL);
	}
	EXPECT(!reader_stop(reader));
	EXPECT(pid > 0 && !kill(pid, SIGKILL));
	waitpid(pid, NULL, 0);
	EXPECT(woken == 3);
	EXPECT(wakeups(reader) > 0);
	printf("woken %d times, %llu wake-ups\n", woken, (unsigned long long)wakeups(reader));
}

static void set_wakeup_percent(unsigned int percent)
{
	FILE *file = fopen("/sys/module/pathprof/parameters/wakeup_percent", "we");

	EXPECT(file && fprintf(file, "%u", percent) > 0);
	EXPECT(file && !fclose(file));
}

/* Records do not end just where the ring does, so that all of it is never to be read. */
static void full(struct reader *reader)
{
	reader_close(reader);
	set_wakeup_percent(100);
	EXPECT(!reader_open(reader));
	wakeup(reader);
	set_wakeup_percent(25);
}

/* Takes the descriptor's role over in a child, which dies with everything in use. */
static void die_reading(void)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_RAW,
		.period = PATHPROF_PERIOD_MIN_NS,
		.window = 32,
		.budget_ppm = PATHPROF_BUDGET_MAX,
	};
	struct reader reader;
	pid_t pid = fork();

	if (pid == 0) {
		if (reader_open(&reader) || reader_start(&reader, &start))
			_exit(1);
		for (int i = 0; i < 50; i++)
			burn();
		kill(getpid(), SIGKILL);
	}
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void killed(struct reader *reader)
{
	struct pathprof_collector_stats before, after;
	unsigned int area_cnt;

	reader_close(reader);
	area_cnt = module_areas();
	for (int i = 0; i < 5; i++) {
		die_reading();
		EXPECT(module_areas() == area_cnt);
	}
	EXPECT(!reader_open(reader));
	EXPECT(module_areas() > area_cnt); /* the count can see them */
	EXPECT(!reader_stats(reader, &before));
	for (int i = 0; i < 50; i++)
		burn();
	EXPECT(!reader_stats(reader, &after));
	EXPECT(!memcmp(&before, &after, sizeof(before)));
	EXPECT(reader->rings[0].producer->head == 0);
	printf("5 readers killed, %u areas before and after, %llu bursts\n", area_cnt,
	       (unsigned long long)after.value[PATHPROF_STAT_BURSTS]);
}

static void tail(struct reader *reader)
{
	uint64_t x = 88172645463325252ull;
	size_t len_bytes = PATHPROF_RING_PAGE + reader->info.ring_bytes;
	void *producer = (void *)(uintptr_t)reader->rings[0].producer;

	EXPECT(mprotect(producer, len_bytes, PROT_READ | PROT_WRITE) && errno == EACCES);
	EXPECT(!start_lbr(reader, 20000));
	for (int i = 0; i < 300000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__atomic_store_n(&reader->rings[i & 1].consumer->tail, i & 2 ? x : x >> 40,
				 __ATOMIC_RELAXED);
	}
	EXPECT(!reader_stop(reader));
	reader_close(reader);
	EXPECT(!reader_open(reader));
	EXPECT(!start_lbr(reader, 100000));
	for (int ms = 0; reader_received(reader) < 200 && ms < DEADLINE_MS; ms++) {
		burn();
		reader_drain(reader, NULL, NULL);
	}
	EXPECT(!reader_stop(reader));
	EXPECT(reader_received(reader) >= 200 && !lost_by_seq(reader));
	printf("survived, and %llu records after\n", (unsigned long long)reader_received(reader));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct reader *reader);
	} tests[] = {{"one_reader", one_reader}, {"overflow", overflow},
		     {"wakeup", wakeup},         {"full", full},
		     {"killed", killed},         {"tail", tail}};
	static struct reader reader;
	bool found = false;

	EXPECT(!reader_open(&reader));
	for (size_t i = 0; !bad && i < sizeof(tests) / sizeof(tests[0]); i++)
		if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
			found = true;
			tests[i].run(&reader);
		}
	reader_close(&reader);
	return bad || reader.bad || !found;
}
