/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf side-band records in the order of time: executable mappings, exec, fork, exit. One dummy
 * software event a CPU (or, for one process tree, one a thread and CPU, inherited by what it
 * forks), each CPU with a ring buffer.
 *
 * Workload: a few records an exec; thousands of execs a second, and from an attacker as many as
 * the rings hold. pp_perf_drain empties the rings into an arena of bounded size, pp_perf_apply
 * sorts and hands out what is older than the moment the drain began, a few at a time: a record of
 * another CPU that is newer may have a predecessor not yet seen. A caller that cannot keep up
 * discards what there is.
 *
 * Barriers: data_head is read with acquire, before the records; data_tail written with release,
 * after them. They pair with the kernel's in perf_output_put_handle.
 * Ownership: the caller owns the struct; a record is valid during its callback. Not thread-safe.
 * Source: perf_event_open(2).
 */
#ifndef PP_TRACK_PERF_H
#define PP_TRACK_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/error.h"
#include "track_proc.h"

enum pp_perf_kind {
	PP_PERF_OTHER,
	PP_PERF_MAP,
	PP_PERF_COMM,
	PP_PERF_EXEC,
	PP_PERF_FORK,
	PP_PERF_EXIT,
	PP_PERF_LOST,
};

struct pp_perf_record {
	enum pp_perf_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid, tid;
	pid_t parent_pid;  /* FORK */
	uint64_t lost_cnt; /* LOST */
	struct pp_vma vma; /* MAP */
	const char *comm;  /* COMM, EXEC */
};

struct pp_perf;
typedef void pp_perf_fn(void *context, const struct pp_perf_record *record);

/*
 * cpus: a list as in /sys/devices/system/cpu/online ("0-3,8"), NULL: that file. only_pid 0: the
 * whole system. -EACCES, -EPERM, -ENOSYS ...: perf is refused. -ENOSPC, -EMFILE: the tree has too
 * many threads for an event each on every CPU.
 */
int pp_perf_open(struct pp_perf **ret_perf, pid_t only_pid, const char *cpus,
		 struct pathprof_error *error);
/* NULL-safe. */
void pp_perf_free(struct pp_perf *perf);
/* An epoll descriptor: readable when a ring is half full. */
int pp_perf_fd(const struct pp_perf *perf);
/* Whether the rings hold anything. */
bool pp_perf_has_records(const struct pp_perf *perf);
/* Takes out of the rings what is there. */
int pp_perf_drain(struct pp_perf *perf);
/* Whether something was drained that may be handed out. */
bool pp_perf_is_ready(const struct pp_perf *perf);
/* Hands out, by time, the first max_cnt of what was there when the last drain began. */
void pp_perf_apply(struct pp_perf *perf, size_t max_cnt, pp_perf_fn *fn, void *context);
/* Throws away what is in the rings and what was drained. Returns how many records that were. */
uint64_t pp_perf_discard(struct pp_perf *perf);
/* Whether an exec, fork or exit of pid was drained but not handed out. */
bool pp_perf_is_pending(const struct pp_perf *perf, pid_t pid);
/*
 * Opens CPUs that came and closes those that went, or went and came; cpus as above. 1 when some
 * came, so that events may have been missed; 0; or -errno.
 */
int pp_perf_update_cpus(struct pp_perf *perf, const char *cpus);
unsigned int pp_perf_cpu_cnt(const struct pp_perf *perf);

/* One record of len_bytes: -EINVAL when it is none. Pure. */
int pp_perf_decode(const void *bytes, size_t len_bytes, struct pp_perf_record *ret_record);
/*
 * Whether the event of a CPU, opened with PERF_FORMAT_TOTAL_TIME_ENABLED, counts: its time goes
 * on from one reading to the next. The kernel stops the event of a CPU that goes off for good, also
 * where the CPU is back at once, as after a suspend. An event that is paused does not count,
 * either.
 */
bool pp_perf_event_goes_on(int fd);
/* Marks the CPUs of a list in is_on[cnt]. -EINVAL. */
int pp_perf_parse_cpus(const char *text, bool *is_on, size_t cnt);

#endif
