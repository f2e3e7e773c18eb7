// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A neighbour whose every process has another name, none of them fit to be printed. Until killed:
 *
 *     name_flood files DIR    runs copies of itself under ever new paths in DIR, each with a
 *                             build-id of its own, and lets them map more of the kind
 *     name_flood groups DIR   runs itself in ever new control groups below DIR, where it is
 *     name_flood work         is what runs: some milliseconds of computing
 *
 * It prints "flooding" when it has begun. Names hold what controls a terminal, forges a line of a
 * log, is no UTF-8, breaks JSON, or does not end. Only files that exist have names, so what is made
 * is removed again at once.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IMAGE_MAX  (1u << 20)
#define DEPTH      17
#define WORK_NS    8000000
#define ID_BYTES   20
#define LONG_BYTES 200

static char image[IMAGE_MAX];
static size_t image_bytes;
static unsigned char *image_id; /* its build-id, in image */

static long long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void work(void)
{
	static volatile unsigned long sink;

	while (cpu_ns() < WORK_NS)
		for (unsigned long i = 0; i < 10000; i++)
			if (i % 3)
				sink += i;
	_exit(0);
}

/* What the number-th file is called; where a directory has no newline, so has that. */
static void name_of(unsigned int number, const char *suffix, char *name, size_t size)
{
	static const char *const kinds[] = {
		"\033[2J\033]0;owned\a%u%s",
		"\n<0>pathprofd: forged %u\r%s",
		"\x80\xff\xc3(\xed\xa0\x80%u%s",
		"\\x1b[31m\\x0a%u%s",
		"\"},{\"%u\":[%s",
		"\xe2\x80\xae\xc2\x9b%u%s",
		"';DROP TABLE binaries;--%u%s",
		"%u%%s%%n%s",
	};

	if (number % 16 < 8) {
		snprintf(name, size, kinds[number % 8], number, suffix);
		return;
	}
	memset(name, 'a' + (int)(number % 26), LONG_BYTES);
	snprintf(name + LONG_BYTES, size - LONG_BYTES, "%u\033[7m%s", number, suffix);
}

/* ---- files */

static void read_image(const char *self)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, image, sizeof(image));

	if (got <= (ssize_t)sizeof(Elf64_Ehdr))
		exit(1);
	image_bytes = (size_t)got;
	image_id = memmem(image, image_bytes, "\024\0\0\0\003\0\0\0GNU", 12);
	if (!image_id)
		exit(1);
	image_id += 12;
	close(fd);
}

static int write_copy(const char *name, unsigned int number)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t done;

	if (fd < 0)
		return -1;
	memcpy(image_id, &number, sizeof(number));
	memcpy(image_id + sizeof(number), &(pid_t){getpid()}, sizeof(pid_t));
	done = write(fd, image, image_bytes);
	close(fd);
	return done == (ssize_t)image_bytes ? 0 : -1;
}

/* Code of the file, under one name after the other. */
static void map_under_names(const char *name, unsigned int number)
{
	char next[512];

	for (unsigned int i = 0; i < 8; i++) {
		int fd;

		name_of(number * 8 + i, "m", next, sizeof(next));
		fd = link(name, next) ? -1 : open(next, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		unlink(next);
	}
}

static void run_copy(unsigned int number)
{
	char name[512];
	pid_t pid;

	name_of(number, "", name, sizeof(name));
	if (write_copy(name, number))
		return;
	pid = fork();
	if (pid == 0) {
		map_under_names(name, number);
		execl(name, name, "work", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	unlink(name);
}

/* As deep as a path may be long, nearly. */
static void go_down(const char *dir)
{
	char name[256];

	memset(name, 'd', LONG_BYTES);
	name[LONG_BYTES] = '\0';
	memcpy(name, "\033[5m\n", 5);
	if (chdir(dir))
		exit(1);
	for (unsigned int i = 0; i < DEPTH; i++)
		if ((mkdir(name, 0755) && errno != EEXIST) || chdir(name))
			exit(1);
}

static void flood_files(const char *dir, unsigned int number)
{
	/* one half of the names is short, the other as long as can be */
	if (number % 2)
		go_down(dir);
	else if (chdir(dir))
		exit(1);
	for (;; number += 2)
		run_copy(number);
}

/* ---- control groups */

static void group_name(unsigned int number, char *name, size_t size)
{
	if (number % 4 == 0)
		snprintf(name, size, "%064x", number);
	else
		name_of(number, ".service", name, size);
	for (char *at = name; *at; at++)
		if (*at == '\n' || *at == '/')
			*at = '\r';
}

static int enter(const char *group)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, "0", 1) != 1;
}

static void run_in_group(unsigned int number)
{
	char name[512];
	pid_t pid;

	group_name(number, name, sizeof(name));
	if (mkdir(name, 0755))
		return;
	pid = fork();
	if (pid == 0) {
		if (!enter(name))
			work();
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	rmdir(name);
}

static void flood_groups(const char *dir, unsigned int number)
{
	if (chdir(dir))
		exit(1);
	for (;; number += 2)
		run_in_group(number);
}

int main(int argc, char **argv)
{
	unsigned int number;

	if (argc == 2 && !strcmp(argv[1], "work"))
		work();
	if (argc != 3)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	read_image(argv[0]);
	puts("flooding");
	fflush(stdout);
	number = fork() == 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(argv[1], "files"))
		flood_files(argv[2], number);
	if (!strcmp(argv[1], "groups"))
		flood_groups(argv[2], number);
	return 2;
}
