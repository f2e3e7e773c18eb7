// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Processes apart, as seen by who asks them: see pathprof/apart.h. */
#include "pathprof/apart.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "pathprof/error.h"
#include "pp_apart.h"

#define RUNNING_MAX 32
/*
 * A single wait, and a single request served for the process, count for no more than these: an
 * asker that is suspended meanwhile has lost no more of the time, and a download may be a long one.
 */
#define WAIT_MS       1000
#define WAIT_MOST_NS  ((int64_t)PP_NSEC_PER_SEC)
#define SERVE_MOST_NS (60 * (int64_t)PP_NSEC_PER_SEC)

struct pathprof_apart {
	const struct pathprof_apart_service *service;
	pathprof_apart_died_fn *died;
	void *context;
	char *name;
	pid_t pid; /* 0: it does not run */
	int socket;
	uint64_t asked_at; /* by the count of questions */
	struct pathprof_error why;
};

/* The processes that run now, so that there are not too many. */
static struct pathprof_apart *running[RUNNING_MAX];
static uint64_t question_cnt;
static int64_t patience_ns = PP_APART_PATIENCE_NS;

int pathprof_apart_new(struct pathprof_apart **ret_apart,
		       const struct pathprof_apart_service *service, const char *name,
		       pathprof_apart_died_fn *died, void *context)
{
	struct pathprof_apart *apart = calloc(1, sizeof(*apart));

	if (!apart)
		return -ENOMEM;
	*apart = (struct pathprof_apart){
		.service = service, .died = died, .context = context, .socket = -1};
	apart->name = strdup(name);
	if (!apart->name) {
		free(apart);
		return -ENOMEM;
	}
	*ret_apart = apart;
	return 0;
}

/* ---------------------------------------------------------------- its end */

static void forget(const struct pathprof_apart *apart)
{
	for (size_t i = 0; i < RUNNING_MAX; i++)
		if (running[i] == apart)
			running[i] = NULL;
}

/* The status that it ended with: its own, if it was ending by itself. */
static int stop(struct pathprof_apart *apart)
{
	int status = 0;

	close(apart->socket);
	kill(apart->pid, SIGKILL);
	while (waitpid(apart->pid, &status, 0) < 0 && errno == EINTR)
		;
	forget(apart);
	apart->pid = 0;
	apart->socket = -1;
	return status;
}

void pathprof_apart_free(struct pathprof_apart *apart)
{
	if (!apart)
		return;
	if (apart->pid)
		stop(apart);
	free(apart->name);
	free(apart);
}

static const char *step_of(int exit_status)
{
	switch (exit_status) {
	case PP_APART_EXIT_DESCRIPTORS:
		return "its descriptors could not be closed";
	case PP_APART_EXIT_IDENTITY:
		return "it could not become nobody";
	case PP_APART_EXIT_CAPS:
		return "its capabilities could not be taken";
	case PP_APART_EXIT_CALLS:
		return "this kernel or container has no seccomp filters";
	default:
		return "it left";
	}
}

static const char *reason_of(int status, int r)
{
	if (r == -EAGAIN)
		return "it did not answer in ten minutes";
	if (r == -EBADMSG)
		return "its answer is none";
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		return "it took more time or memory than it may";
	if (WIFSIGNALED(status))
		return strsignal(WTERMSIG(status));
	return step_of(WEXITSTATUS(status));
}

/* Ends it, whatever it did: one whose socket is closed may live on. */
static int bury(struct pathprof_apart *apart, int r)
{
	int status = stop(apart);

	pathprof_fail(&apart->why, 0, "%s: the process that read it is gone: %s", apart->name,
		      reason_of(status, r));
	if (apart->died)
		apart->died(apart->context, apart->why.text);
	return -EOWNERDEAD;
}

const char *pathprof_apart_why(const struct pathprof_apart *apart)
{
	return apart->why.text[0] ? apart->why.text : NULL;
}

/* ---------------------------------------------------------------- its beginning */

static size_t free_place(void)
{
	size_t oldest = 0;

	for (size_t i = 0; i < RUNNING_MAX; i++) {
		if (!running[i])
			return i;
		if (running[i]->asked_at < running[oldest]->asked_at)
			oldest = i;
	}
	stop(running[oldest]);
	return oldest;
}

static int start(struct pathprof_apart *apart)
{
	size_t place = free_place();
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	apart->pid = fork();
	if (apart->pid == 0)
		pp_apart_live(apart->service, ends[1]);
	close(ends[1]);
	if (apart->pid < 0) {
		r = -errno;
		close(ends[0]);
		apart->pid = 0;
		return r;
	}
	apart->socket = ends[0];
	apart->asked_at = ++question_cnt;
	running[place] = apart;
	return 1;
}

int pathprof_apart_start(struct pathprof_apart *apart)
{
	if (apart->why.text[0])
		return -EOWNERDEAD;
	return apart->pid ? 0 : start(apart);
}

/* ---------------------------------------------------------------- asking */

void pp_apart_set_patience(int64_t ns)
{
	patience_ns = ns;
}

static void spend(int64_t *left_ns, uint64_t since_ns, int64_t most_ns)
{
	int64_t spent_ns = (int64_t)(pp_monotonic_ns() - since_ns);

	*left_ns -= spent_ns < most_ns ? spent_ns : most_ns;
}

/* Waits for a message or the end of the connection. -EAGAIN: not in time. */
static int await(int socket, int64_t *left_ns)
{
	struct pollfd one = {.fd = socket, .events = POLLIN};

	while (*left_ns > 0) {
		uint64_t since_ns = pp_monotonic_ns();
		int cnt = poll(&one, 1, WAIT_MS);

		spend(left_ns, since_ns, WAIT_MOST_NS);
		if (cnt > 0)
			return 0;
		if (cnt < 0 && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

static int serve(int socket, struct pathprof_apart_message *message, int64_t *left_ns)
{
	uint64_t since_ns = pp_monotonic_ns();
	int r = pp_apart_serve(socket, message);

	spend(left_ns, since_ns, SERVE_MOST_NS);
	return r;
}

int pathprof_apart_ask(struct pathprof_apart *apart, struct pathprof_apart_message *message, int fd,
		       pathprof_apart_progress_fn *progress, void *context)
{
	int r = pathprof_apart_start(apart), came;
	int64_t left_ns = patience_ns;

	if (r < 0)
		return r;
	apart->asked_at = ++question_cnt;
	r = pp_apart_send_at_once(apart->socket, message, fd);
	while (r == 0) {
		r = await(apart->socket, &left_ns);
		if (r == 0)
			r = pp_apart_receive(apart->socket, message, &came);
		if (r == 0 && came >= 0)
			close(came);
		if (r < 0 || message->kind == PP_APART_ANSWER)
			break;
		if (message->kind != PP_APART_PROGRESS)
			r = serve(apart->socket, message, &left_ns);
		else if (progress)
			progress(context, message->numbers[0], message->numbers[1]);
	}
	return r < 0 ? bury(apart, r) : 0;
}
