/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long all CPUs together have run user code since the machine started, as /proc/stat has it:
 * for a service that may open no clock events. The time of virtual machines on this one is left
 * out, for no source sees into them.
 *
 * In a container /proc/stat tells of the whole machine, most of which no source there sees: nothing
 * is known then.
 *
 * Workload: every two seconds.
 * Source: proc_stat(5), pid_namespaces(7).
 */
#ifndef PP_USER_TIME_H
#define PP_USER_TIME_H

#include <stdint.h>

#define PP_USER_TIME_STAT "/proc/stat"
#define PP_USER_TIME_NS   "/proc/self/ns/pid"

/* The paths are those two but in tests. -ENOTSUP in a container, -EBADMSG, or another -errno. */
int pp_user_time_read(const char *stat_path, const char *ns_path, uint64_t *ret_ns);

#endif
