// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Opening files of others: see pathprof/foreign.h for the workload and what is guarded against. */
#include "pathprof/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pp_foreign_asked.h"

_Static_assert(PATHPROF_OWN_ROOT == AT_FDCWD, "as the kernel calls it");

/* Some versions of <linux/magic.h> lack this. */
#define CONFIGFS_MAGIC 0x62656570
#define FUSECTL_MAGIC  0x65735543
#define MQUEUE_MAGIC   0x19800202

/* Files of these are regular in name only: reading one makes the kernel do something. */
static const unsigned long of_the_kernel[] = {
	PROC_SUPER_MAGIC, SYSFS_MAGIC,          DEBUGFS_MAGIC,  TRACEFS_MAGIC,
	SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,   BPF_FS_MAGIC,   CGROUP2_SUPER_MAGIC,
	EFIVARFS_MAGIC,   PSTOREFS_MAGIC,       SELINUX_MAGIC,  SMACK_MAGIC,
	BINFMTFS_MAGIC,   RDTGROUP_SUPER_MAGIC, CONFIGFS_MAGIC, FUSECTL_MAGIC,
	MQUEUE_MAGIC,     NSFS_MAGIC,
};

static bool is_of_the_kernel(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof(of_the_kernel) / sizeof(of_the_kernel[0]); i++)
		if ((unsigned long)fs.f_type == of_the_kernel[i])
			return true;
	return false;
}

/* Written once, before there are threads. */
static char *witness;
static size_t witness_size;

void pathprof_foreign_witness(char *text, size_t size)
{
	witness = text;
	witness_size = size;
}

/* Links that the kernel makes of descriptors and processes: their names say nothing to people. */
static bool is_of_links(const char *path)
{
	return !strncmp(path, "/proc/", strlen("/proc/")) ||
	       !strncmp(path, "/dev/fd/", strlen("/dev/fd/"));
}

/* The file that the link at path[0..len_bytes) leads to, what is behind it appended; else path. */
static const char *follow(const char *path, size_t len_bytes, char name[static PATH_MAX])
{
	const char *rest = path + len_bytes;
	char link[64];
	ssize_t link_bytes;

	if (len_bytes >= sizeof(link))
		return path;
	snprintf(link, sizeof(link), "%.*s", (int)len_bytes, path);
	link_bytes = readlink(link, name, PATH_MAX - 1);
	/* A pipe leads to "pipe:[123]". */
	if (link_bytes <= 0 || name[0] != '/' || (size_t)link_bytes + strlen(rest) >= PATH_MAX)
		return path;
	snprintf(name + link_bytes, PATH_MAX - (size_t)link_bytes, "%s", rest);
	return name;
}

/* "/proc/self/fd/3" or a name below it, as of a perf directory: the file; else path. */
static const char *name_of(const char *path, char name[static PATH_MAX])
{
	const char *found = path;

	if (!is_of_links(path))
		return path;
	found = follow(path, strlen(path), name);
	if (found == path)
		found = follow(path, (size_t)(strrchr(path, '/') - path), name);
	/* /dev/fd itself is a link to /proc/self/fd. */
	return is_of_links(found) ? path : found;
}

void pathprof_foreign_tell(const char *path)
{
	char buffer[PATH_MAX];
	const char *name;
	size_t len_bytes;

	if (!witness || !witness_size)
		return;
	name = name_of(path, buffer);
	len_bytes = strnlen(name, witness_size - 1);
	memcpy(witness, name, len_bytes);
	memset(witness + len_bytes, 0, 1);
}

static const struct pp_foreign_asked *who_is_asked;

void pp_foreign_ask(const struct pp_foreign_asked *asked)
{
	who_is_asked = asked;
}

const struct pp_foreign_asked *pp_foreign_is_asked(void)
{
	return who_is_asked;
}

static int ask(int root_fd, const char *path)
{
	return root_fd == PATHPROF_OWN_ROOT ? who_is_asked->open(path) : -EACCES;
}

int pathprof_foreign_root(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

/* A name with "..", when others rename or mount anything meanwhile, fails with EAGAIN so often. */
#define TRIES_MAX 32

/* Fails with ENOSYS before Linux 5.6: without RESOLVE_IN_ROOT a link could lead out of the root. */
static int find_below(int root_fd, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int fd = -1;

	for (int i = 0; i < TRIES_MAX; i++) {
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

static int look(int root_fd, const char *path)
{
	struct stat st;
	int fd, r = 0;

	pathprof_foreign_tell(path);
	fd = root_fd == PATHPROF_OWN_ROOT ? open(path, O_PATH | O_CLOEXEC)
					  : find_below(root_fd, path);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || is_of_the_kernel(fd))
		r = -EINVAL;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int pathprof_foreign_look(int root_fd, const char *path)
{
	return who_is_asked ? ask(root_fd, path) : look(root_fd, path);
}

int pathprof_foreign_read(int looked_fd)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", looked_fd);
	/* O_NONBLOCK: does not wait until a lease is given back */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int pathprof_foreign_open(int root_fd, const char *path, struct pathprof_error *error)
{
	int looked_fd = pathprof_foreign_look(root_fd, path), fd = looked_fd;

	if (looked_fd == -EINVAL)
		return pathprof_fail(error, -EINVAL, "%s: is no regular file", path);
	if (looked_fd >= 0 && !who_is_asked) {
		fd = pathprof_foreign_read(looked_fd);
		close(looked_fd);
	}
	errno = fd < 0 ? -fd : 0;
	return fd < 0 ? pathprof_fail(error, fd, "%s: cannot be opened: %m", path) : fd;
}
