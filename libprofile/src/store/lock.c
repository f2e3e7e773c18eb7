// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * One writer: it holds flock on FILE.lock, which is never removed (to remove it would let two
 * writers hold two files of one name). Not on the database itself: closing a second descriptor of
 * it would drop SQLite's own locks.
 *
 * Children that a writer forked hold the lock as well, until they have ended. When the writer
 * itself is gone, killed perhaps, the next one waits for them.
 *
 * Workload: once a process. Locking: this. Ownership: the store has the descriptor.
 */
#include "pp_store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000 /* until children of a writer that is gone have ended */
#define PAUSE_MS    20

static int open_lock(const struct pathprof_store *store, struct pathprof_error *error)
{
	char *name = sqlite3_mprintf("%s.lock", store->file);

	if (!name)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	int r = fd < 0 ? -errno : 0;
	sqlite3_free(name);
	if (fd >= 0)
		return fd;
	return pathprof_fail(error, r,
			     "%s: its lock, %s.lock, cannot be opened (%s): see that the directory "
			     "is there and may be written, or use another file",
			     store->file, store->file, strerror(-r));
}

/* The process that took the lock last, as it wrote; 0: not known. */
static pid_t owner_of(int fd)
{
	char owner[32] = "";
	ssize_t got = pread(fd, owner, sizeof(owner) - 1, 0);

	return got > 0 ? (pid_t)strtol(owner, NULL, 10) : 0;
}

static bool is_gone(pid_t pid)
{
	return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* For the message of owner_of() only: that it cannot be written changes nothing. */
static void write_owner(int fd)
{
	char owner[32];
	int len = snprintf(owner, sizeof(owner), "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, owner, (size_t)len, 0) != len)
		errno = 0;
}

static int hold(int fd)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000l};

	for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		if (waited_ms >= PATIENCE_MS || !is_gone(owner_of(fd)))
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
}

static int say_busy(const struct pathprof_store *store, pid_t owner, struct pathprof_error *error)
{
	char who[48] = "";

	if (owner > 0)
		snprintf(who, sizeof(who), " (process %ld)", (long)owner);
	return pathprof_fail(error, -EBUSY,
			     "%s: another program writes to this store%s: stop it, or use another "
			     "file",
			     store->file, who);
}

int pp_store_lock(struct pathprof_store *store, struct pathprof_error *error)
{
	int fd = open_lock(store, error);
	int r = fd < 0 ? fd : hold(fd);

	if (fd < 0)
		return r;
	if (!r) {
		write_owner(fd);
		store->lock_fd = fd;
		return 0;
	}
	if (r == -EBUSY)
		say_busy(store, owner_of(fd), error);
	else
		pathprof_fail(error, r, "%s.lock: %s", store->file, strerror(-r));
	close(fd);
	return r;
}

void pp_store_unlock(struct pathprof_store *store)
{
	if (store->lock_fd < 0)
		return;
	/* Children that were forked meanwhile share the lock, and may live longer. */
	flock(store->lock_fd, LOCK_UN);
	close(store->lock_fd);
	store->lock_fd = -1;
}
