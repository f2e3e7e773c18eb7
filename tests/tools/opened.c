// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports the files that a command opens: opened FILE... -- COMMAND... runs it and then writes
 * those of the files that anybody opened meanwhile, each on a line of file descriptor 3. Its exit
 * status is the command's. A look (O_PATH) opens nothing. Source: inotify(7).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES_MAX 32

static int status_of(char **command)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		close(3);
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Adds up the events that are there: seen[i] for the file with watch i + 1. */
static void count(int fd, char *const *files, const int *watches, int cnt)
{
	_Alignas(struct inotify_event) char events[65536];
	ssize_t n = read(fd, events, sizeof(events)), at = 0;
	int seen[FILES_MAX] = {0};

	while (at < n) {
		const struct inotify_event *event = (const struct inotify_event *)(events + at);

		for (int i = 0; i < cnt; i++)
			seen[i] |= watches[i] == event->wd;
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	for (int i = 0; i < cnt; i++)
		if (seen[i])
			dprintf(3, "%s\n", files[i]);
}

int main(int argc, char **argv)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), watches[FILES_MAX], cnt = 0, status;

	for (; cnt + 1 < argc && strcmp(argv[cnt + 1], "--") != 0 && cnt < FILES_MAX; cnt++) {
		watches[cnt] = inotify_add_watch(fd, argv[cnt + 1], IN_OPEN);
		if (watches[cnt] < 0) {
			perror(argv[cnt + 1]);
			return 125;
		}
	}
	if (cnt + 2 >= argc)
		return 125;
	status = status_of(argv + cnt + 2);
	count(fd, argv + 1, watches, cnt);
	return status;
}
