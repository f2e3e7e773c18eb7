/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Files of others: binaries of profiled processes, the sources and debug files they name, what
 * compilers leave in /tmp. Whoever chose the name or put the file there may want us to open
 * something else: a device acts when it is opened (a watchdog is armed), a FIFO blocks, a leased
 * file blocks for 45 seconds, a file of /proc or tracefs hands out what only its reader should
 * see, a link in a process' root leads out of it.
 *
 * Therefore a file is first examined without being opened (O_PATH), and then opened through that
 * descriptor, not by its name. Everything here goes that way, and nothing else opens such files
 * (tests/lint/opens).
 *
 * A process apart (pathprof/apart.h) can open nothing: there all this is asked of whom it belongs
 * to, and a file that was looked at is open already.
 *
 * Workload: some hundred files a minute. Any thread; no state but the witness and who is asked.
 * Descriptors are the caller's, all of them closed on exec. Source: openat2(2), proc(5), fcntl(2)
 * (leases).
 */
#ifndef PATHPROF_FOREIGN_H
#define PATHPROF_FOREIGN_H

#include <stddef.h>
#include <sys/types.h>

#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Instead of a root: the caller's own, where a relative path begins at the working directory. */
#define PATHPROF_OWN_ROOT (-100) /* AT_FDCWD */

/* The root directory of a process, for the functions below. A descriptor; -ESRCH, -EACCES. */
int pathprof_foreign_root(pid_t pid);

/*
 * The regular file at path, found but not opened: a descriptor for fstat() and for
 * pathprof_foreign_read(). Below root_fd no link and no ".." leads out of it. -EINVAL: something
 * else than a regular file, or a file of the kernel's (procfs, sysfs and their like).
 */
int pathprof_foreign_look(int root_fd, const char *path);

/* Opens for reading what was looked at; the given descriptor remains the caller's. */
int pathprof_foreign_read(int looked_fd);

/* Both at once; error says what is wrong with the path. */
int pathprof_foreign_open(int root_fd, const char *path, struct pathprof_error *error);

/*
 * From now on text always says which file is being read, as far as that is known: for an observer
 * of this process from outside. text may be shared memory and belongs to the caller until the
 * process ends. Before any thread is started; NULL: no more.
 */
void pathprof_foreign_witness(char *text, size_t size);

/* Reading goes on with the file at path; of a descriptor's path the file's own is told. Any thread.
 */
void pathprof_foreign_tell(const char *path);

#ifdef __cplusplus
}
#endif

#endif
