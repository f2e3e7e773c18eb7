// SPDX-License-Identifier: GPL-2.0-or-later
/* Drawing by graphviz: see ctl.h. */
#include "../ctl.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../text/cleanup.h"

#define QUIET_MS 2000

extern char **environ;

static int write_all(int fd, const char *text, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t n = write(fd, text, len_bytes);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len_bytes -= (size_t)n;
		}
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* The child has SIGPIPE as programs expect it. Returns an errno. */
static int spawn(pid_t *ret_pid, int in, int out)
{
	static char program[] = "dot", format[] = "-Tsvg";
	char *const words[] = {program, format, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t pipe_signal;
	int r;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawnp(ret_pid, words[0], &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* Waits for the child. After QUIET_MS a note says that it takes long. */
static int wait_for(pid_t child)
{
	_cleanup_close_ int handle = pidfd_open(child, 0);
	struct pollfd ended = {.fd = handle, .events = POLLIN};
	int status = 0;

	if (handle >= 0 && poll(&ended, 1, QUIET_MS) == 0)
		ctl_note("dot: still drawing: large pictures take minutes, --format text none");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int copy(FILE *out, int from)
{
	char text[1 << 16];
	ssize_t n;

	if (lseek(from, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = read(from, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)n, out);
	return n < 0 ? -errno : 0;
}

int graphviz_svg(FILE *out, const char *dot_text, size_t len_bytes)
{
	_cleanup_close_ int in = memfd_create("dot", MFD_CLOEXEC);
	_cleanup_close_ int svg = memfd_create("svg", MFD_CLOEXEC);
	pid_t child;
	int r, status;

	r = in < 0 || svg < 0 ? -errno : write_all(in, dot_text, len_bytes);
	if (r < 0)
		return ctl_fail("svg: no room for the picture: %s", strerror(-r));
	r = spawn(&child, in, svg);
	if (r == ENOENT)
		return ctl_fail("dot: not found, and --format svg needs it: apt install graphviz, "
				"or take --format dot");
	if (r)
		return ctl_fail("dot: cannot be run: %s", strerror(r));
	status = wait_for(child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return ctl_fail("dot: failed on this picture: take --format dot and run it by "
				"hand, or leave --all out");
	r = copy(out, svg);
	return r < 0 ? ctl_fail("svg: %s", strerror(-r)) : CTL_OK;
}
