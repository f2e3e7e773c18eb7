// SPDX-License-Identifier: GPL-2.0-or-later
/* See launch.h. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EMULATOR "qemu-x86_64"
/* Words in front of the program's own: emulator, -plugin X, -0 X, -cpu X, the program. */
#define WORDS_BEFORE 8

static int find_emulator(char path[PATH_MAX], struct pathprof_error *error)
{
	int r = trace_command_find(EMULATOR, path);

	if (r < 0)
		return pathprof_fail(error, r, "%s is not here: apt install qemu-user", EMULATOR);
	return 0;
}

/* Beside this program: bin/ and lib/pathprof/ share a parent. */
static int find_plugin(char path[PATH_MAX], struct pathprof_error *error)
{
	static const char rest[] = "/../lib/pathprof/trace-plugin.so";
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (n < 0)
		return pathprof_fail(error, -errno, "/proc/self/exe: %s", strerror(errno));
	own[n] = '\0';
	slash = strrchr(own, '/');
	if (!slash || (size_t)(slash - own) + sizeof(rest) > PATH_MAX)
		return pathprof_fail(error, -ENAMETOOLONG, "%s: name too long", own);
	*slash = '\0';
	snprintf(path, PATH_MAX, "%.*s%s", (int)(PATH_MAX - sizeof(rest)), own, rest);
	if (access(path, R_OK) < 0)
		return pathprof_fail(error, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* The emulator splits the option at commas; a doubled one stands for itself. */
static void plugin_option(const char *path, int share_fd, char *option, size_t size)
{
	size_t at = 0;

	for (; *path && at + 32 < size; path++) {
		option[at++] = *path;
		if (*path == ',')
			option[at++] = ',';
	}
	snprintf(option + at, size - at, ",fd=%d", share_fd);
}

static const char **make_words(const struct trace_launch *launch, const char *option)
{
	char **argv = launch->command->argv;
	const char **words;
	size_t cnt = 0, at = 0;

	while (argv[cnt])
		cnt++;
	words = calloc(cnt + WORDS_BEFORE + 1, sizeof(*words));
	if (!words)
		return NULL;
	words[at++] = EMULATOR;
	words[at++] = "-plugin";
	words[at++] = option;
	words[at++] = "-0";
	words[at++] = argv[0];
	if (launch->cpu) {
		words[at++] = "-cpu";
		words[at++] = launch->cpu;
	}
	words[at++] = launch->command->program;
	memcpy(words + at, argv + 1, (cnt - 1) * sizeof(*words));
	return words;
}

static void run_child(const struct trace_launch *launch, const char *emulator,
		      const char *const *words, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	fcntl(launch->share_fd, F_SETFD, 0);
	execv(emulator, (char *const *)words);
	_exit(127);
}

pid_t trace_launch(const struct trace_launch *launch, struct pathprof_error *error)
{
	char emulator[PATH_MAX] = "", plugin[PATH_MAX] = "", option[2 * PATH_MAX + 64];
	pid_t parent = getpid();
	const char **words;
	pid_t pid;
	int r = find_emulator(emulator, error);

	if (r == 0)
		r = find_plugin(plugin, error);
	if (r < 0)
		return r;
	plugin_option(plugin, launch->share_fd, option, sizeof(option));
	words = make_words(launch, option);
	if (!words)
		return pathprof_fail(error, -ENOMEM, "no memory");
	pid = fork();
	if (pid == 0)
		run_child(launch, emulator, words, parent);
	free(words);
	if (pid < 0)
		return pathprof_fail(error, -errno, "fork: %s", strerror(errno));
	return pid;
}
