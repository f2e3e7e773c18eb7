// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A neighbour that does one thing as fast as it can until it is killed: `flood KIND [COUNT-FILE]`.
 * It prints "flooding" when it has begun, and keeps in the file, an 8-byte integer, how often it
 * has done that thing. Nothing it does needs a right.
 *
 * `flood late PID [OTHER]` is the test's own measure of the machine. It wants to wake up every 20
 * ms, and reads how long PID and its child pathprof-read, which PID waits for, waited for a CPU, by
 * the kernel's account. A line is when (Unix time, ns), how long (ns) the machine held up either:
 * the longest of its own lateness, their wait and the time for which the disk has stalled; and how
 * long OTHER has run so far (ns). The disk is the one that the lines are written to: a thread has
 * them put there ten times a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 2

static const char *self;
static uint64_t uncounted;
static uint64_t *did = &uncounted; /* shared by all processes of the flood */

static void count(uint64_t cnt)
{
	__atomic_fetch_add(did, cnt, __ATOMIC_RELAXED);
}

/* Code of a file that has no build-id, so that whoever wants to know it must open the file. */
static void flood_mmap(void)
{
	int fd = memfd_create("flood", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 8192) < 0)
		exit(1);
	for (unsigned int i = 0;; i++) {
		void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				(off_t)(i % 2) * 4096);

		if (at == MAP_FAILED)
			continue;
		munmap(at, 4096);
		count(1);
	}
}

/* The same by ever new processes, of which none does much. */
static void flood_swarm(void)
{
	for (;;) {
		pid_t pid = fork();
		int fd;

		if (pid > 0)
			waitpid(pid, NULL, 0);
		if (pid != 0)
			continue;
		fd = memfd_create("swarm", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, 4096) < 0)
			_exit(1);
		for (int i = 0; i < 500; i++)
			(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		count(500);
		_exit(0);
	}
}

/* Mappings that stay, nearly as many as the kernel allows, each below the one before. */
static void flood_pieces(void)
{
	const size_t cnt = 30000;
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	char *area = mmap(NULL, cnt * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || area == MAP_FAILED)
		exit(1);
	for (;;) {
		for (size_t i = cnt; i-- > 0;)
			(void)mmap(area + i * 8192, 4096, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED, fd, 0);
		count(cnt);
		(void)mmap(area, cnt * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			   0);
	}
}

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void flood_fork(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		count(pid > 0);
		reap();
	}
}

static void flood_exec(void)
{
	for (;;) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		count(pid > 0);
		reap();
	}
}

static void *nothing(void *context)
{
	return context;
}

static void flood_threads(void)
{
	for (;;) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, nothing, NULL))
			continue;
		pthread_join(thread, NULL);
		count(1);
	}
}

static void on_signal(int number)
{
	(void)number;
}

static void flood_signals(void)
{
	signal(SIGUSR1, on_signal);
	for (;; count(1))
		raise(SIGUSR1);
}

/* Names that would forge lines of a log and control a terminal. */
static void flood_comm(void)
{
	static const char *const names[] = {"\n<0>forged\r", "\033[2J\033]0;x\a",
					    "\x80\xff\x01%s%n", ")) R 1 1 ("};

	for (unsigned int i = 0;; i++, count(1))
		prctl(PR_SET_NAME, names[i % 4]);
}

static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static FILE *open_proc(const char *pid, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return fopen(path, "re");
}

/* Nanoseconds for which the process ran, and was ready to run and no CPU was free, since it began.
 */
static bool read_schedstat(const char *pid, long long *ret_ran_ns, long long *ret_delay_ns)
{
	FILE *file = open_proc(pid, "schedstat");
	bool is_read = file && fscanf(file, "%lld %lld", ret_ran_ns, ret_delay_ns) == 2;

	if (file)
		fclose(file);
	return is_read;
}

static bool is_reader(const char *pid)
{
	char name[32] = "";
	FILE *file = open_proc(pid, "comm");

	if (file && fscanf(file, "%31s", name) != 1)
		name[0] = '\0';
	if (file)
		fclose(file);
	return !strcmp(name, "pathprof-read");
}

/* The child of pid that reads for it, an empty word if there is none. */
static void find_reader(const char *pid, char ret_reader[static 16])
{
	char name[48];
	FILE *children;

	snprintf(name, sizeof(name), "task/%s/children", pid);
	children = open_proc(pid, name);
	ret_reader[0] = '\0';
	while (children && fscanf(children, "%15s", ret_reader) == 1 && !is_reader(ret_reader))
		ret_reader[0] = '\0';
	if (children)
		fclose(children);
}

/* Time that pid has waited for a CPU, and its reader since it was seen first. */
struct delay {
	char reader[16];
	long long own_ns, reader_ns; /* by the kernel, at the last look */
};

/* Nanoseconds since the last look. Ends with pid. */
static long long more_delay_ns(struct delay *delay, const char *pid)
{
	struct delay before = *delay;
	long long ran_ns;

	if (!read_schedstat(pid, &ran_ns, &delay->own_ns))
		exit(1);
	find_reader(pid, delay->reader);
	if (!delay->reader[0] || !read_schedstat(delay->reader, &ran_ns, &delay->reader_ns))
		delay->reader_ns = 0;
	return delay->own_ns - before.own_ns +
	       (strcmp(delay->reader, before.reader) == 0 ? delay->reader_ns - before.reader_ns
							  : 0);
}

static long long ran_ns(const char *pid)
{
	long long ran_ns = 0, delay_ns;

	if (pid && !read_schedstat(pid, &ran_ns, &delay_ns))
		exit(1);
	return ran_ns;
}

/* A disk that is only slow takes less. */
#define STALL_NS 100000000ll

static struct {
	long long since_ns;   /* of what is being put there; 0: nothing */
	long long stalled_ns; /* since then it took long; 0: that was told */
} disk;

static void *put_on_disk(void *context)
{
	const struct timespec pause = {.tv_nsec = 100000000};

	for (;; nanosleep(&pause, NULL)) {
		long long begin_ns = clock_ns(CLOCK_MONOTONIC);

		__atomic_store_n(&disk.since_ns, begin_ns, __ATOMIC_SEQ_CST);
		fdatasync(STDOUT_FILENO);
		if (clock_ns(CLOCK_MONOTONIC) - begin_ns > STALL_NS)
			__atomic_store_n(&disk.stalled_ns, begin_ns, __ATOMIC_SEQ_CST);
		__atomic_store_n(&disk.since_ns, 0, __ATOMIC_SEQ_CST);
	}
	return context;
}

/* Nanoseconds for which the disk has stalled until now; 0: it does not. */
static long long stalled_for_ns(void)
{
	long long since_ns = __atomic_exchange_n(&disk.stalled_ns, 0, __ATOMIC_SEQ_CST);
	long long now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!since_ns)
		since_ns = __atomic_load_n(&disk.since_ns, __ATOMIC_SEQ_CST);
	return since_ns && now_ns - since_ns > STALL_NS ? now_ns - since_ns : 0;
}

static long long longer(long long a_ns, long long b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static void tell_late(const char *pid, const char *other)
{
	const long long every_ns = 20000000, least_ns = 1000000;
	struct timespec pause = {.tv_nsec = every_ns};
	struct delay delay = {0};
	pthread_t thread;

	more_delay_ns(&delay, pid);
	if (pthread_create(&thread, NULL, put_on_disk, NULL))
		exit(1);
	for (;;) {
		long long begin_ns = clock_ns(CLOCK_MONOTONIC), late_ns;

		nanosleep(&pause, NULL);
		late_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns - every_ns;
		late_ns = longer(late_ns, more_delay_ns(&delay, pid));
		late_ns = longer(late_ns, stalled_for_ns());
		if (late_ns < least_ns)
			late_ns = 0;
		printf("%lld %lld %lld\n", clock_ns(CLOCK_REALTIME), late_ns, ran_ns(other));
		fflush(stdout);
	}
}

static const struct {
	const char *kind;
	void (*flood)(void);
} floods[] = {
	{"mmap", flood_mmap},       {"swarm", flood_swarm}, {"pieces", flood_pieces},
	{"fork", flood_fork},       {"exec", flood_exec},   {"threads", flood_threads},
	{"signals", flood_signals}, {"comm", flood_comm},
};

static void count_in(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && !ftruncate(fd, sizeof(*did)))
		did = mmap(NULL, sizeof(*did), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || did == MAP_FAILED)
		exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	self = argv[0];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc > 2 && !strcmp(argv[1], "late"))
		tell_late(argv[2], argv[3]);
	for (size_t i = 0; argc > 1 && i < sizeof(floods) / sizeof(floods[0]); i++) {
		if (strcmp(argv[1], floods[i].kind) != 0)
			continue;
		if (argc > 2)
			count_in(argv[2]);
		puts("flooding");
		fflush(stdout);
		for (int made = 1; made < PROCESSES && fork() != 0; made++)
			;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		floods[i].flood();
	}
	return 2;
}
