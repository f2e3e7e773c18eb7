/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container or service a process belongs to, from its cgroup paths (v1 and v2): the id of a
 * docker, podman, CRI or containerd container (64 hex digits), the name of an LXC or
 * systemd-nspawn one, else the systemd service. The innermost wins.
 *
 * Workload: once a process that is asked about. Pure but for the reading; any thread.
 */
#ifndef PP_TRACK_CGROUP_H
#define PP_TRACK_CGROUP_H

#include <stddef.h>
#include <sys/types.h>

#define PP_CGROUP_NAME_MAX 128

/* The kinds of name that a path gives, in ascending order of preference. */
enum pp_cgroup_rank {
	PP_CGROUP_RANK_NONE,
	PP_CGROUP_RANK_SERVICE,
	PP_CGROUP_RANK_CONTAINER,
};

/* From one path, as "/system.slice/foo.service"; name holds size bytes, "" for none. */
enum pp_cgroup_rank pp_cgroup_rank(const char *path, char *name, size_t size);
/* From the text of /proc/PID/cgroup; name holds size bytes, "" for none. Returns name. */
char *pp_cgroup_parse(const char *text, char *name, size_t size);
/* -ESRCH when there is no such process. */
int pp_cgroup_read(pid_t pid, char *ret_name, size_t size);

#endif
