/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * How a process that reads files of others gives up what it does not need for that. Such a process
 * is a child of the one with the rights, made by fork; a file that gets the better of a reader then
 * gets a process that can do nothing.
 *
 * Workload: once a child. Any process of one thread; every function is about the calling one.
 * Source: capabilities(7), setresuid(2), setrlimit(2), seccomp(2), prctl(2).
 */
#ifndef PATHPROF_CONFINE_H
#define PATHPROF_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the calling process may do more than an ordinary user. */
bool pathprof_confine_has_rights(void);

/* Signals as at the start of a program, but SIGPIPE, which stays as it is. */
void pathprof_confine_signals(void);
/* Closes every descriptor above last. -errno. */
int pathprof_confine_descriptors(int last);

/* Bytes are counted from what is mapped now; lower limits that hold already stay. */
struct pathprof_confine_limits {
	uint64_t more_bytes, more_data_bytes; /* of address space, files mapped included; of data */
	uint64_t file_bytes;                  /* of any file written; UINT64_MAX: as before */
	uint32_t cpu_s;
};
/* These, and no core file; when memory gets short this process goes first. */
void pathprof_confine_limits(const struct pathprof_confine_limits *limits);

/* Keeps those capabilities of the cnt that it has, and can never get others. -errno. */
int pathprof_confine_capabilities(const int *kept, size_t cnt);
/*
 * Root becomes nobody: not a user of ours, whose files and processes would be in reach. Another
 * user stays who it is. -EPERM: root without CAP_SETUID or CAP_SETGID, as containers have it, stays
 * root as far as these forbid; capabilities and calls can be given up all the same. Else -errno.
 */
int pathprof_confine_identity(void);
/*
 * No system call but what it takes to read descriptors that are open, to write to a socket and to
 * have memory: no file but what stat() and readlink() tell, no process, no network. open() asks
 * open_file, a descriptor or -errno. -errno.
 */
typedef int pathprof_confine_open_fn(const char *path);
int pathprof_confine_calls(pathprof_confine_open_fn *open_file);

#ifdef __cplusplus
}
#endif

#endif
