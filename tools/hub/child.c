// SPDX-License-Identifier: GPL-2.0-or-later
/* A process apart: see child.h. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"

#define SELF  "/proc/self/exe"
#define PIECE 65536u

extern char **environ;

/* The child is a group of its own, and has none of the signals blocked that the hub blocks. */
static int spawn(pid_t *ret_pid, const char *const *argv, int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	/* Without it the child would write to the hub's own output. */
	r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn(ret_pid, SELF, &actions, &attributes,
				(char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

int hub_child_start(struct hub_child *child, const char *const *argv)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = spawn(&child->pid, argv, ends[1]);
	close(ends[1]);
	if (r < 0) {
		child->pid = 0;
		close(ends[0]);
		return r;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	child->pipe = ends[0];
	child->len = 0;
	child->begin_ns = pp_monotonic_ns();
	return 0;
}

/* A child that is not killed has closed its output, so it is about to end by itself. */
static void end(struct hub_child *child, bool is_killed)
{
	int status = 0;

	if (is_killed)
		kill(-child->pid, SIGKILL);
	close(child->pipe);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* 1: there may be more to read; 0: there is not; -errno. */
static int read_part(struct hub_child *child)
{
	ssize_t n;

	if (pp_reserve(&child->answer, child->len + PIECE + 1, &child->room) < 0)
		return -ENOMEM;
	n = read(child->pipe, child->answer + child->len, PIECE);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	child->len += (size_t)n;
	child->answer[child->len] = 0;
	return n > 0;
}

enum hub_child_state hub_child_follow(struct hub_child *child, uint64_t most_ns, size_t most_bytes)
{
	bool is_late = pp_monotonic_ns() - child->begin_ns > most_ns;
	bool is_long = child->len > most_bytes;
	int r = is_late || is_long ? 0 : read_part(child);

	if (r > 0)
		return HUB_CHILD_RUNS;
	child->error = r;
	/* A child that nobody reads may work on for minutes. */
	end(child, is_late || is_long || r < 0);
	if (is_late || is_long)
		return is_late ? HUB_CHILD_LATE : HUB_CHILD_LONG;
	return r < 0 ? HUB_CHILD_LOST : HUB_CHILD_ENDED;
}

int hub_child_fd(const struct hub_child *child)
{
	return child->pid ? child->pipe : -1;
}

void hub_child_release(struct hub_child *child)
{
	if (child->pid)
		end(child, true);
	free(child->answer);
	*child = (struct hub_child){.pid = 0};
}

void hub_child_be_modest(size_t memory_bytes)
{
	const struct rlimit memory = {memory_bytes, memory_bytes};
	FILE *score = fopen("/proc/self/oom_score_adj", "we");

	if (score) {
		fputs("1000", score);
		fclose(score);
	}
	(void)setrlimit(RLIMIT_AS, &memory);
	(void)setpriority(PRIO_PROCESS, 0, 19);
}

bool hub_child_find(const char *name, char *ret_path, size_t size)
{
	char self[PATH_MAX];
	ssize_t len = readlink(SELF, self, sizeof(self) - 1);
	const char *slash;
	int n;

	if (len <= 0)
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	n = snprintf(ret_path, size, "%.*s/%s", (int)(slash - self), self, name);
	return n > 0 && (size_t)n < size;
}
