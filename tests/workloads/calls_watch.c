// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lives in system calls, most of which return at once and some of which sleep for some
 * milliseconds, with a few hundred instructions in between, so that whoever follows its
 * instructions goes through its calls. Nobody sends it a signal and it has no handler: an EINTR is
 * an error, and so are a short write, a time-out that came early, flags in r11 that are not its
 * own, and a narrowed affinity or a changed nice value.
 *
 *     calls_watch [SECONDS]
 *
 * Prints "calls_watch clean" and exits 0, or what it saw and exits 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EFLAGS_TF_RF 0x10100
#define WAIT_NS      2500000ll
#define BLOCK_BYTES  4096 /* at most PIPE_BUF: never short, whoever interrupts */
#define QUICK_CNT    12
#define WAIT_EVERY   16
#define WAIT_THREADS 4

static atomic_int seen;
static atomic_bool stop;
static _Thread_local volatile uint32_t sink;
static int null_fd, event_fd, epoll_fd, pipe_fds[2], full_fds[2], semaphore, queue;
static uint32_t futex_word;
static int cpu_cnt, nice_value;

static void complain(const char *call, long long value)
{
	if (atomic_fetch_add(&seen, 1) < 20)
		dprintf(STDOUT_FILENO, "calls_watch: %s: %lld\n", call, value);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void work(uint32_t turns)
{
	for (uint32_t i = 0; i < turns; i++)
		sink = sink & 1 ? sink * 1664525u + 1013904223u : sink ^ i;
}

static void look_at_flags(void)
{
	long result = SYS_getppid;
	uint64_t r11;

	__asm__ volatile("syscall\n"
			 "mov %%r11, %1\n"
			 : "+a"(result), "=r"(r11)
			 :
			 : "rcx", "r11", "memory");
	if (r11 & EFLAGS_TF_RF)
		complain("flags in r11", (long long)r11);
}

static void look_at_cpu(void)
{
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) != cpu_cnt)
		complain("affinity, CPUs", CPU_COUNT(&set));
	if (getpriority(PRIO_PROCESS, 0) != nice_value)
		complain("nice value", getpriority(PRIO_PROCESS, 0));
}

static void quick(uint32_t i)
{
	char byte = 'x';

	if (i % 4 == 0)
		look_at_flags();
	else if (i % 4 == 1 && write(null_fd, &byte, 1) != 1)
		complain("write to /dev/null, errno", errno);
	else if (i % 4 == 2 && read(null_fd, &byte, 1) != 0)
		complain("read of /dev/null, errno", errno);
	else if (i % 64 == 3)
		look_at_cpu();
}

/* ---- calls that sleep; each says whether it went as it should */

static bool wait_read(void)
{
	char byte;

	return read(pipe_fds[0], &byte, 1) == 1;
}

static bool wait_epoll(void)
{
	struct epoll_event event;
	uint64_t cnt;

	return epoll_wait(epoll_fd, &event, 1, -1) == 1 &&
	       (read(event_fd, &cnt, sizeof(cnt)) == sizeof(cnt) || errno == EAGAIN);
}

static bool wait_epoll_timeout(void)
{
	static _Thread_local int fd = -1;
	struct epoll_event event;

	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_wait(fd, &event, 1, 3) == 0;
}

static bool wait_semop(void)
{
	struct sembuf take = {.sem_op = -1};

	return !semop(semaphore, &take, 1);
}

static bool wait_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return msgrcv(queue, &message, sizeof(message.text), 0, 0) == 1;
}

static bool wait_futex(void)
{
	uint32_t now = __atomic_load_n(&futex_word, __ATOMIC_SEQ_CST);

	return !syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0) ||
	       errno == EAGAIN;
}

static bool wait_poll(void)
{
	return poll(NULL, 0, 3) == 0;
}

static bool wait_nanosleep(void)
{
	struct timespec timeout = {0, WAIT_NS};

	return !nanosleep(&timeout, NULL);
}

static const struct {
	const char *name;
	bool (*wait)(void);
	bool timed; /* takes at least WAIT_NS */
} waits[] = {
	{"read", wait_read, false},
	{"epoll_wait", wait_epoll, false},
	{"epoll_wait with a time-out", wait_epoll_timeout, true},
	{"semop", wait_semop, false},
	{"msgrcv", wait_msgrcv, false},
	{"futex", wait_futex, false},
	{"poll", wait_poll, true},
	{"nanosleep", wait_nanosleep, true},
};

static void try_wait(size_t which)
{
	long long begun_ns = now_ns();

	errno = 0;
	if (!waits[which].wait())
		complain(waits[which].name, errno);
	if (waits[which].timed && now_ns() - begun_ns < WAIT_NS)
		complain(waits[which].name, now_ns() - begun_ns);
}

static void *run_waits(void *argument)
{
	for (uint32_t round = (uint32_t)(uintptr_t)argument; !atomic_load(&stop); round++) {
		for (uint32_t i = 0; i < QUICK_CNT; i++) {
			work(20);
			quick(round + i);
		}
		if (round % WAIT_EVERY == 0)
			try_wait(round / WAIT_EVERY % (sizeof(waits) / sizeof(waits[0])));
	}
	return NULL;
}

/* Wakes whoever waits, over and over; nobody minds if there is nobody. */
static void *run_waker(void *argument)
{
	struct timespec pause = {0, 1500000};
	struct {
		long type;
		char text[8];
	} message = {1, "m"};
	struct sembuf give = {.sem_op = 1, .sem_flg = IPC_NOWAIT};
	uint64_t one = 1;

	while (*(atomic_bool *)argument) {
		nanosleep(&pause, NULL);
		if (semctl(semaphore, 0, GETVAL) < 4)
			semop(semaphore, &give, 1);
		msgsnd(queue, &message, 1, IPC_NOWAIT);
		__atomic_add_fetch(&futex_word, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0);
		if (write(event_fd, &one, sizeof(one)) < 0 || write(pipe_fds[1], "x", 1) < 0)
			continue;
	}
	return NULL;
}

/* A pipe that is always full: each write sleeps. */
static void *run_writer(void *argument)
{
	static char block[BLOCK_BYTES];

	while (!atomic_load(&stop)) {
		ssize_t put = write(full_fds[1], block, sizeof(block));

		if (put != (ssize_t)sizeof(block))
			complain("write, short", put < 0 ? -errno : put);
		for (uint32_t i = 0; i < 200; i++) {
			work(50);
			quick(i);
		}
	}
	close(full_fds[1]);
	return NULL;
}

static void *run_reader(void *argument)
{
	struct timespec pause = {0, 200000};
	static char block[16384];

	while (read(full_fds[0], block, sizeof(block)) > 0)
		nanosleep(&pause, NULL);
	return NULL;
}

static int open_all(void)
{
	struct epoll_event wanted = {.events = EPOLLIN};
	cpu_set_t set;

	cpu_cnt = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
	nice_value = getpriority(PRIO_PROCESS, 0);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	if (null_fd < 0 || event_fd < 0 || epoll_fd < 0 || semaphore < 0 || queue < 0 ||
	    pipe(pipe_fds) || pipe(full_fds))
		return -1;
	fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK);
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &wanted);
}

int main(int argc, char **argv)
{
	struct timespec length = {argc > 1 ? strtol(argv[1], NULL, 10) : 3, 0};
	pthread_t threads[WAIT_THREADS + 2], waker;
	atomic_bool wakes = true;

	if (open_all())
		return 2;
	pthread_create(&waker, NULL, run_waker, &wakes);
	for (uintptr_t i = 0; i < WAIT_THREADS; i++)
		pthread_create(&threads[i], NULL, run_waits, (void *)(2 * WAIT_EVERY * i));
	pthread_create(&threads[WAIT_THREADS], NULL, run_writer, NULL);
	pthread_create(&threads[WAIT_THREADS + 1], NULL, run_reader, NULL);
	if (clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL))
		complain("clock_nanosleep, errno", errno);
	atomic_store(&stop, true);
	for (int i = 0; i < WAIT_THREADS + 2; i++)
		pthread_join(threads[i], NULL);
	wakes = false;
	pthread_join(waker, NULL);
	semctl(semaphore, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	if (atomic_load(&seen))
		return 1;
	printf("calls_watch clean\n");
	return 0;
}
