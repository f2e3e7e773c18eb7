/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that put a stepper to sleep, and the users they belong to: whom a stepper leaves alone.
 * The kernel makes whoever touches a process wait for locks of it, and a process can keep them for
 * as long as a file server of its own does not answer.
 *
 * A process whose PTRACE_SEIZE had to be broken off is left alone for ten seconds, then for twice
 * as long each time: a slow disk does that, too, or a thread that executes on a busy machine. One
 * that a stepper fell asleep over is left alone for good. Each costs its user points; one with too
 * many is left alone altogether for an hour.
 *
 * Workload: asked once a sample, and nearly always empty. The table lies in the page that daemon
 * and stepper share: the stepper writes it while it runs, the daemon between two steppers.
 */
#ifndef PP_STEP_SILENT_H
#define PP_STEP_SILENT_H

#include <stdbool.h>
#include <stdint.h>

#define PP_STEP_SILENT_PID_MAX 64
#define PP_STEP_SILENT_UID_MAX 16
/* Points of a user, forgotten an hour after the first. */
#define PP_STEP_SILENT_SEIZE   1
#define PP_STEP_SILENT_STEPPER 16
#define PP_STEP_SILENT_LIMIT   64

struct pp_step_silent_pid {
	int32_t pid;
	uint32_t uid;
	uint64_t start_time; /* clock ticks since boot */
	uint64_t until_ns;   /* CLOCK_MONOTONIC; UINT64_MAX: for good */
	uint32_t times;      /* that it was found silent */
	uint32_t number;     /* of the entry, counted from 1 */
	bool told;           /* somebody asked pp_step_silent_tell() */
};

struct pp_step_silent_uid {
	uint32_t uid;
	uint32_t points;
	uint64_t since_ns; /* CLOCK_MONOTONIC of the first point */
	uint64_t until_ns; /* left alone until then */
};

struct pp_step_silent {
	uint32_t pid_cnt, uid_cnt;
	uint32_t total; /* entries ever made; stored last (release, for the daemon's acquire) */
	uint32_t pad;
	struct pp_step_silent_pid pids[PP_STEP_SILENT_PID_MAX];
	struct pp_step_silent_uid uids[PP_STEP_SILENT_UID_MAX];
};

/* A table may be NULL where nothing else is said: it holds nobody. */
bool pp_step_silent_holds(const struct pp_step_silent *silent, int32_t pid, uint64_t start_time,
			  uint32_t uid, uint64_t now_ns);
/*
 * points: PP_STEP_SILENT_SEIZE, PP_STEP_SILENT_STEPPER, or 0 for a process to which its user is not
 * held. How often it was found silent by now.
 */
uint32_t pp_step_silent_add(struct pp_step_silent *silent, int32_t pid, uint64_t start_time,
			    uint32_t uid, uint32_t points, uint64_t now_ns);
/*
 * Whether it is to be told of: once, when the process was found silent `times` times or more. The
 * table must not be NULL.
 */
bool pp_step_silent_tell(struct pp_step_silent *silent, int32_t pid, uint64_t start_time,
			 uint32_t times);
/* The points of a user as of the last pp_step_silent_add(). The table must not be NULL. */
uint32_t pp_step_silent_points_of(const struct pp_step_silent *silent, uint32_t uid);
/* Whether a process of the user was added within the hour. The table must not be NULL. */
bool pp_step_silent_knows_user(const struct pp_step_silent *silent, uint32_t uid, uint64_t now_ns);
/* Whether the user as a whole is left alone. */
bool pp_step_silent_holds_user(const struct pp_step_silent *silent, uint32_t uid, uint64_t now_ns);

#endif
