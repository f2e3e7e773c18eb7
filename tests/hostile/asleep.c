// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that puts whoever looks at it to sleep in the kernel, beside a thread that computes and
 * is therefore looked at. It needs no rights but to mount a FUSE file system, whose server decides
 * for how long.
 *
 *     asleep exec DIR [UID]    a thread executes a file in DIR, which it mounts; its READ never
 *                              comes, and the process keeps its credentials' lock
 *     asleep fault DIR [UID]   a thread reads a page of a mapped file that never comes, with the
 *                              lock of the address space held, for which another thread waits
 *
 * Output: `server PID`, then `asleep` when the locks are held. It ends when the server is killed.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "become.h"
#include "fuse_server.h"

#define LIFE_S    120
#define EXIT_SKIP 77

/* How often the writer has had the lock of the address space. Shared with the server. */
static volatile unsigned long *writes;
static volatile unsigned long sink;
static char path[256];

static void fill(void *pages, uint64_t offset, size_t len_bytes)
{
	memset(pages, 0, len_bytes);
}

/*
 * A fault that meets an error is tried again, the last time with the lock held. Then nobody else
 * gets it, and this READ is the one that is not answered.
 */
static int may_answer(int is_exec)
{
	unsigned long before = *writes;

	poll(NULL, 0, is_exec ? 0 : 500);
	return !is_exec && *writes != before;
}

static _Noreturn void serve(int fd, int is_exec)
{
	static const struct fuse_file_served file = {
		.len_bytes = 1 << 20, .mode = 0555, .valid_s = 3600, .fill = fill};
	static char request[FUSE_REQUEST_BYTES];
	const struct fuse_in_header *in = (const struct fuse_in_header *)request;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ssize_t got = read(fd, request, sizeof(request));

		if (got < 0 && errno == ENODEV)
			_exit(0);
		if (got <= 0)
			continue;
		if (in->opcode != FUSE_READ) {
			fuse_answer_one(fd, &file, request);
		} else if (may_answer(is_exec)) {
			fuse_answer(fd, in->unique, -EIO, "", 0);
		} else {
			printf("asleep\n");
			fflush(stdout);
		}
	}
}

static void *execute(void *unused)
{
	char *const argv[] = {path, NULL};

	poll(NULL, 0, 300);
	execv(path, argv);
	return NULL;
}

static void *fault(void *unused)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	volatile char *page = mmap(NULL, FUSE_PAGE, PROT_READ, MAP_SHARED, fd, 0);

	madvise((void *)page, FUSE_PAGE, MADV_RANDOM);
	poll(NULL, 0, 300);
	sink += (unsigned long)page[0];
	return NULL;
}

static _Noreturn void *write_maps(void *unused)
{
	for (;;) {
		void *page = mmap(NULL, FUSE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(page, FUSE_PAGE);
		++*writes;
		poll(NULL, 0, 1);
	}
}

static _Noreturn void *compute(void *unused)
{
	for (unsigned long i = 0;; i++)
		if (i % 3)
			sink += i;
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
}

static int start_server(int fd, int is_exec)
{
	pid_t pid = fork();

	if (pid == 0)
		serve(fd, is_exec);
	close(fd);
	printf("server %d\n", pid);
	fflush(stdout);
	return pid < 0;
}

int main(int argc, char **argv)
{
	int is_exec = argc > 1 && !strcmp(argv[1], "exec");
	int fd;

	if (argc < 3)
		return 2;
	alarm(LIFE_S);
	snprintf(path, sizeof(path), "%s/f", argv[2]);
	writes = mmap(NULL, FUSE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fd = fuse_mount(argv[2], "asleep");
	if (fd < 0) {
		printf("refused: FUSE: %s\n", strerror(errno));
		return EXIT_SKIP;
	}
	become(argv[3]);
	if (start_server(fd, is_exec))
		return 1;
	start(is_exec ? execute : fault);
	if (!is_exec)
		start(write_maps);
	compute(NULL);
}
