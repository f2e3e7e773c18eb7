// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's side of naming paths: see names.h. The answer is collected until the pipe ends; then
 * the child is reaped, which may take some more milliseconds when the stepper holds it.
 */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vector.h"
#include "../child_cpu.h"
#include "base/cleanup.h"

#define ANSWER_MAX_BYTES (32u << 20)
#define TURN_BYTES       (64u << 10)
#define REAP_AGAIN_US    UINT64_C(20000)
#define REAP_TRIES_MAX   500
/* A child may wait long for a CPU that others want. */
#define TIME_US       UINT64_C(600000000)
#define HURRY_TIME_US UINT64_C(5000000)
/* A table of frames keeps nobody waiting but the tables behind it. */
#define FRAMES_TIME_US UINT64_C(20000000)

#define LEFT_MAX 8

struct pp_names {
	sd_event *event;
	char *cache_dir; /* NULL: none */
	struct pp_names_stats stats;

	pid_t child;                         /* 0: none */
	struct pp_left_child left[LEFT_MAX]; /* given up, and not gone when last looked at */
	size_t left_cnt;
	int fd;
	size_t path_cnt;
	pp_names_done_fn *done;
	void *context;
	unsigned char *bytes;
	size_t len_bytes, room;
	int trouble; /* a negative errno that outweighs what the child said */
	bool ended;  /* the pipe has */
	uint32_t reap_cnt;
	sd_event_source *pipe_source, *timer;
};

static void set_timer(struct pp_names *names, uint64_t after_us)
{
	if (sd_event_source_set_time_relative(names->timer, after_us) >= 0)
		sd_event_source_set_enabled(names->timer, SD_EVENT_ONESHOT);
}

/* ---------------------------------------------------------------- the end of a job */

static void reap_left(struct pp_names *names)
{
	for (size_t i = names->left_cnt; i-- > 0;)
		if (pp_left_child_has_ended(&names->left[i], &names->stats.cpu_ns))
			names->left[i] = names->left[--names->left_cnt];
}

/* `left` has room for the child: none is begun while it is full. */
static void leave_child(struct pp_names *names)
{
	names->left[names->left_cnt++] = pp_leave_child(names->child, &names->stats.cpu_ns);
}

static void forget_child(struct pp_names *names)
{
	if (names->child)
		leave_child(names);
	names->pipe_source = sd_event_source_disable_unref(names->pipe_source);
	sd_event_source_set_enabled(names->timer, SD_EVENT_OFF);
	pp_cleanup_fd(&names->fd);
	names->fd = -EBADF;
	names->child = 0;
}

/* The child has ended: hands over its answer, or the reason why there is none. */
static void finish(struct pp_names *names, int status)
{
	struct pp_names_answer answer = {.path_cnt = 0};
	pp_names_done_fn *done = names->done;
	unsigned char *bytes = names->bytes;
	int code = names->trouble, r = 0;

	forget_child(names);
	names->bytes = NULL;
	if (!code && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		code = -ECHILD;
	if (!code)
		r = pp_names_parse(bytes, names->len_bytes, names->path_cnt, &code, &answer);
	if (r < 0)
		code = r;
	free(bytes);
	/* a file that is gone is nobody's fault */
	names->stats.failed += code && code != -ENOENT && code != -ECANCELED;
	names->done = NULL;
	done(names->context, code, code ? NULL : &answer);
	pp_names_answer_release(&answer);
}

static void reap(struct pp_names *names)
{
	struct rusage usage = {0};
	int status = 0;
	pid_t got = wait4(names->child, &status, WNOHANG, &usage);

	if (got == 0 && names->reap_cnt++ < REAP_TRIES_MAX) {
		set_timer(names, REAP_AGAIN_US);
		return;
	}
	if (got == 0 && !names->trouble)
		names->trouble = -ETIMEDOUT;
	if (got > 0)
		names->stats.cpu_ns += pp_child_cpu_ns(&usage);
	if (got != 0)
		names->child = 0;
	finish(names, got > 0 ? status : 0);
}

static void end_pipe(struct pp_names *names)
{
	names->ended = true;
	names->pipe_source = sd_event_source_disable_unref(names->pipe_source);
	reap(names);
}

static void stop(struct pp_names *names, int trouble)
{
	if (!names->trouble)
		names->trouble = trouble;
	kill(names->child, SIGKILL);
}

/* ---------------------------------------------------------------- its answer */

static int make_room(struct pp_names *names)
{
	size_t room = names->room ? 2 * names->room : TURN_BYTES;

	if (names->room - names->len_bytes >= TURN_BYTES)
		return 0;
	if (room > ANSWER_MAX_BYTES)
		return -EMSGSIZE;
	if (pp_resize(&names->bytes, room) < 0)
		return -ENOMEM;
	names->room = room;
	return make_room(names);
}

static int on_pipe(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct pp_names *names = context;
	int r = make_room(names);
	ssize_t n;

	if (r < 0) {
		stop(names, r);
		end_pipe(names);
		return 0;
	}
	n = read(fd, names->bytes + names->len_bytes, TURN_BYTES);
	if (n > 0)
		names->len_bytes += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end_pipe(names);
	return 0;
}

/* The child can be reaped by now, or its time is up. */
static int on_timer(sd_event_source *source, uint64_t now_us, void *context)
{
	struct pp_names *names = context;

	if (!names->child)
		return 0;
	if (!names->ended)
		stop(names, -ETIMEDOUT);
	if (names->ended)
		reap(names);
	else
		end_pipe(names);
	return 0;
}

/* ---------------------------------------------------------------- its beginning */

static int check(const struct pp_names *names, const struct pp_names_job *job)
{
	if (names->child || names->left_cnt == LEFT_MAX)
		return -EBUSY;
	return job->path_cnt > PP_NAMES_PATHS_MAX || job->pid_cnt > PP_NAMES_PIDS_MAX ? -E2BIG : 0;
}

static int start(struct pp_names *names, const struct pp_names_job *job)
{
	_cleanup_close_ int output = -EBADF;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	names->fd = ends[0];
	output = ends[1];
	if (fcntl(names->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	names->child = fork();
	if (names->child == 0)
		pp_names_child(job, names->cache_dir, output);
	if (names->child < 0) {
		names->child = 0;
		return -errno;
	}
	return sd_event_add_io(names->event, &names->pipe_source, names->fd, EPOLLIN, on_pipe,
			       names);
}

static void kill_now(struct pp_names *names)
{
	struct rusage usage = {0};

	if (!names->child)
		return;
	kill(names->child, SIGKILL);
	/* not for ever: it may hang in a file system */
	for (int i = 0; i < 100 && names->child; i++) {
		if (wait4(names->child, NULL, WNOHANG, &usage) != 0)
			names->child = 0;
		else
			usleep(1000);
	}
	names->stats.cpu_ns += pp_child_cpu_ns(&usage);
}

static uint64_t time_for_us(const struct pp_names_job *job)
{
	if (job->frames)
		return FRAMES_TIME_US;
	return job->hurry ? HURRY_TIME_US : TIME_US;
}

int pp_names_ask(struct pp_names *names, const struct pp_names_job *job, pp_names_done_fn *done,
		 void *context)
{
	int r;

	reap_left(names);
	r = check(names, job);
	if (r < 0)
		return r;
	names->len_bytes = names->room = 0;
	names->trouble = 0;
	names->ended = false;
	names->reap_cnt = 0;
	names->path_cnt = job->path_cnt;
	names->done = done;
	names->context = context;
	r = start(names, job);
	if (r < 0) {
		kill_now(names);
		forget_child(names);
		names->stats.failed++;
		return r;
	}
	names->stats.jobs++;
	set_timer(names, time_for_us(job));
	return 0;
}

void pp_names_cancel(struct pp_names *names)
{
	if (!names->child)
		return;
	names->trouble = -ECANCELED;
	kill_now(names);
	finish(names, 0);
}

bool pp_names_busy(const struct pp_names *names)
{
	return names->child != 0;
}

void pp_names_stats(const struct pp_names *names, struct pp_names_stats *ret_stats)
{
	struct pp_names_stats stats = names->stats;

	stats.cpu_ns += pp_child_running_ns(names->child);
	*ret_stats = stats;
}

int pp_names_new(struct pp_names **ret_names, sd_event *event, const char *cache_dir)
{
	struct pp_names *names = calloc(1, sizeof(*names));
	int r = 0;

	if (!names)
		return -ENOMEM;
	names->event = sd_event_ref(event);
	names->fd = -EBADF;
	names->cache_dir = cache_dir ? strdup(cache_dir) : NULL;
	if (cache_dir && !names->cache_dir)
		r = -ENOMEM;
	if (r == 0)
		r = sd_event_add_time_relative(event, &names->timer, CLOCK_MONOTONIC, 0, 1000,
					       on_timer, names);
	if (r >= 0)
		r = sd_event_source_set_enabled(names->timer, SD_EVENT_OFF);
	if (r < 0) {
		pp_names_free(names);
		return r;
	}
	*ret_names = names;
	return 0;
}

void pp_names_free(struct pp_names *names)
{
	if (!names)
		return;
	kill_now(names);
	if (names->timer)
		forget_child(names);
	reap_left(names);
	sd_event_source_disable_unref(names->timer);
	sd_event_unref(names->event);
	free(names->bytes);
	free(names->cache_dir);
	free(names);
}
