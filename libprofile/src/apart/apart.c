// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Processes apart, as seen by who asks them: see pathprof/apart.h. */
#include "pathprof/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pathprof/error.h"
#include "pp_apart.h"

#define RUNNING_MAX 32
/* Time without an answer; a busy process is ended by its limit of CPU time before. */
#define PATIENCE_S 600

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

/* The status that it ended with. */
static int stop(struct pathprof_apart *apart, bool by_force)
{
	int status = 0;

	close(apart->socket);
	if (by_force)
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
		stop(apart, true);
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

/* Ends a process that is silent or gave a false answer; one that has left has said why. */
static int bury(struct pathprof_apart *apart, int r)
{
	bool lives = r == -EAGAIN || r == -EBADMSG;
	int status = stop(apart, lives);

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
	stop(running[oldest], true);
	return oldest;
}

static int open_sockets(int ends[2])
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return 0;
}

static int start(struct pathprof_apart *apart)
{
	size_t place = free_place();
	int ends[2], r = open_sockets(ends);

	if (r < 0)
		return r;
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

int pathprof_apart_ask(struct pathprof_apart *apart, struct pathprof_apart_message *message, int fd,
		       pathprof_apart_progress_fn *progress, void *context)
{
	int r = pathprof_apart_start(apart), came;

	if (r < 0)
		return r;
	apart->asked_at = ++question_cnt;
	r = pp_apart_send(apart->socket, message, fd);
	while (r == 0) {
		r = pp_apart_receive(apart->socket, message, &came);
		if (r == 0 && came >= 0)
			close(came);
		if (r < 0 || message->kind == PP_APART_ANSWER)
			break;
		if (message->kind != PP_APART_PROGRESS)
			r = pp_apart_serve(apart->socket, message);
		else if (progress)
			progress(context, message->numbers[0], message->numbers[1]);
	}
	return r < 0 ? bury(apart, r) : 0;
}
