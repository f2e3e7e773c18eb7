// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file server that stops answering: `silent DIR FILE` mounts DIR, where any name is a file with
 * the bytes of FILE. It prints "serving". SIGUSR1: from now on each request is taken and never
 * answered, so that who waits cannot even be killed; SIGUSR2: it answers again, those that wait
 * first. It ends with SIGTERM, or when the mount is gone; who waits then gets an error. `silent DIR
 * FILE UID` serves as that user.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "become.h"
#include "fuse_server.h"

#define WAITING_MAX 256
#define LIFE_S      120

static volatile sig_atomic_t is_silent;
static const char *bytes;
static char *waiting[WAITING_MAX];
static unsigned int waiting_cnt;

static void on_signal(int signal)
{
	is_silent = signal == SIGUSR1;
}

static void fill(void *pages, uint64_t offset, size_t len_bytes)
{
	memcpy(pages, bytes + offset, len_bytes);
}

static struct fuse_file_served read_file(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		exit(1);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		exit(1);
	/* nothing is believed for longer than a request */
	return (struct fuse_file_served){.len_bytes = (uint64_t)st.st_size,
					 .mode = 0555,
					 .read_ahead_bytes = FUSE_PAGE,
					 .fill = fill};
}

static void keep(const char *request, size_t len_bytes)
{
	if (waiting_cnt == WAITING_MAX)
		return;
	waiting[waiting_cnt] = malloc(len_bytes);
	if (!waiting[waiting_cnt])
		exit(1);
	memcpy(waiting[waiting_cnt++], request, len_bytes);
	printf("silent\n");
	fflush(stdout);
}

static void answer_waiting(int fd, const struct fuse_file_served *file)
{
	for (unsigned int i = 0; i < waiting_cnt; i++) {
		fuse_answer_one(fd, file, waiting[i]);
		free(waiting[i]);
	}
	waiting_cnt = 0;
}

static void serve_one(int fd, const struct fuse_file_served *file)
{
	static char request[FUSE_REQUEST_BYTES];
	ssize_t len_bytes = read(fd, request, sizeof(request));

	if (len_bytes < 0 && errno == ENODEV)
		exit(0);
	if (len_bytes <= 0)
		return;
	if (is_silent)
		keep(request, (size_t)len_bytes);
	else
		fuse_answer_one(fd, file, request);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct fuse_file_served file;
	int fd;

	if (argc != 3 && argc != 4)
		return 2;
	alarm(LIFE_S);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	file = read_file(argv[2]);
	fd = fuse_mount(argv[1], "silent");
	if (fd < 0) {
		printf("refused: %s\n", strerror(errno));
		return 77;
	}
	become(argv[3]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("serving\n");
	fflush(stdout);
	for (;;) {
		struct pollfd wanted = {.fd = fd, .events = POLLIN};

		if (poll(&wanted, 1, 100) > 0)
			serve_one(fd, &file);
		if (!is_silent)
			answer_waiting(fd, &file);
	}
}
