// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Inside a process apart: see pathprof/apart.h. It comes from fork in a process of one thread, and
 * has a session of its own: neither the terminal nor what is typed there reaches it.
 */
#include "pp_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../code/pp_foreign_asked.h"
#include "pathprof/confine.h"

#define SOCKET_FD 3

/* Enough for programs of some GB with debug information. */
static const struct pathprof_confine_limits limits = {
	.more_bytes = UINT64_C(16) << 30,
	.more_data_bytes = UINT64_C(8) << 30,
	.file_bytes = UINT64_C(4) << 30,
	.cpu_s = 120,
};

/* ---------------------------------------------------------------- asking back */

/* Not the question's message, which becomes the answer meanwhile. */
static struct pathprof_apart_message own;

/* A descriptor, or -errno. */
static int ask_for_file(uint32_t kind, const void *text, size_t bytes)
{
	int fd = -1, r;

	own.kind = kind;
	own.bytes = 0;
	if (bytes >= sizeof(own.text) || !pathprof_apart_add(&own, text, (uint32_t)bytes))
		return -ENAMETOOLONG;
	r = pp_apart_send(SOCKET_FD, &own);
	if (r == 0)
		r = pp_apart_receive(SOCKET_FD, &own, &fd);
	if (r < 0)
		_exit(0);
	return fd < 0 && own.code >= 0 ? -ENOENT : own.code < 0 ? own.code : fd;
}

static int ask_to_open(const char *path)
{
	return ask_for_file(PP_APART_OPEN, path, strlen(path));
}

static int ask_to_fetch(const struct pathprof_build_id *id)
{
	return ask_for_file(PP_APART_FETCH, id->bytes, id->len_bytes);
}

static const struct pp_foreign_asked asked = {ask_to_open, ask_to_fetch};

void pathprof_apart_tell(uint64_t done, uint64_t total)
{
	own.kind = PP_APART_PROGRESS;
	own.numbers[0] = done;
	own.numbers[1] = total;
	own.bytes = 0;
	(void)pp_apart_send(SOCKET_FD, &own);
}

/* ---------------------------------------------------------------- giving up */

static bool keep_descriptors(int socket)
{
	int nothing;

	/* first, since /dev/null may get the number of the socket to be */
	if (dup2(socket, SOCKET_FD) < 0)
		return false;
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing < 0)
		return false;
	for (int fd = 0; fd < SOCKET_FD; fd++)
		if (dup2(nothing, fd) < 0)
			return false;
	return pathprof_confine_descriptors(SOCKET_FD) == 0;
}

static void give_up(void)
{
	int r;

	pathprof_confine_limits(&limits);
	r = pathprof_confine_identity();
	/* In a container without the right to it the process stays root, without capabilities and
	 * behind the filter. */
	if (r < 0 && r != -EPERM)
		_exit(PP_APART_EXIT_IDENTITY);
	if (pathprof_confine_capabilities(NULL, 0) < 0)
		_exit(PP_APART_EXIT_CAPS);
	/* another identity would have undone this one */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pathprof_confine_calls(ask_to_open) < 0)
		_exit(PP_APART_EXIT_CALLS);
}

/* ---------------------------------------------------------------- */

_Noreturn void pp_apart_live(const struct pathprof_apart_service *service, int socket)
{
	static struct pathprof_apart_message message;
	int fd;

	pathprof_confine_signals();
	setsid();
	/* the socket may lie where another descriptor is to */
	socket = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET_FD + 1);
	if (socket < 0 || !keep_descriptors(socket))
		_exit(PP_APART_EXIT_DESCRIPTORS);
	if (service->prepare)
		service->prepare();
	give_up();
	pp_foreign_ask(&asked);
	while (pp_apart_receive(SOCKET_FD, &message, &fd) == 0) {
		service->answer(&message, fd);
		message.kind = PP_APART_ANSWER;
		if (pp_apart_send(SOCKET_FD, &message) < 0)
			break;
	}
	_exit(0);
}
