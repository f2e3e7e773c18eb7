// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that works, and now and then touches a page which a server has to bring: a FUSE file
 * mapped into memory, or memory under userfaultfd. The server answers at once until it is told to
 * be dead; then the program sleeps in the kernel, in the middle of an instruction, for as long.
 *
 *     parked fuse DIR      reads a page of a file in DIR, which it mounts
 *     parked uffd          reads a page
 *     parked table         calls through a pointer that lies in the page (under userfaultfd)
 *
 * With one argument more, a number, both are of that user and without rights.
 *
 * First line of output: `server PID`. SIGUSR1 makes the server dead when the program next waits
 * for it while somebody traces the program: `dead after N faults, N of them traced`. SIGHUP: when
 * the program next waits for it at all. SIGUSR2 brings it back.
 * SIGTERM ends the program: `right`, or what was not right, and status 1. The server ends with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "become.h"
#include "fuse_server.h"

#define PAGE     FUSE_PAGE
#define PAGE_CNT 2048u
/*
 * Loops of work. A sampler finds the program in the long one, between two batches of pages, and
 * then waits until it leaves the kernel: just behind a fault. The next has to be so near that a
 * window of single steps reaches it.
 */
#define BATCH     64u /* pages */
#define BETWEEN   4u
#define THINK     200000u
#define LIFE_S    3000
#define EXIT_SKIP 77

/* The event that makes the server die: none, the next fault of a traced program, any fault. */
enum mortal { IMMORTAL, MORTAL_IF_TRACED, MORTAL };

static volatile sig_atomic_t mortal = IMMORTAL, over;
static volatile uint64_t sink;
static const char *user; /* whose program and server become; NULL: they stay who they are */

static void on_signal(int signal)
{
	if (signal == SIGTERM)
		over = 1;
	else if (signal == SIGHUP)
		mortal = MORTAL;
	else
		mortal = signal == SIGUSR1 ? MORTAL_IF_TRACED : IMMORTAL;
}

static uint64_t called(uint64_t x)
{
	return x * 3 + 1;
}

static void fill(void *page, uint64_t number)
{
	uint64_t *words = page;

	words[0] = (uint64_t)(uintptr_t)called;
	for (size_t i = 1; i < PAGE / sizeof(*words); i++)
		words[i] = number * 7919;
}

/* ---- the server */

static int is_traced(pid_t pid)
{
	char path[32], text[4096];
	const char *line;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	line = strstr(text, "TracerPid:\t");
	return line && line[strlen("TracerPid:\t")] != '0';
}

static unsigned long fault_cnt, traced_cnt;

/* Signals are open in here only, so that none is missed. */
static void die_if_mortal(const sigset_t *open_mask)
{
	int traced = is_traced(getppid());

	fault_cnt++;
	traced_cnt += (unsigned long)traced;
	if (mortal == IMMORTAL || (mortal == MORTAL_IF_TRACED && !traced))
		return;
	printf("dead after %lu faults, %lu of them traced\n", fault_cnt, traced_cnt);
	fflush(stdout);
	while (mortal != IMMORTAL)
		sigsuspend(open_mask);
}

static void fill_pages(void *pages, uint64_t offset, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes / PAGE; i++)
		fill((char *)pages + i * PAGE, offset / PAGE + i);
}

static void serve_fuse(int fd)
{
	static const struct fuse_file_served file = {.len_bytes = PAGE * PAGE_CNT,
						     .mode = 0444,
						     .valid_s = 3600,
						     .read_ahead_bytes = PAGE,
						     .fill = fill_pages};
	static char request[FUSE_REQUEST_BYTES];

	if (read(fd, request, sizeof(request)) > 0)
		fuse_answer_one(fd, &file, request);
	else if (errno == ENODEV)
		_exit(0);
}

static void serve_uffd(int fd, char *base)
{
	static char page[PAGE] __attribute__((aligned(4096)));
	struct uffd_msg message;
	uint64_t address;

	if (read(fd, &message, sizeof(message)) != sizeof(message) ||
	    message.event != UFFD_EVENT_PAGEFAULT)
		return;
	address = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1);
	fill(page, (address - (uint64_t)(uintptr_t)base) / PAGE);
	struct uffdio_copy copy = {.dst = address, .src = (uint64_t)(uintptr_t)page, .len = PAGE};
	ioctl(fd, UFFDIO_COPY, &copy);
}

static _Noreturn void serve(int fd, char *uffd_base, const sigset_t *open_mask)
{
	become(user);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct pollfd wanted = {.fd = fd, .events = POLLIN};

		if (ppoll(&wanted, 1, NULL, open_mask) <= 0)
			continue;
		die_if_mortal(open_mask);
		if (uffd_base)
			serve_uffd(fd, uffd_base);
		else
			serve_fuse(fd);
	}
}

static void start_server(int fd, char *uffd_base)
{
	sigset_t held, before;
	pid_t pid;

	sigemptyset(&held);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGUSR1);
	sigaddset(&held, SIGUSR2);
	sigprocmask(SIG_BLOCK, &held, &before);
	pid = fork();
	if (pid == 0)
		serve(fd, uffd_base, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fd);
	printf("server %d\n", pid);
	fflush(stdout);
}

/* ---- what it serves */

static char *refused(const char *what)
{
	printf("refused: %s: %s\n", what, strerror(errno));
	return NULL;
}

static char *map_fuse(const char *dir, int *ret_file)
{
	char text[256];
	int fd = fuse_mount(dir, "parked");

	if (fd < 0)
		return refused("FUSE");
	start_server(fd, NULL);
	snprintf(text, sizeof(text), "%s/f", dir);
	*ret_file = open(text, O_RDONLY | O_CLOEXEC);
	if (*ret_file < 0)
		return refused(text);
	return mmap(NULL, PAGE * PAGE_CNT, PROT_READ, MAP_SHARED, *ret_file, 0);
}

static char *map_uffd(void)
{
	char *base = mmap(NULL, PAGE * PAGE_CNT, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = {.start = (uint64_t)(uintptr_t)base, .len = PAGE * PAGE_CNT},
		.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return refused("userfaultfd");
	start_server(fd, base);
	return base;
}

/* ---- the work */

static uint64_t call_through(const uint64_t *pointer, uint64_t x)
{
	uint64_t result;

	__asm__ volatile("call *(%1)"
			 : "=a"(result), "+r"(pointer), "+D"(x)
			 :
			 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

static void compute(uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt; i++)
		if (i % 3)
			sink += i;
}

static int touch(const char *page, uint64_t number, int by_call)
{
	const volatile uint64_t *words = (const volatile uint64_t *)page;

	compute(BETWEEN);
	if (by_call && call_through((const uint64_t *)page, number) != number * 3 + 1)
		return 0;
	return words[1] == number * 7919;
}

/* Takes the pages away, so that they have to be brought again. */
static void forget(char *base, int file)
{
	madvise(base, PAGE * PAGE_CNT, MADV_DONTNEED);
	if (file >= 0)
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

static int work(char *base, int file, int by_call)
{
	uint64_t number = 0;

	while (!over) {
		if (!touch(base + number % PAGE_CNT * PAGE, number % PAGE_CNT, by_call)) {
			printf("wrong in page %u\n", (unsigned int)(number % PAGE_CNT));
			return 1;
		}
		if (++number % PAGE_CNT == 0)
			forget(base, file);
		if (number % BATCH == 0)
			compute(THINK);
	}
	printf("right\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	const char *kind = argc > 1 ? argv[1] : "";
	char *base = NULL;
	int file = -1;

	alarm(LIFE_S);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	if (argc > 2 && !strcmp(kind, "fuse")) {
		user = argv[3];
		base = map_fuse(argv[2], &file);
	} else if (argc > 1 && (!strcmp(kind, "uffd") || !strcmp(kind, "table"))) {
		user = argv[2];
		base = map_uffd();
	}
	if (!base || base == MAP_FAILED)
		return EXIT_SKIP;
	become(user);
	madvise(base, PAGE * PAGE_CNT, MADV_RANDOM);
	return work(base, file, !strcmp(kind, "table"));
}
