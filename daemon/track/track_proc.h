/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers of /proc: a process's stat line, its executable mappings, the processes there are.
 * Mappings are read by ioctl(PROCMAP_QUERY) where the kernel has it (6.11), else from the text of
 * /proc/PID/maps.
 *
 * Everything read is checked: names of processes and files are chosen by whoever runs them.
 * Stateless but for what the caller passes; any thread.
 */
#ifndef PP_TRACK_PROC_H
#define PP_TRACK_PROC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "pathprof/build_id.h"

/* Takes a descriptor out of a variable that would close it. */
static inline int pp_fd_take(int *fd)
{
	int taken = *fd;

	*fd = -EBADF;
	return taken;
}

struct pp_stat {
	char comm[16];
	char state;
	bool is_kernel; /* a thread of the kernel's own */
	pid_t ppid;
	uint32_t thread_cnt;
	uint64_t start_time; /* clock ticks since boot */
	uint64_t signature;  /* of code and stack addresses: another one after an exec; 0: none */
	pid_t tid; /* a thread that /proc shows mappings of: the first one, unless it has ended */
};

/* No thread runs any more. */
static inline bool pp_stat_is_dead(const struct pp_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
}

struct pp_vma {
	uint64_t start, end; /* addresses, [start, end) */
	uint64_t offset;     /* file offset of start */
	uint32_t dev_major, dev_minor;
	uint64_t inode, generation; /* 0: not known */
	const struct stat *looked;  /* of the file behind it; NULL: nobody has looked */
	bool is_refused;            /* pp_proc_look_mapped() was, so that is not tried again */
	const char *name;           /* "" for none; valid during the callback */
};
/* The name of a file whose path has more than PATH_MAX bytes, where the kernel does not tell it. */
#define PP_PROC_LONG_NAME "/(a path of more than 4095 bytes)"

/* A non-zero return ends the reading and is returned. */
typedef int pp_vma_fn(void *context, const struct pp_vma *vma);

/* -EINVAL when text is no /proc/PID/stat line. */
int pp_proc_parse_stat(const char *text, struct pp_stat *ret_stat);
/*
 * One line of /proc/PID/maps; line is cut into pieces, ret_vma->name points into it. 1: an
 * executable mapping, 0: another one, -EINVAL: no such line.
 */
int pp_proc_parse_vma(char *line, struct pp_vma *ret_vma);

/*
 * -ESRCH when there is no such process. State, signature and tid are those of another thread where
 * the first one has ended and others run on: the kernel shows no memory of the first one then.
 */
int pp_proc_stat(pid_t pid, struct pp_stat *ret_stat);
/*
 * Calls fn for each executable mapping, by address. *query: whether to try the ioctl; cleared
 * when the kernel has none. The number of mappings, or -ESRCH, -EACCES; -ETIME when it was not done
 * at until_ns (CLOCK_MONOTONIC; 0: it has all the time): each page of the list waits until the
 * process' own threads change nothing.
 */
int pp_proc_vmas(pid_t pid, bool *query, uint64_t until_ns, pp_vma_fn *fn, void *context);
/* All processes, or only_pid and its descendants. Caller frees *ret_pids. */
int pp_proc_pids(pid_t only_pid, pid_t **ret_pids, size_t *ret_cnt);
/* The threads of pid. Caller frees *ret_tids. -ESRCH. */
int pp_proc_tids(pid_t pid, pid_t **ret_tids, size_t *ret_cnt);
/* The pid it has in its own pid namespace, and its user. From the text of /proc/PID/status. */
int pp_proc_parse_status(const char *text, pid_t *ret_inner_pid, uid_t *ret_uid);
int pp_proc_status(pid_t pid, pid_t *ret_inner_pid, uid_t *ret_uid);
/* The user of process pid; (uid_t)-1 when that cannot be told. */
uid_t pp_proc_uid(pid_t pid);
/* A path as the process sees it: pathprof_foreign_look() below its root directory. */
int pp_proc_look_inside(pid_t pid, const char *path);
/*
 * The file behind a mapping of pid, whatever its name is by now, as pathprof_foreign_look() finds
 * it. Waits for the lock of the address space, as pp_proc_vmas() does.
 */
int pp_proc_look_mapped(pid_t pid, uint64_t start, uint64_t end);
/* Whole small file into text (NUL-terminated, cut to size - 1); its length or -errno. */
int pp_proc_read(const char *path, char *text, size_t size);
/* The same of /proc/PID/NAME. -ESRCH: there is no such process. */
int pp_proc_read_of(pid_t pid, const char *name, char *text, size_t size);

#endif
