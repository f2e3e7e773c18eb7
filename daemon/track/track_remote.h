/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files whose file system asks somebody else: FUSE, NFS and their like. If that somebody does
 * not answer, whoever looks a file up, asks for its size or reads it sleeps for as long, and under
 * FUSE cannot even be killed. The event loop must never sleep: such a file is looked at by a child,
 * which is waited for a tenth of a second and then left to itself.
 *
 * Which files these are is told by their device and the process' list of mounts, which asks nobody.
 * A device of no mount in that list is taken for one if it has no disk. What cannot be told: a file
 * system that stands on one of these, as an overlay does; a disk behind a network.
 *
 * A device whose last child is still out is not asked again; all waiting together takes 2 % of the
 * time, up to half a second at once.
 *
 * Workload: a mount list each half minute and device, each second where it has neither disk nor
 * server (50 us), a child each new file of such a device (1 ms); our own list once a change, and a
 * question to the kernel each look. One owner, the tracker.
 */
#ifndef PP_TRACK_REMOTE_H
#define PP_TRACK_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct pp_remote;

int pp_remote_new(struct pp_remote **ret_remote);
/* Ends children that are still out, as far as they can be ended. NULL-safe. */
void pp_remote_free(struct pp_remote *remote);

/* Whether a file that pid has mapped, on this device, is of another machine or program. */
bool pp_remote_has(struct pp_remote *remote, pid_t pid, uint32_t dev_major, uint32_t dev_minor);

/* The same of an absolute path in the mounts of pid, no link followed. No state. */
bool pp_remote_path(pid_t pid, const char *path);
/* The same by a list of mounts as mountinfo has it. */
bool pp_remote_listed(FILE *mounts, const char *path);
/* The same in our own mounts, whose list is read anew only when it has changed. */
bool pp_remote_own_path(struct pp_remote *remote, const char *path);

/* In the child: fills answer; what it returns is told. */
typedef int pp_remote_fn(void *context, void *answer);
#define PP_REMOTE_ANSWER_MAX 512
/*
 * Returns fn's result, its answer in ret_answer; -ETIMEDOUT: fn did not return in time, -EBUSY: it
 * is not the time to ask. ret_answer is only touched when fn returned 0.
 */
int pp_remote_ask(struct pp_remote *remote, uint64_t dev, pp_remote_fn *fn, void *context,
		  void *ret_answer, size_t answer_bytes);
/* CPU time of the children that have ended. */
uint64_t pp_remote_cpu_ns(const struct pp_remote *remote);

#endif
