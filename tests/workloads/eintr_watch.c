// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks in system calls that tell when they are interrupted, between short bouts of work that make
 * it a target, and accepts neither an EINTR (nobody sends it a signal) nor a time-out that came
 * early or very late, nor a short transfer.
 *
 *     eintr_watch [SECONDS]
 *
 * Prints "eintr_watch clean" and exits 0, or what it saw and exits 1.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS   3
#define LATE_MS   60000
#define NS_PER_MS 1000000ll

static atomic_int seen;
static atomic_bool stop;
static volatile uint64_t sink;

static void complain(const char *call, const char *what, long long value)
{
	if (atomic_fetch_add(&seen, 1) < 20)
		printf("eintr_watch: %s: %s %lld\n", call, what, value);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

static void work(long long length_ns)
{
	long long end = now_ns() + length_ns;

	while (now_ns() < end)
		for (unsigned int i = 0; i < 200; i++)
			if (i % 3)
				sink += i;
}

static int wait_epoll(void)
{
	static _Thread_local int fd = -1;
	struct epoll_event event;

	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_wait(fd, &event, 1, WAIT_MS);
}

static int wait_poll(void)
{
	return poll(NULL, 0, WAIT_MS);
}

static int wait_select(void)
{
	struct timeval timeout = {0, WAIT_MS * 1000L};

	return select(0, NULL, NULL, NULL, &timeout);
}

static int wait_nanosleep(void)
{
	struct timespec timeout = {0, WAIT_MS * NS_PER_MS};

	return nanosleep(&timeout, NULL);
}

/* Times out as it should: 0. */
static int wait_sigtimedwait(void)
{
	struct timespec timeout = {0, WAIT_MS * NS_PER_MS};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &timeout) < 0 && errno == EAGAIN ? 0 : -1;
}

static int wait_futex(void)
{
	struct timespec timeout = {0, WAIT_MS * NS_PER_MS};
	static uint32_t word;

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0) < 0 &&
			       errno == ETIMEDOUT
		       ? 0
		       : -1;
}

static int wait_receive(void)
{
	struct timeval timeout = {0, WAIT_MS * 1000L};
	static _Thread_local int pair[2] = {-1, -1};
	char byte;

	if (pair[0] < 0) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return -1;
		setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	}
	return recv(pair[0], &byte, 1, 0) < 0 && errno == EAGAIN ? 0 : -1;
}

static const struct {
	const char *name;
	int (*wait)(void);
} calls[] = {
	{"epoll_wait", wait_epoll},    {"poll", wait_poll},   {"select", wait_select},
	{"nanosleep", wait_nanosleep}, {"futex", wait_futex}, {"sigtimedwait", wait_sigtimedwait},
	{"recv", wait_receive},
};

static void try_call(size_t which)
{
	long long begin_ns = now_ns();
	long long waited_ns;

	errno = 0;
	if (calls[which].wait())
		complain(calls[which].name, "failed, errno", errno);
	waited_ns = now_ns() - begin_ns;
	if (waited_ns < (WAIT_MS - 1) * NS_PER_MS)
		complain(calls[which].name, "too early, ns", waited_ns);
	if (waited_ns > LATE_MS * NS_PER_MS)
		complain(calls[which].name, "too late, ns", waited_ns);
}

static void *run_waits(void *argument)
{
	size_t which = (size_t)(uintptr_t)argument;

	for (unsigned int round = 0; !atomic_load(&stop); round++) {
		work((round % 7 + 1) * NS_PER_MS / 4);
		try_call((which + round) % (sizeof(calls) / sizeof(calls[0])));
	}
	return NULL;
}

/* The other end of a pipe: what goes in comes out, in whole blocks where the kernel says so. */
static void *run_reader(void *argument)
{
	int fd = (int)(intptr_t)argument;
	char block[4096];
	unsigned char expected = 0;
	ssize_t got;

	while ((got = read(fd, block, sizeof(block))) > 0)
		for (ssize_t i = 0; i < got; i++)
			if ((unsigned char)block[i] != expected++)
				complain("read", "wrong byte at", i);
	if (got < 0)
		complain("read", "failed, errno", errno);
	return NULL;
}

static void *run_writer(void *argument)
{
	int fd = (int)(intptr_t)argument;
	char block[4096];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)i;
	while (!atomic_load(&stop)) {
		/* At most PIPE_BUF: never short, whoever interrupts. */
		ssize_t put = write(fd, block, sizeof(block));

		if (put != (ssize_t)sizeof(block))
			complain("write", put < 0 ? "failed, errno" : "short",
				 put < 0 ? errno : put);
		work(NS_PER_MS / 2);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	time_t seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
	struct timespec length = {seconds, 0};
	pthread_t threads[4];
	int ends[2];

	if (pipe(ends))
		return 2;
	pthread_create(&threads[0], NULL, run_waits, (void *)0);
	pthread_create(&threads[1], NULL, run_waits, (void *)3);
	pthread_create(&threads[2], NULL, run_reader, (void *)(intptr_t)ends[0]);
	pthread_create(&threads[3], NULL, run_writer, (void *)(intptr_t)ends[1]);
	if (clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL))
		complain("clock_nanosleep", "failed, errno", errno);
	atomic_store(&stop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (atomic_load(&seen))
		return 1;
	printf("eintr_watch clean\n");
	return 0;
}
