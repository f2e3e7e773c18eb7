// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rare events for the module: a CPU that goes and comes back under a session, a session of one
 * control group, a program of 32 bits, a budget that changes under a session, a machine with room
 * for more CPUs than it has.
 *
 *     vmcorner hotplug swlbr|lbr ROUNDS
 *     vmcorner cgroup swlbr|lbr DIRECTORY     (of a mounted cgroup2)
 *     vmcorner compat PROGRAM                 (32 bits, runs for ever)
 *     vmcorner budget swlbr|lbr
 *     vmcorner plugged
 *
 * Workload: a few hundred records each. Nothing is decided by how long something took: what must
 * come is waited for, up to a limit at which the machine must be broken. Exit status 0: as
 * promised; one line of counts on standard output.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../testpmu/testpmu.h"
#include "common.h"
#include "reader.h"

#define WAIT_MAX_MS  60000
#define SPINNER_CNT  3
#define RECORDS      20 /* enough to be sure that they come */
#define PERIOD_NS    1000000
#define SECOND_CPU   1
#define ONLINE       "/sys/devices/system/cpu/cpu1/online"
#define TEST_PMU     "pathprof_test"
#define COMPAT_SKIPS 50

struct shared {
	uint64_t rounds[SPINNER_CNT], wrong;
};

struct corner {
	struct reader reader;
	struct shared *shared;
	struct pathprof_collector_stats before;
	uint64_t received_before;
	pid_t pids[SPINNER_CNT];
	uint64_t seen[SPINNER_CNT]; /* records of each */
	uint64_t others;            /* records of anybody else */
};

/* For ever. */
static void spin(struct shared *shared, int i)
{
	uint64_t expected = compute((uint64_t)i + 1);

	for (;;) {
		__atomic_fetch_add(&shared->rounds[i], 1, __ATOMIC_RELAXED);
		if (compute((uint64_t)i + 1) != expected)
			__atomic_fetch_add(&shared->wrong, 1, __ATOMIC_RELAXED);
	}
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, text, strlen(text));
	close(fd);
	return written < 0 ? -errno : 0;
}

static void start_spinners(struct corner *corner)
{
	for (int i = 0; i < SPINNER_CNT; i++) {
		corner->pids[i] = fork();
		if (corner->pids[i] == 0)
			spin(corner->shared, i);
	}
}

static void stop_spinners(struct corner *corner)
{
	int status;

	for (int i = 0; i < SPINNER_CNT; i++) {
		if (corner->pids[i] <= 0)
			continue;
		if (waitpid(corner->pids[i], &status, WNOHANG))
			reader_complain(&corner->reader, "a program ended by itself", (uint64_t)i);
		kill(corner->pids[i], SIGKILL);
		waitpid(corner->pids[i], &status, 0);
		corner->pids[i] = 0;
	}
	if (corner->shared->wrong)
		reader_complain(&corner->reader, "wrong results", corner->shared->wrong);
}

static void take(void *context, const struct pathprof_record *record)
{
	const struct pathprof_burst *burst = (const void *)(record + 1);
	const struct pathprof_lbr *lbr = (const void *)(record + 1);
	uint32_t pid = record->type == PATHPROF_RECORD_LBR ? lbr->pid : burst->pid;
	struct corner *corner = context;

	if (record->type != PATHPROF_RECORD_LBR && record->type != PATHPROF_RECORD_BURST)
		reader_complain(&corner->reader, "type of a record", record->type);
	for (int i = 0; i < SPINNER_CNT; i++)
		if ((pid_t)pid == corner->pids[i]) {
			corner->seen[i]++;
			return;
		}
	corner->others++;
}

static int start_session(struct corner *corner, bool lbr, uint64_t cgroup, uint32_t pid)
{
	struct pathprof_kmod_start start = {
		.source = lbr ? PATHPROF_SOURCE_LBR : PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_RAW,
		.period = PERIOD_NS,
		.window = lbr ? 0 : 8,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pmu_type = lbr ? (uint32_t)pmu_type(TEST_PMU) : 0,
		.pmu_config = lbr ? 32 : 0,
		.pmu_config1 = lbr ? 0x10000000 : 0,
		.cgroup = cgroup,
		.pid = pid,
	};
	int err = reader_stats(&corner->reader, &corner->before);

	corner->received_before = reader_received(&corner->reader);
	err = err ? err : reader_start(&corner->reader, &start);
	if (err)
		reader_complain(&corner->reader, "start", (uint64_t)-err);
	return err;
}

/* Every record that got a number was found, or is counted as lost. */
static void stop_session(struct corner *corner)
{
	struct pathprof_collector_stats after = {0};
	uint64_t records;

	if (reader_stop(&corner->reader) || reader_stats(&corner->reader, &after))
		reader_complain(&corner->reader, "stop", (uint64_t)errno);
	reader_drain(&corner->reader, take, corner);
	records = stats_since(&corner->before, &after, PATHPROF_STAT_RECORDS);
	if (records != reader_received(&corner->reader) - corner->received_before)
		reader_complain(&corner->reader, "records written but not found", records);
}

static void look(struct corner *corner)
{
	reader_wait(&corner->reader, 20);
	reader_drain(&corner->reader, take, corner);
}

/* Until so many more came on this CPU's ring. */
static void await_on(struct corner *corner, uint32_t cpu, uint64_t cnt)
{
	uint64_t enough = corner->reader.rings[cpu].received + cnt;
	uint64_t end_ms = now_ms() + WAIT_MAX_MS;

	while (corner->reader.rings[cpu].received < enough && now_ms() < end_ms)
		look(corner);
	if (corner->reader.rings[cpu].received < enough)
		reader_complain(&corner->reader, "nothing comes any more from CPU", cpu);
}

static void go_and_come(struct corner *corner)
{
	const struct ring *ring = &corner->reader.rings[SECOND_CPU];
	uint64_t left;

	await_on(corner, SECOND_CPU, RECORDS);
	if (write_text(ONLINE, "0"))
		reader_complain(&corner->reader, "the CPU does not go", SECOND_CPU);
	look(corner);
	left = ring->received;
	await_on(corner, 0, RECORDS);
	if (ring->received != left)
		reader_complain(&corner->reader, "records of a CPU that is gone",
				ring->received - left);
	if (write_text(ONLINE, "1"))
		reader_complain(&corner->reader, "the CPU does not come", SECOND_CPU);
}

/* The session ends while the CPU is away. */
static int hotplug(struct corner *corner, bool lbr, unsigned long rounds)
{
	start_spinners(corner);
	if (start_session(corner, lbr, 0, 0))
		return 1;
	for (unsigned long i = 0; i < rounds; i++)
		go_and_come(corner);
	await_on(corner, SECOND_CPU, RECORDS);
	write_text(ONLINE, "0");
	stop_session(corner);
	write_text(ONLINE, "1");
	stop_spinners(corner);
	printf("gone %lu times, records %llu, bad %llu\n", rounds + 1,
	       (unsigned long long)reader_received(&corner->reader),
	       (unsigned long long)corner->reader.bad);
	return corner->reader.bad != 0;
}

/* Makes a group and puts one process into it; its number, or 0. */
static uint64_t make_group(const char *directory, const char *name, pid_t pid)
{
	char path[256], text[16];
	struct stat stat_of;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if ((mkdir(path, 0755) && errno != EEXIST) || stat(path, &stat_of))
		return 0;
	snprintf(path, sizeof(path), "%s/%s/cgroup.procs", directory, name);
	snprintf(text, sizeof(text), "%d", (int)pid);
	return write_text(path, text) ? 0 : stat_of.st_ino;
}

static bool all_seen(const struct corner *corner, int cnt)
{
	for (int i = 0; i < cnt; i++)
		if (corner->seen[i] < RECORDS)
			return false;
	return true;
}

/* Until each of the first so many programs was seen often enough. */
static void await_seen(struct corner *corner, int cnt)
{
	uint64_t end_ms = now_ms() + WAIT_MAX_MS;

	memset(corner->seen, 0, sizeof(corner->seen));
	corner->others = 0;
	while (!all_seen(corner, cnt) && now_ms() < end_ms)
		look(corner);
	if (!all_seen(corner, cnt))
		reader_complain(&corner->reader, "programs not seen, one of", (uint64_t)cnt);
}

/* One program in the group, one below it, one beside it. A session of all groups sees all three. */
static int control_group(struct corner *corner, bool lbr, const char *directory)
{
	uint64_t group, below, beside, outside;

	start_spinners(corner);
	group = make_group(directory, "in", corner->pids[0]);
	below = make_group(directory, "in/below", corner->pids[1]);
	beside = make_group(directory, "beside", corner->pids[2]);
	if (!group || !below || !beside)
		reader_complain(&corner->reader, "group", (uint64_t)errno);
	if (start_session(corner, lbr, 0, 0))
		return 1;
	await_seen(corner, 3);
	stop_session(corner);
	if (start_session(corner, lbr, group, 0))
		return 1;
	await_seen(corner, 2);
	stop_session(corner);
	outside = corner->seen[2] + corner->others;
	stop_spinners(corner);
	if (outside)
		reader_complain(&corner->reader, "records from outside the group", outside);
	printf("in %llu, below %llu, outside %llu, bad %llu\n", (unsigned long long)corner->seen[0],
	       (unsigned long long)corner->seen[1], (unsigned long long)outside,
	       (unsigned long long)corner->reader.bad);
	return corner->reader.bad != 0;
}

static uint64_t skipped(struct corner *corner)
{
	struct pathprof_collector_stats now = {0};

	reader_stats(&corner->reader, &now);
	return stats_since(&corner->before, &now, PATHPROF_STAT_SKIP_COMPAT);
}

/* Met by the clock again and again, and left alone each time. */
static int compat(struct corner *corner, const char *program)
{
	uint64_t end_ms = now_ms() + WAIT_MAX_MS;
	int status = 0;

	corner->pids[0] = vfork(); /* NOLINT: nothing of 64 bits is left when it returns */
	if (corner->pids[0] == 0) {
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	if (start_session(corner, false, 0, (uint32_t)corner->pids[0]))
		return 1;
	while (skipped(corner) < COMPAT_SKIPS && now_ms() < end_ms)
		look(corner);
	if (skipped(corner) < COMPAT_SKIPS)
		reader_complain(&corner->reader, "hardly met", skipped(corner));
	stop_session(corner);
	if (waitpid(corner->pids[0], &status, WNOHANG))
		reader_complain(&corner->reader, "the program ended", (uint64_t)status);
	kill(corner->pids[0], SIGKILL);
	waitpid(corner->pids[0], &status, 0);
	corner->pids[0] = 0;
	if (reader_received(&corner->reader))
		reader_complain(&corner->reader, "windows of 32-bit code", corner->seen[0]);
	printf("met %llu times, bad %llu\n", (unsigned long long)skipped(corner),
	       (unsigned long long)corner->reader.bad);
	return corner->reader.bad != 0;
}

/* A change of the budget is answered as told. */
static void change_budget(struct corner *corner, uint32_t budget_ppm, int told)
{
	int err = reader_budget(&corner->reader, budget_ppm);

	if (err != told)
		reader_complain(&corner->reader, "change of the budget", (uint64_t)-err);
}

/* The session goes on: records keep their numbers, and another START is refused. */
static int budget(struct corner *corner, bool lbr)
{
	struct pathprof_kmod_start start = {.source = PATHPROF_SOURCE_SWLBR};

	change_budget(corner, PATHPROF_BUDGET_MAX, -EINVAL);
	start_spinners(corner);
	if (start_session(corner, lbr, 0, 0))
		return 1;
	await_on(corner, 0, RECORDS);
	change_budget(corner, PATHPROF_BUDGET_MAX + 1, -EINVAL);
	change_budget(corner, PATHPROF_BUDGET_MAX / 2, 0);
	if (reader_start(&corner->reader, &start) != -EBUSY)
		reader_complain(&corner->reader, "the session has ended", 0);
	await_on(corner, 0, RECORDS);
	stop_session(corner);
	stop_spinners(corner);
	change_budget(corner, PATHPROF_BUDGET_MAX, -EINVAL);
	printf("records %llu, bad %llu\n", (unsigned long long)reader_received(&corner->reader),
	       (unsigned long long)corner->reader.bad);
	return corner->reader.bad != 0;
}

/* The chain's tables are for CPUs that are plugged in, as the rings are; others may be many. */
static int plugged(struct corner *corner)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_CHAIN,
		.period = PERIOD_NS,
		.window = 8,
	};
	unsigned int before = module_areas(), tables, cpus = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		cpus += corner->reader.rings[cpu].producer != NULL;
	if (reader_start(&corner->reader, &start))
		reader_complain(&corner->reader, "start", (uint64_t)errno);
	tables = module_areas() - before;
	if (tables != cpus)
		reader_complain(&corner->reader, "tables of as many CPUs", tables);
	reader_stop(&corner->reader);
	printf("CPUs %u, possible %ld, tables %u, bad %llu\n", cpus, sysconf(_SC_NPROCESSORS_CONF),
	       tables, (unsigned long long)corner->reader.bad);
	return corner->reader.bad != 0;
}

static int run(struct corner *corner, int argc, char **argv)
{
	bool lbr = argc == 4 && !strcmp(argv[2], "lbr");

	if (argc == 4 && !strcmp(argv[1], "hotplug"))
		return hotplug(corner, lbr, strtoul(argv[3], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "cgroup"))
		return control_group(corner, lbr, argv[3]);
	if (argc == 3 && !strcmp(argv[1], "compat"))
		return compat(corner, argv[2]);
	if (argc == 3 && !strcmp(argv[1], "budget"))
		return budget(corner, !strcmp(argv[2], "lbr"));
	if (argc == 2 && !strcmp(argv[1], "plugged"))
		return plugged(corner);
	fprintf(stderr, "usage: vmcorner hotplug|cgroup|compat|budget|plugged ...\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct corner corner;
	int err = reader_open(&corner.reader);

	corner.shared = mmap(NULL, sizeof(*corner.shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (err || corner.shared == MAP_FAILED) {
		fprintf(stderr, "vmcorner: %s\n", strerror(err ? -err : errno));
		return 2;
	}
	err = run(&corner, argc, argv);
	stop_spinners(&corner);
	reader_close(&corner.reader);
	return err;
}
