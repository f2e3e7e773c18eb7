// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Telling by a program: each message runs the hook once, the JSON on its standard input. The JSON
 * lies in a memory file, so there is nothing to write while the hook runs and no hook that does not
 * read can hold us up. The first line of its standard error is kept for the log in case it fails;
 * the rest is read and thrown away, a bounded piece a turn of the loop.
 *
 * The hook's end is seen by a pidfd. While the stepper holds a child, its pidfd may be readable
 * before there is a status to reap: then waitid() is tried again a little later.
 *
 * Workload: a few messages an hour. One owner, the event loop.
 */
#include "sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "../../daemon/shared/log.h"
#include "tell_failure.h"

#define QUEUE_MAX     256
#define TRIES_MAX     3
#define TIMEOUT_MS    10000
#define RETRY_MS      250
#define PAUSE_MOST_US UINT64_C(10000000)
#define REAP_AGAIN_US UINT64_C(20000)
#define WORDS_MAX     64
#define SAID_MAX      160
#define TURN_BYTES    4096

struct exec {
	struct pp_tell tell;
	sd_event *event;
	char *text; /* what argv points into */
	char *argv[WORDS_MAX + 1];
	uint64_t timeout_us, retry_us;

	struct {
		char *json;
		int64_t id;
	} queue[QUEUE_MAX]; /* a ring; its first is under way */
	uint32_t first, queued_cnt;
	int64_t newest;      /* id of the last message taken in */
	uint32_t failed_cnt; /* failed tries of the first message */
	struct pp_tell_stats stats;
	struct pp_tell_failure failure;

	pid_t child; /* 0: none is running */
	int pidfd, output;
	bool overtime;
	uint64_t deadline_us;
	char said[SAID_MAX + 1]; /* a string */
	size_t said_len;
	bool said_line; /* the whole first line was read */
	/* timer: the hook's time, or the pause before the next try */
	sd_event_source *timer, *child_source, *output_source;
};

static void free_first(struct exec *exec)
{
	free(exec->queue[exec->first].json);
	exec->queue[exec->first].json = NULL;
	exec->first = (exec->first + 1) % QUEUE_MAX;
	exec->queued_cnt--;
	exec->failed_cnt = 0;
}

static void set_timer(struct exec *exec, uint64_t after_us)
{
	if (sd_event_source_set_time_relative(exec->timer, after_us) >= 0)
		sd_event_source_set_enabled(exec->timer, SD_EVENT_ONESHOT);
}

/* ---------------------------------------------------------------- what it prints */

/* Keeps the beginning of the first line, without characters that control a terminal. */
static void keep(struct exec *exec, const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes && !exec->said_line; i++) {
		char c = text[i];

		exec->said_line = c == '\n' || exec->said_len == SAID_MAX - 1;
		if (c != '\n')
			exec->said[exec->said_len++] = (unsigned char)c < ' ' || c == 127 ? ' ' : c;
	}
}

/* Reads output. Returns whether more may come. */
static bool hear(struct exec *exec)
{
	char text[TURN_BYTES];
	ssize_t n = read(exec->output, text, sizeof(text));

	if (n > 0)
		keep(exec, text, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static int on_output(sd_event_source *source, int fd, uint32_t events, void *context)
{
	if (!hear(context))
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

/* ---------------------------------------------------------------- the hook's end */

static void forget_child(struct exec *exec)
{
	exec->child_source = sd_event_source_disable_unref(exec->child_source);
	exec->output_source = sd_event_source_disable_unref(exec->output_source);
	pp_cleanup_fd(&exec->pidfd);
	pp_cleanup_fd(&exec->output);
	exec->pidfd = -EBADF;
	exec->output = -EBADF;
	exec->child = 0;
	sd_event_source_set_enabled(exec->timer, SD_EVENT_OFF);
}

static void note_failure(struct exec *exec, const char *what)
{
	pp_tell_failure_note(&exec->failure, "%s", what);
	pp_log(LOG_WARNING, "alert hook %s: %s", exec->argv[0], what);
}

static void note_end(struct exec *exec, const siginfo_t *info)
{
	const char *colon = exec->said_len ? ": " : "";
	char what[SAID_MAX + 64];

	if (exec->overtime)
		snprintf(what, sizeof(what), "it ran too long and was killed%s%s", colon,
			 exec->said);
	else if (!info->si_pid)
		snprintf(what, sizeof(what), "it ended, but how is not known%s%s", colon,
			 exec->said);
	else
		snprintf(what, sizeof(what), "it %s %d%s%s",
			 info->si_code == CLD_EXITED ? "failed with status"
						     : "was killed by signal",
			 info->si_status, colon, exec->said);
	note_failure(exec, what);
}

/* Drops the message, or keeps it for another try. */
static void settle(struct exec *exec, bool well)
{
	if (well) {
		exec->stats.told++;
		pp_tell_failure_end(&exec->failure);
		free_first(exec);
		return;
	}
	exec->stats.failed_tries++;
	if (++exec->failed_cnt < TRIES_MAX)
		return;
	exec->stats.dropped++;
	free_first(exec);
}

static void next(struct exec *exec)
{
	if (exec->queued_cnt)
		set_timer(exec, exec->failed_cnt ? pp_tell_pause_us(exec->retry_us, PAUSE_MOST_US,
								    exec->failed_cnt)
						 : 0);
}

/* Returns false if the child cannot be reaped yet. */
static bool reap(struct exec *exec)
{
	siginfo_t info = {.si_pid = 0};
	bool well;

	/* an error: somebody else has reaped it, and how it ended is not known */
	if (waitid(P_PID, (id_t)exec->child, &info, WEXITED | WNOHANG) == 0 && !info.si_pid)
		return false;
	well = info.si_code == CLD_EXITED && info.si_status == 0;
	if (!well) {
		/* its end may be seen before its output is */
		hear(exec);
		note_end(exec, &info);
	}
	forget_child(exec);
	settle(exec, well);
	return true;
}

static void kill_group(struct exec *exec)
{
	exec->overtime = true;
	kill(-exec->child, SIGKILL);
}

static int on_child(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct exec *exec = context;

	if (reap(exec)) {
		next(exec);
		return 0;
	}
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	set_timer(exec, REAP_AGAIN_US);
	return 0;
}

/* ---------------------------------------------------------------- its beginning */

static int memory_file(const char *json)
{
	_cleanup_close_ int fd = memfd_create("pathprof-alert", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t len_bytes = strlen(json);

	if (fd < 0)
		return -errno;
	if (write(fd, json, len_bytes) != (ssize_t)len_bytes)
		return -ENOSPC;
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return -errno;
	return pp_steal_fd(&fd);
}

static int watch(struct exec *exec)
{
	int r;

	exec->pidfd = pidfd_open(exec->child, 0);
	if (exec->pidfd < 0)
		return -errno;
	r = sd_event_add_io(exec->event, &exec->child_source, exec->pidfd, EPOLLIN, on_child, exec);
	if (r >= 0)
		r = sd_event_add_io(exec->event, &exec->output_source, exec->output, EPOLLIN,
				    on_output, exec);
	return r < 0 ? r : 0;
}

static int run_first(struct exec *exec)
{
	_cleanup_close_ int input = memory_file(exec->queue[exec->first].json);
	_cleanup_close_ int output = -EBADF;
	int ends[2], r;

	if (input < 0)
		return input;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	exec->output = ends[0];
	output = ends[1];
	if (fcntl(exec->output, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = pp_tell_hook_start(&exec->child, exec->argv, input, output);
	if (r < 0) {
		exec->child = 0;
		return r;
	}
	return watch(exec);
}

static void start(struct exec *exec)
{
	int r;

	exec->overtime = false;
	exec->said_line = false;
	exec->said_len = 0;
	memset(exec->said, 0, sizeof(exec->said));
	r = run_first(exec);
	if (r == 0) {
		exec->deadline_us = pp_tell_now_us() + exec->timeout_us;
		set_timer(exec, exec->timeout_us);
		return;
	}
	note_failure(exec, strerror(-r));
	if (exec->child) {
		kill(-exec->child, SIGKILL);
		waitpid(exec->child, NULL, 0);
	}
	forget_child(exec);
	settle(exec, false);
	next(exec);
}

/* Runs when the hook's time is up, when another try to reap it is due, or when the pause is
 * over. */
static int on_timer(sd_event_source *source, uint64_t now_us, void *context)
{
	struct exec *exec = context;
	uint64_t left_us;

	if (!exec->child) {
		if (exec->queued_cnt)
			start(exec);
		return 0;
	}
	left_us = exec->deadline_us - pp_tell_now_us();
	if (left_us > exec->timeout_us) /* below 0 */
		kill_group(exec);
	/* until its end has been seen, so that a hook which cannot be killed is not forgotten */
	sd_event_source_set_enabled(exec->child_source, SD_EVENT_ON);
	set_timer(exec, exec->overtime ? REAP_AGAIN_US : left_us);
	return 0;
}

/* ---------------------------------------------------------------- as a sink */

static int queue_message(struct exec *exec, const struct pp_tell_message *message)
{
	uint32_t at = (exec->first + exec->queued_cnt) % QUEUE_MAX;

	if (exec->queued_cnt == QUEUE_MAX)
		return -ENOBUFS;
	exec->queue[at].json = strdup(message->json);
	if (!exec->queue[at].json)
		return -ENOMEM;
	exec->queue[at].id = message->id;
	if (++exec->queued_cnt == 1)
		next(exec);
	return 0;
}

static int exec_tell(struct pp_tell *tell, const struct pp_tell_message *message)
{
	struct exec *exec = (struct exec *)tell;
	int r = 0;

	if (message->change == PATHPROF_ALERT_FIRED || message->change == PATHPROF_ALERT_RESOLVED)
		r = queue_message(exec, message);
	exec->stats.dropped += r < 0;
	if (message->id > exec->newest)
		exec->newest = message->id;
	return r;
}

static void exec_stats(struct pp_tell *tell, struct pp_tell_stats *ret_stats)
{
	struct exec *exec = (struct exec *)tell;

	*ret_stats = exec->stats;
	ret_stats->queued = exec->queued_cnt;
	pp_tell_failure_show(&exec->failure, ret_stats);
	ret_stats->settled = exec->queued_cnt ? exec->queue[exec->first].id - 1 : exec->newest;
}

/* Waits without the event loop until the hook has ended or the time is up. */
static void await_child(struct exec *exec, uint64_t until_us)
{
	while (exec->child && pp_tell_now_us() < until_us) {
		struct pollfd ends[] = {{.fd = exec->output, .events = POLLIN}};
		char text[TURN_BYTES];

		if (reap(exec))
			return;
		/* output interrupts this short sleep; once output has ended, nothing does */
		if (poll(ends, 1, 10) > 0 && read(exec->output, text, sizeof(text)) <= 0)
			poll(NULL, 0, 10);
	}
}

static void end_child(struct exec *exec)
{
	if (!exec->child)
		return;
	kill(-exec->child, SIGKILL);
	waitpid(exec->child, NULL, 0);
	forget_child(exec);
}

static void exec_finish(struct pp_tell *tell, uint32_t wait_ms)
{
	struct exec *exec = (struct exec *)tell;

	await_child(exec, pp_tell_now_us() + (uint64_t)wait_ms * 1000);
}

static void exec_free(struct pp_tell *tell)
{
	struct exec *exec = (struct exec *)tell;

	if (!exec)
		return;
	end_child(exec);
	while (exec->queued_cnt)
		free_first(exec);
	sd_event_source_disable_unref(exec->timer);
	sd_event_unref(exec->event);
	free(exec->text);
	free(exec);
}

static const struct pp_tell_ops exec_ops = {
	.name = "exec",
	.tell = exec_tell,
	.stats = exec_stats,
	.finish = exec_finish,
	.free = exec_free,
};

/* The relay's user must be able to run the program. */
static int check_program(const char *path, struct pathprof_error *error)
{
	struct stat status;

	if (stat(path, &status) < 0 || access(path, X_OK) < 0)
		return pathprof_fail(error, -errno, "Exec=%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return pathprof_fail(error, -EINVAL, "Exec=%s: not a program", path);
	return 0;
}

static int split(struct exec *exec, const char *command, struct pathprof_error *error)
{
	size_t cnt = 0;
	char *rest = NULL;

	exec->text = strdup(command);
	if (!exec->text)
		return -ENOMEM;
	for (char *word = strtok_r(exec->text, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest)) {
		if (cnt == WORDS_MAX)
			return pathprof_fail(error, -E2BIG, "Exec=: more than %d words", WORDS_MAX);
		exec->argv[cnt++] = word;
	}
	if (!cnt || exec->argv[0][0] != '/')
		return pathprof_fail(error, -EINVAL, "Exec=%s: not an absolute path", command);
	return check_program(exec->argv[0], error);
}

int pp_tell_exec_new(struct pp_tell **ret_tell, sd_event *event,
		     const struct pp_tell_exec_config *config, struct pathprof_error *error)
{
	struct exec *exec = calloc(1, sizeof(*exec));
	int r;

	if (!exec)
		return -ENOMEM;
	exec->tell.ops = &exec_ops;
	exec->event = sd_event_ref(event);
	exec->timeout_us = UINT64_C(1000) * (config->timeout_ms ? config->timeout_ms : TIMEOUT_MS);
	exec->retry_us = UINT64_C(1000) * (config->retry_ms ? config->retry_ms : RETRY_MS);
	exec->pidfd = -EBADF;
	exec->output = -EBADF;
	r = split(exec, config->command, error);
	if (r == 0)
		r = sd_event_add_time_relative(event, &exec->timer, CLOCK_MONOTONIC, 0, 1000,
					       on_timer, exec);
	if (r >= 0)
		r = sd_event_source_set_enabled(exec->timer, SD_EVENT_OFF);
	if (r < 0) {
		exec_free(&exec->tell);
		return r;
	}
	*ret_tell = &exec->tell;
	return 0;
}
