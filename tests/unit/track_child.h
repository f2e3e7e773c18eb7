/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children that do what they are told, and the tracker that looks at them. Every wait is for a
 * condition (a pipe that closes at exec, a byte, the end of a child), never for time to pass.
 */
#ifndef TRACK_CHILD_H
#define TRACK_CHILD_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/track/track.h"
#include "../../daemon/track/track_state.h"
#include "../entry_of.h"
#include "unit.h"

#define PAGE 4096ull

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline struct pp_track *new_track(bool no_perf, pid_t only_pid)
{
	struct pp_track_config config = {.no_perf = no_perf, .only_pid = only_pid};
	struct pathprof_error error = {""};
	struct pp_track *track = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_track_new(&track, &config, &error), 0);
	return track;
}

static inline bool has_perf(const struct pp_track *track)
{
	struct pp_track_stats stats;

	pp_track_stats(track, &stats);
	return stats.perf;
}

/* The identity in a file's note, or a zero one. */
static inline struct pathprof_build_id id_of(const char *path)
{
	struct pathprof_build_id id = {0};

	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	return id;
}

static inline bool same_id(const struct pathprof_build_id *a, const struct pathprof_build_id *b)
{
	return a->len_bytes && pathprof_build_id_equal(a, b);
}

struct child {
	pid_t pid;
	int out; /* read what it says */
	int in;  /* closing it lets it go on */
};

typedef void child_fn(int in, int out, const char *argument);

static inline struct child start(child_fn *fn, const char *argument)
{
	int to[2], from[2];
	struct child child;

	CU_ASSERT_EQUAL_FATAL(pipe2(to, O_CLOEXEC), 0);
	CU_ASSERT_EQUAL_FATAL(pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		close(to[1]);
		close(from[0]);
		fn(to[0], from[1], argument);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child.in = to[1];
	child.out = from[0];
	return child;
}

static inline void finish(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->in);
	close(child->out);
}

/* A pointer the child says; 0 once its pipe is closed. */
static inline uint64_t hear(const struct child *child)
{
	uint64_t value = 0;

	return read(child->out, &value, sizeof(value)) == (ssize_t)sizeof(value) ? value : 0;
}

static inline void tell(const struct child *child)
{
	CU_ASSERT_EQUAL(write(child->in, "x", 1), 1);
}

static inline void say(int out, uint64_t value)
{
	if (write(out, &value, sizeof(value)) != (ssize_t)sizeof(value))
		_exit(3);
}

static inline void await(int in)
{
	char byte;

	if (read(in, &byte, 1) != 1)
		_exit(2);
}

/* Execs when told; the other end sees the pipe close. sleep: it lives until it is killed. */
static inline void exec_when_told(int in, int out, const char *program)
{
	await(in);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* Waits for the end of an exec: the pipe closes in its middle, and the entry point comes last. */
static inline uint64_t await_exec(const struct child *child)
{
	uint64_t entry = 0;

	CU_ASSERT_EQUAL(hear(child), 0);
	while (!entry && waitpid(child->pid, NULL, WNOHANG) == 0)
		entry = entry_of(child->pid);
	CU_ASSERT_NOT_EQUAL(entry, 0);
	return entry;
}

/*
 * On a busy machine a read of the mappings runs out of its time, is left for ten seconds then, and
 * does not count while events of the process wait; so each try begins with the events, and without
 * a rest. time_ns 0: the moment of each try.
 */
static inline bool resolves_soon_at(struct pp_track *track, pid_t pid, uint64_t time_ns,
				    uint64_t address, struct pp_location *ret_location)
{
	uint64_t end_ns = now_ns() + 60000000000ull;

	while (now_ns() < end_ns) {
		struct pp_image *image = pp_images_newest(&track->images, pid);

		if (image)
			image->rescan_ns = 0;
		if (pp_track_resolve(track, pid, time_ns ? time_ns : now_ns(), address,
				     ret_location) == 0)
			return true;
		usleep(10000);
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	}
	return false;
}

static inline bool resolves_soon(struct pp_track *track, pid_t pid, uint64_t address,
				 struct pp_location *ret_location)
{
	return resolves_soon_at(track, pid, 0, address, ret_location);
}

/* Scans again, as resolves_soon() does, until the scan is not put off; returns its result. */
static inline int scan_soon(struct pp_track *track, pid_t pid)
{
	int r = -EBUSY;

	for (int i = 0; i < 1000 && (r == -EBUSY || r == -ETIME || r == -EAGAIN); i++) {
		struct pp_image *image = pp_images_newest(&track->images, pid);

		if (image)
			image->rescan_ns = 0;
		track->pace.left_ns = PP_PACE_SAVED_NS;
		r = pp_track_scan(track, pid);
		if (r)
			usleep(10000);
		/* events wait that are to be applied */
		if (r == -EAGAIN)
			CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	}
	return r;
}

#endif
