// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Neighbours that would turn the module against the machine, or against themselves:
 *
 *     vmneighbour parked THREADS    threads that fall asleep in mid-burst for good (userfaultfd)
 *     vmneighbour uprobes CYCLES    breakpoints that come and go under the feet of a stepped thread
 *     vmneighbour realtime          threads that must not be held up
 *     vmneighbour isolated CPU      a CPU that the kernel was booted to leave alone (isolcpus=)
 *     vmneighbour charged DIRECTORY memory that somebody has to pay for (of a mounted cgroup2)
 *
 * Workload: seconds of bursts at the highest budget. Expected records are awaited up to a limit at
 * which the machine must be broken; only STOP and rmmod of parked, which must not wait for the
 * threads asleep for good, have a time limit. Exit status 0: as promised; one line of counts on
 * standard output. `parked` unloads the module.
 */
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "reader.h"

#define WAIT_MAX_MS    60000
#define AT_ONCE_MS     10000 /* what STOP and rmmod may take, whoever sleeps where */
#define ENOUGH         30    /* bursts, or samples, to be sure that they come */
#define CYCLES_TELLING 100
#define PERIOD_NS      200000
#define LONG_HORIZON   1024 /* most of a thread's time is spent in such a burst */
#define THREADS_MAX    256
#define DRAIN_CNT      200
#define WAYS_CNT       3 /* places of probes */
/* The time of some hundred instructions that trap each; untrapped they take a hundredth of it. */
#define STEPPED_TICKS_MIN 200000
#define STEPPED_TICKS_MAX 20000000 /* the thread was switched away */

struct neighbour {
	struct reader reader;
	struct pathprof_collector_stats before;
	pid_t watched;         /* whose bursts are counted, 0: anybody's */
	uint64_t seen, others; /* bursts */
};

struct shared {
	atomic_ullong rounds, wrong;
};

static struct shared *shared;

static void complain(struct neighbour *n, const char *what, uint64_t value)
{
	reader_complain(&n->reader, what, value);
}

static void take(void *context, const struct pathprof_record *record)
{
	const struct pathprof_burst *burst = (const void *)(record + 1);
	struct neighbour *n = context;

	if (record->type != PATHPROF_RECORD_BURST)
		complain(n, "not a burst", record->type);
	else if (!n->watched || burst->pid == (uint32_t)n->watched)
		n->seen++;
	else
		n->others++;
}

static void look(struct neighbour *n)
{
	reader_wait(&n->reader, 20);
	reader_drain(&n->reader, take, n);
}

static int start_session(struct neighbour *n, uint32_t pid, uint32_t flags)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_RAW,
		.flags = PATHPROF_START_JITTER | flags,
		.period = PERIOD_NS,
		.horizon = LONG_HORIZON,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.pid = pid,
	};
	int err = reader_stats(&n->reader, &n->before);

	n->watched = (pid_t)pid;
	n->seen = n->others = 0;
	err = err ? err : reader_start(&n->reader, &start);
	if (err)
		complain(n, "start", (uint64_t)-err);
	return err;
}

static void stop_session(struct neighbour *n)
{
	if (reader_stop(&n->reader))
		complain(n, "stop", (uint64_t)errno);
	reader_drain(&n->reader, take, n);
}

static uint64_t counted(struct neighbour *n, unsigned int which)
{
	struct pathprof_collector_stats now = {0};

	reader_stats(&n->reader, &now);
	return stats_since(&n->before, &now, which);
}

/* Until the counter has grown by so much since the session began. */
static void await(struct neighbour *n, unsigned int which, uint64_t cnt, const char *what)
{
	uint64_t end_ms = now_ms() + WAIT_MAX_MS;

	while (counted(n, which) < cnt && now_ms() < end_ms)
		look(n);
	if (counted(n, which) < cnt)
		complain(n, what, counted(n, which));
}

/* For ever. */
static void spin(void)
{
	uint64_t expected = compute(1);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		atomic_fetch_add(&shared->rounds, 1);
		if (compute(1) != expected)
			atomic_fetch_add(&shared->wrong, 1);
	}
}

/* It does not hold the device open. */
static pid_t start_program(const struct neighbour *n, void (*program)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		close(n->reader.fd);
		program();
	}
	return pid;
}

static void stop_program(struct neighbour *n, pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, WNOHANG)) {
		complain(n, "a program ended by itself, with status", (uint64_t)status);
		return;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

static int verdict(struct neighbour *n)
{
	if (atomic_load(&shared->wrong))
		complain(n, "wrong results", atomic_load(&shared->wrong));
	printf(", bad %llu\n", (unsigned long long)n->reader.bad);
	return n->reader.bad != 0;
}

/* ---------------------------------------------------------------- parked */

static char *pages; /* one for each thread, none of them there */
static size_t page_bytes;

/* The time stamp counter tells a thread that it is in a burst. */
static bool seems_stepped(void)
{
	uint64_t begun = __builtin_ia32_rdtsc(), ticks;

	for (volatile int i = 0; i < 40; i++)
		;
	ticks = __builtin_ia32_rdtsc() - begun;
	return ticks > STEPPED_TICKS_MIN && ticks < STEPPED_TICKS_MAX;
}

/* Goes to sleep in the midst of a burst. */
static void *park(void *argument)
{
	size_t i = (size_t)argument;
	uint64_t expected = compute(i + 1);

	while (!seems_stepped())
		;
	if (((volatile char *)pages)[i * page_bytes])
		atomic_fetch_add(&shared->wrong, 1);
	if (compute(i + 1) != expected)
		atomic_fetch_add(&shared->wrong, 1);
	return NULL;
}

/* How many pages were asked for and are not there. */
static size_t take_faults(int fd)
{
	struct uffd_msg message;
	size_t cnt = 0;

	while (read(fd, &message, sizeof(message)) == (ssize_t)sizeof(message))
		cnt += message.event == UFFD_EVENT_PAGEFAULT;
	return cnt;
}

/* Until all are asleep; where bursts end before, they never are. */
static void await_parked(struct neighbour *n, int fd, size_t cnt)
{
	uint64_t end_ms = now_ms() + WAIT_MAX_MS;
	size_t asleep = 0;

	while (asleep < cnt && now_ms() < end_ms) {
		look(n);
		asleep += take_faults(fd);
	}
	if (asleep < cnt)
		complain(n, "bursts only for so many threads", asleep);
}

static int make_pages(size_t cnt)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, cnt * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	range.range.start = (uintptr_t)pages;
	range.range.len = cnt * page_bytes;
	if (fd < 0 || pages == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		return -1;
	return fd;
}

static void give_pages(struct neighbour *n, int fd, size_t cnt)
{
	struct uffdio_zeropage zero = {
		.range = {.start = (uintptr_t)pages, .len = cnt * page_bytes}};

	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero))
		complain(n, "the pages do not come", (uint64_t)errno);
}

/* The module must let go of who sleeps, and at once. */
static void unload_at_once(struct neighbour *n)
{
	uint64_t begun_ms = now_ms(), stop_ms, unload_ms;

	if (reader_stop(&n->reader))
		complain(n, "stop", (uint64_t)errno);
	stop_ms = now_ms() - begun_ms;
	if (stop_ms > AT_ONCE_MS)
		complain(n, "STOP took ms", stop_ms);
	reader_close(&n->reader);
	begun_ms = now_ms();
	if (syscall(SYS_delete_module, "pathprof", O_NONBLOCK))
		complain(n, "rmmod", (uint64_t)errno);
	unload_ms = now_ms() - begun_ms;
	if (unload_ms > AT_ONCE_MS)
		complain(n, "rmmod took ms", unload_ms);
	printf("STOP %llu ms, rmmod %llu ms, ", (unsigned long long)stop_ms,
	       (unsigned long long)unload_ms);
}

static int parked(struct neighbour *n, size_t cnt)
{
	static pthread_t threads[THREADS_MAX];
	uint64_t before, bursts;
	int fd = make_pages(cnt);
	pid_t spinner;

	if (fd < 0 || cnt > THREADS_MAX) {
		perror("vmneighbour: userfaultfd");
		return 2;
	}
	if (start_session(n, 0, 0))
		return 1;
	for (size_t i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, park, (void *)i))
			complain(n, "thread", i);
	await_parked(n, fd, cnt);
	before = counted(n, PATHPROF_STAT_BURSTS);
	spinner = start_program(n, spin);
	await(n, PATHPROF_STAT_BURSTS, before + ENOUGH, "hardly a burst beside sleepers");
	bursts = counted(n, PATHPROF_STAT_BURSTS);
	unload_at_once(n);
	stop_program(n, spinner);
	give_pages(n, fd, cnt);
	for (size_t i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	printf("threads %zu, bursts %llu", cnt, (unsigned long long)bursts);
	return verdict(n);
}

/* ---------------------------------------------------------------- uprobes */

/* One that the kernel emulates, one that it steps out of line, and one more behind a branch. */
uint64_t probed(uint64_t value);
extern const char probed_nop[], probed_move[], probed_push[];
__asm__(".text\n"
	".globl probed\n"
	"probed:\n"
	"	lea 1(%rdi), %rax\n"
	"probed_nop:\n"
	"	nop\n"
	"	imul %rax, %rax\n"
	"probed_move:\n"
	"	mov %rax, %rcx\n"
	"	test $1, %cl\n"
	"	jz 1f\n"
	"	xor %rdi, %rax\n"
	"1:\n"
	"probed_push:\n"
	"	push %rbp\n"
	"	add %rcx, %rax\n"
	"	pop %rbp\n"
	"	ret\n");

static uint64_t compute_probed(void)
{
	uint64_t value = 1;

	for (int i = 0; i < 1000; i++)
		value = probed(value);
	return value;
}

static void spin_probed(void)
{
	uint64_t expected = compute_probed();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		atomic_fetch_add(&shared->rounds, 1);
		if (compute_probed() != expected)
			atomic_fetch_add(&shared->wrong, 1);
	}
}

/* The file offset of an address of this program. */
static uint64_t file_offset(const char *address)
{
	unsigned long long start, end, offset;
	uint64_t found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
		    (uintptr_t)address >= start && (uintptr_t)address < end)
			found = (uintptr_t)address - start + offset;
	if (maps)
		fclose(maps);
	return found;
}

/* A probe in this program's file, for every process that runs it; its descriptor. */
static int attach_uprobe(int type, uint64_t offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)type,
		.uprobe_path = (uintptr_t) "/proc/self/exe",
		.probe_offset = offset,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static void cycle(struct neighbour *n, pid_t pid, unsigned long cycles)
{
	const uint64_t offsets[WAYS_CNT] = {file_offset(probed_nop), file_offset(probed_move),
					    file_offset(probed_push)};
	int type = pmu_type("uprobe"), fd, status = 0;

	for (unsigned long i = 0; i < cycles; i++) {
		fd = attach_uprobe(type, offsets[i % WAYS_CNT]);
		if (fd < 0) {
			complain(n, "uprobe", (uint64_t)errno);
			return;
		}
		close(fd);
		reader_drain(&n->reader, take, n);
		if (waitpid(pid, &status, WNOHANG)) {
			complain(n, "the program ended after so many cycles", i);
			return;
		}
	}
}

static int uprobes(struct neighbour *n, unsigned long cycles)
{
	pid_t pid = start_program(n, spin_probed);
	unsigned long long bursts, breakpoints;

	if (start_session(n, (uint32_t)pid, 0))
		return 1;
	await(n, PATHPROF_STAT_BURSTS, ENOUGH, "hardly a burst");
	cycle(n, pid, cycles);
	bursts = counted(n, PATHPROF_STAT_BURSTS);
	breakpoints = counted(n, PATHPROF_STAT_END + PATHPROF_END_TRAP);
	/* a few cycles may miss every burst */
	if (!breakpoints && cycles >= CYCLES_TELLING)
		complain(n, "no burst met a breakpoint", bursts);
	if (!n->reader.bad)
		await(n, PATHPROF_STAT_BURSTS, bursts + ENOUGH, "no burst any more");
	stop_session(n);
	if (!n->reader.bad)
		stop_program(n, pid);
	printf("cycles %lu, bursts %llu, ended by a breakpoint %llu", cycles, bursts, breakpoints);
	return verdict(n);
}

/* ---------------------------------------------------------------- realtime */

struct sched_attr_v0 {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Half of a CPU at most, so that the rest of the machine goes on. */
static int make_realtime(pid_t pid, int policy)
{
	struct sched_attr_v0 attr = {
		.size = sizeof(attr),
		.policy = (uint32_t)policy,
		.priority = policy == SCHED_DEADLINE ? 0 : 1,
		.runtime_ns = policy == SCHED_DEADLINE ? 10000000 : 0,
		.deadline_ns = policy == SCHED_DEADLINE ? 20000000 : 0,
		.period_ns = policy == SCHED_DEADLINE ? 20000000 : 0,
	};

	return syscall(SYS_sched_setattr, pid, &attr, 0) ? -errno : 0;
}

static void try_policy(struct neighbour *n, int policy)
{
	pid_t pid = start_program(n, spin);
	int err;

	err = make_realtime(pid, policy);
	if (err)
		complain(n, "policy cannot be set", (uint64_t)policy);
	if (!err && !start_session(n, (uint32_t)pid, 0)) {
		await(n, PATHPROF_STAT_SKIP_REALTIME, ENOUGH, "hardly met");
		stop_session(n);
		if (n->seen || counted(n, PATHPROF_STAT_BURSTS))
			complain(n, "bursts of a real-time thread",
				 counted(n, PATHPROF_STAT_BURSTS));
	}
	if (!err && !start_session(n, (uint32_t)pid, PATHPROF_START_REALTIME)) {
		await(n, PATHPROF_STAT_BURSTS, ENOUGH, "no burst though asked for");
		stop_session(n);
	}
	stop_program(n, pid);
}

static int realtime(struct neighbour *n)
{
	static const int policies[] = {SCHED_FIFO, SCHED_RR, SCHED_DEADLINE};

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		try_policy(n, policies[i]);
	printf("policies %zu", sizeof(policies) / sizeof(policies[0]));
	return verdict(n);
}

/* ---------------------------------------------------------------- isolated */

/* How often other CPUs made this one call a function; all CPUs are there. */
static uint64_t calls_on(uint32_t cpu)
{
	FILE *file = fopen("/proc/interrupts", "r");
	uint64_t calls = 0;
	char line[512], *at;

	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, "CAL:");
		if (!at)
			continue;
		at += 4;
		for (uint32_t i = 0; i <= cpu; i++)
			calls = strtoull(at, &at, 10);
	}
	if (file)
		fclose(file);
	return calls;
}

/* DRAIN interrupts a CPU only if something came there. */
static void drain_often(struct neighbour *n, uint32_t cpu)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_CHAIN,
		.period = PERIOD_NS,
		.window = 32,
		.budget_ppm = PATHPROF_BUDGET_MAX,
	};
	uint64_t calls;

	reader_stats(&n->reader, &n->before);
	if (reader_start(&n->reader, &start))
		complain(n, "start", (uint64_t)errno);
	calls = calls_on(cpu);
	for (int i = 0; i < DRAIN_CNT; i++) {
		usleep(5000);
		if (ioctl(n->reader.fd, PATHPROF_IOC_DRAIN))
			complain(n, "drain", (uint64_t)errno);
	}
	calls = calls_on(cpu) - calls;
	reader_stop(&n->reader);
	reader_drain(&n->reader, NULL, NULL);
	if (calls > DRAIN_CNT / 2)
		complain(n, "DRAIN interrupts an isolated CPU", calls);
	if (!counted(n, PATHPROF_STAT_RECORDS))
		complain(n, "nothing was drained", counted(n, PATHPROF_STAT_WINDOWS));
	printf("%d DRAINs, %llu calls there, ", DRAIN_CNT, (unsigned long long)calls);
}

static int isolated(struct neighbour *n, uint32_t cpu)
{
	pid_t there = start_program(n, spin), elsewhere = start_program(n, spin);
	const struct ring *ring = &n->reader.rings[cpu];
	uint64_t spared, received;

	pin(there, (int)cpu);
	pin(elsewhere, (int)(cpu ^ 1));
	if (start_session(n, 0, 0))
		return 1;
	await(n, PATHPROF_STAT_BURSTS, 10 * ENOUGH, "hardly a burst on the other CPU");
	stop_session(n);
	spared = counted(n, PATHPROF_STAT_SKIP_ISOLATED);
	if (!spared)
		complain(n, "a CPU left alone is not counted", spared);
	if (ring->received)
		complain(n, "bursts on an isolated CPU", ring->received);
	drain_often(n, cpu);
	if (start_session(n, (uint32_t)there, PATHPROF_START_REALTIME))
		return 1;
	await(n, PATHPROF_STAT_BURSTS, ENOUGH, "no burst though asked for");
	stop_session(n);
	received = ring->received;
	if (!received)
		complain(n, "no burst on an isolated CPU though asked for", received);
	stop_program(n, there);
	stop_program(n, elsewhere);
	printf("spared %llu, then %llu bursts", (unsigned long long)spared,
	       (unsigned long long)received);
	return verdict(n);
}

/* ---------------------------------------------------------------- charged */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return written < 0 ? -errno : 0;
}

static uint64_t read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long value = 0;

	if (file && fscanf(file, "%llu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

/* Opens the device again, this time on a group's account. */
static int charged(struct neighbour *n, const char *directory)
{
	char group[128], path[192];
	uint64_t before, rings_bytes, taken;
	int fd;

	rings_bytes = (uint64_t)n->reader.info.ring_bytes * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	reader_close(&n->reader);
	snprintf(group, sizeof(group), "%s/charged", directory);
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", directory);
	if (write_text(path, "+memory") || mkdir(group, 0755))
		complain(n, "no group with memory accounts", (uint64_t)errno);
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	if (write_text(path, "0"))
		complain(n, "does not go into the group", (uint64_t)errno);
	snprintf(path, sizeof(path), "%s/memory.current", group);
	before = read_number(path);
	fd = reader_open(&n->reader);
	taken = read_number(path) - before;
	if (fd)
		complain(n, "open", (uint64_t)-fd);
	/* Accounts are kept in lots of some pages a CPU. */
	if (taken < rings_bytes / 2 || taken > 2 * rings_bytes)
		complain(n, "charged bytes", taken);
	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	write_text(path, "0");
	printf("rings %llu bytes, charged %llu", (unsigned long long)rings_bytes,
	       (unsigned long long)taken);
	return verdict(n);
}

static int run(struct neighbour *n, int argc, char **argv)
{
	const char *what = argc >= 2 ? argv[1] : "";
	unsigned long number = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc == 3 && !strcmp(what, "parked"))
		return parked(n, number);
	if (argc == 3 && !strcmp(what, "uprobes"))
		return uprobes(n, number);
	if (argc == 2 && !strcmp(what, "realtime"))
		return realtime(n);
	if (argc == 3 && !strcmp(what, "isolated"))
		return isolated(n, (uint32_t)number);
	if (argc == 3 && !strcmp(what, "charged"))
		return charged(n, argv[2]);
	fprintf(stderr, "usage: vmneighbour parked|uprobes|realtime|isolated|charged ...\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct neighbour n;
	int err = reader_open(&n.reader);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (err || shared == MAP_FAILED) {
		fprintf(stderr, "vmneighbour: %s\n", strerror(err ? -err : errno));
		return 2;
	}
	return run(&n, argc, argv);
}
