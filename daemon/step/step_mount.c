/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of procfs by their mount: see step_mount.h. */
#include "step_mount.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define KNOWN_CNT      64 /* a power of two */
#define KNOWN_NS       PP_NSEC_PER_SEC
#define HEAD_BYTES     128   /* pos, flags and mnt_id come first */
#define LIST_MAX_BYTES 32768 /* some 200 mounts: half a millisecond on a slow machine */

struct known {
	int mount;
	bool is_procfs;
	uint64_t until_ns; /* 0: nothing is known */
};

/* The number of the file's mount; -1: it cannot be told. */
static int mount_of(pid_t tid, int fd)
{
	char path[48], text[HEAD_BYTES];
	const char *mount;
	ssize_t len_bytes;
	int info;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (info < 0)
		return -1;
	len_bytes = read(info, text, sizeof(text) - 1);
	close(info);
	text[len_bytes > 0 ? len_bytes : 0] = 0;
	mount = strstr(text, "mnt_id:");
	return mount ? atoi(mount + strlen("mnt_id:")) : -1;
}

/* "36 35 98:0 /root /mount/point options - type source ..." */
static bool is_procfs_line(const char *line)
{
	const char *type = strstr(line, " - ");

	return type && !strncmp(type, " - proc ", strlen(" - proc "));
}

/* The beginning of a list, which each call overwrites: no memory is allocated for a held thread. */
static char *read_list(const char *list)
{
	static char text[LIST_MAX_BYTES + 1];
	int fd = open(list, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t len_bytes = 0;
	ssize_t got_bytes = fd < 0 ? 0 : 1;

	while (got_bytes > 0 && len_bytes < LIST_MAX_BYTES) {
		got_bytes = read(fd, text + len_bytes, LIST_MAX_BYTES - len_bytes);
		len_bytes += got_bytes > 0 ? (size_t)got_bytes : 0;
	}
	if (fd >= 0)
		close(fd);
	text[len_bytes] = 0;
	return text;
}

/* 1: of procfs, 0: not so, -1: the mount is not in this list, as far as that is read. */
static int look_up(const char *list, int mount)
{
	char *line = read_list(list), *end;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (atoi(line) == mount)
			return is_procfs_line(line);
	}
	return -1;
}

/*
 * The thread's list leaves out the mount that its root lies in, if that is a directory of it. Ours
 * has it where the mounts are ours, and process 1's where they are the machine's.
 */
static bool is_of_procfs(pid_t tid, int mount)
{
	char own[40];
	const char *const lists[] = {own, "/proc/self/mountinfo", "/proc/1/mountinfo"};
	int found = -1;

	snprintf(own, sizeof(own), "/proc/%d/mountinfo", tid);
	for (size_t i = 0; found < 0 && i < sizeof(lists) / sizeof(lists[0]); i++)
		found = look_up(lists[i], mount);
	return found != 0;
}

bool pp_step_mount_is_procfs(pid_t tid, int fd)
{
	static struct known table[KNOWN_CNT];
	int mount = mount_of(tid, fd);
	struct known *known = &table[(unsigned int)mount & (KNOWN_CNT - 1)];
	uint64_t now_ns = pp_monotonic_ns();

	if (mount < 0)
		return true;
	if (known->mount != mount || now_ns >= known->until_ns)
		*known = (struct known){mount, is_of_procfs(tid, mount), now_ns + KNOWN_NS};
	return known->is_procfs;
}
