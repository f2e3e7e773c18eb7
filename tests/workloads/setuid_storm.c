// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a set-user-id program over and over, and counts how often it lacked its owner's rights.
 *
 *     setuid_storm fork|spawn|exec|system PROGRAM SECONDS
 *
 * Without arguments it is that program: it fails unless its effective user is root. Ways to run it:
 * fork and execute, posix_spawn, a shell that executes it in its own place, system(3). Prints how
 * many ran and how many of these lacked the right.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int wait_for(pid_t pid)
{
	int status = 0;

	return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}

static int by_fork(const char *program)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(program, program, NULL);
		_exit(127);
	}
	return wait_for(pid);
}

static int by_spawn(const char *program)
{
	char *const argv[] = {(char *)program, NULL};
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, environ))
		return -1;
	return wait_for(pid);
}

static int by_exec(const char *program)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exec \"$0\"", program, NULL);
		_exit(127);
	}
	return wait_for(pid);
}

static int by_system(const char *program)
{
	return system(program);
}

static const struct {
	const char *name;
	int (*run)(const char *program);
} ways[] = {{"fork", by_fork}, {"spawn", by_spawn}, {"exec", by_exec}, {"system", by_system}};

int main(int argc, char **argv)
{
	unsigned long ran = 0, lacked = 0, failed = 0;
	time_t end;

	if (argc == 1)
		return geteuid() != 0;
	if (argc != 4)
		return 2;
	end = time(NULL) + atoi(argv[3]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		while (!strcmp(argv[1], ways[i].name) && time(NULL) < end) {
			int status = ways[i].run(argv[2]);

			ran++;
			lacked += WIFEXITED(status) && WEXITSTATUS(status) == 1;
			failed += !WIFEXITED(status) || WEXITSTATUS(status) > 1;
		}
	printf("%s: ran %lu lacked %lu failed %lu\n", argv[1], ran, lacked, failed);
	return 0;
}
