// SPDX-License-Identifier: GPL-2.0-or-later
/* See follow.h. */
#include "follow.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENV_DIRECTORY "PATHPROF_TRACE_FOLLOW"
#define ENV_PATHS     "PATHPROF_TRACE_PATHS"
#define ENV_CPU       "PATHPROF_TRACE_CPU"
#define ENV_QUIET     "PATHPROF_TRACE_QUIET"

struct following {
	char links[PATH_MAX];     /* the directory of links; "": none was made */
	char own[PATH_MAX];       /* this program */
	char directory[PATH_MAX]; /* the directory of the programs, without links */
	struct pathprof_error *error;
};

static pid_t command_pid;

static void pass_on(int signal)
{
	if (command_pid > 0)
		kill(command_pid, signal);
}

static int fail(const struct following *f, const char *what)
{
	return pathprof_fail(f->error, -errno, "%s: %s", what, strerror(errno));
}

/* ---------------------------------------------------------------- links */

/* with: called for each program's name; a failure ends the walk. */
static int each_program(struct following *f, int (*with)(struct following *f, const char *name))
{
	DIR *directory = opendir(f->directory);
	const struct dirent *entry;
	int r = 0;

	if (!directory)
		return fail(f, f->directory);
	while (r == 0 && (entry = readdir(directory))) {
		struct stat status;

		if (fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
		    S_ISREG(status.st_mode) && status.st_mode & S_IXUSR)
			r = with(f, entry->d_name);
	}
	closedir(directory);
	return r;
}

static int link_path(const struct following *f, const char *name, char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/%s", f->links, name) < PATH_MAX)
		return 0;
	return pathprof_fail(f->error, -ENAMETOOLONG, "%s: name too long", name);
}

static int make_link(struct following *f, const char *name)
{
	char path[PATH_MAX];
	int r = link_path(f, name, path);

	if (r == 0 && symlink(f->own, path) < 0)
		return fail(f, path);
	return r;
}

static int remove_links(struct following *f)
{
	DIR *directory = opendir(f->links);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	return rmdir(f->links);
}

static int make_links(struct following *f, const char *directory)
{
	const char *base = getenv("TMPDIR");
	ssize_t n = readlink("/proc/self/exe", f->own, sizeof(f->own) - 1);

	if (n < 0)
		return fail(f, "/proc/self/exe");
	f->own[n] = '\0';
	if (!realpath(directory, f->directory))
		return fail(f, directory);
	if (snprintf(f->links, sizeof(f->links), "%s/pathprof-follow.XXXXXX",
		     base && base[0] ? base : "/tmp") >= (int)sizeof(f->links))
		return pathprof_fail(f->error, -ENAMETOOLONG, "TMPDIR: name too long");
	if (!mkdtemp(f->links)) {
		int r = fail(f, f->links);

		f->links[0] = '\0';
		return r;
	}
	return each_program(f, make_link);
}

/* ---------------------------------------------------------------- the command */

/* Sets a variable to the path made absolute, so that it means the same in whatever directory the
 * command runs. */
static int set_absolute(const struct following *f, const char *name, const char *path)
{
	char directory[PATH_MAX] = "", absolute[2 * PATH_MAX];

	if (path[0] != '/' && !getcwd(directory, sizeof(directory)))
		return fail(f, "the current directory");
	snprintf(absolute, sizeof(absolute), "%s%s%s", directory, directory[0] ? "/" : "", path);
	return setenv(name, absolute, 1) < 0 ? -ENOMEM : 0;
}

static int set_environment(const struct following *f, const struct trace_options *options)
{
	const char *path = getenv("PATH");
	char *longer;
	int r = set_absolute(f, ENV_PATHS, options->paths);

	if (asprintf(&longer, "%s:%s", f->links, path ? path : "/usr/local/bin:/usr/bin:/bin") < 0)
		return -ENOMEM;
	if (r == 0 && (setenv("PATH", longer, 1) < 0 || setenv(ENV_DIRECTORY, f->directory, 1) < 0))
		r = -ENOMEM;
	if (r == 0 && options->cpu && setenv(ENV_CPU, options->cpu, 1) < 0)
		r = -ENOMEM;
	if (r == 0 && options->quiet && setenv(ENV_QUIET, "1", 1) < 0)
		r = -ENOMEM;
	free(longer);
	return r;
}

static int run(const struct following *f, char *const *command, int *ret_status)
{
	const struct sigaction passing = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
	const struct sigaction ignoring = {.sa_handler = SIG_IGN};

	command_pid = fork();
	if (command_pid < 0)
		return fail(f, "fork");
	if (command_pid == 0) {
		execvp(command[0], command);
		fprintf(stderr, "pathprof-trace: %s: %s\n", command[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	sigaction(SIGTERM, &passing, NULL);
	sigaction(SIGHUP, &passing, NULL);
	/* The terminal sends these to the command as well. */
	sigaction(SIGINT, &ignoring, NULL);
	sigaction(SIGQUIT, &ignoring, NULL);
	while (waitpid(command_pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return fail(f, "waitpid");
	return 0;
}

int trace_follow(const struct trace_options *options, int *ret_status, struct pathprof_error *error)
{
	struct following f = {.error = error};
	int r = make_links(&f, options->follow);

	if (r == 0)
		r = set_environment(&f, options);
	if (r == -ENOMEM)
		pathprof_fail(error, r, "no memory");
	if (r == 0)
		r = run(&f, options->command, ret_status);
	if (f.links[0])
		remove_links(&f);
	return r;
}

/* ---------------------------------------------------------------- run by a link */

int trace_follow_link(struct trace_options *ret_options, char **argv, struct pathprof_error *error)
{
	static char program[PATH_MAX];
	const char *directory = getenv(ENV_DIRECTORY), *paths = getenv(ENV_PATHS);
	const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argv[0];

	if (!directory || !paths || !name || strcmp(name, "pathprof-trace") == 0)
		return 0;
	if (snprintf(program, sizeof(program), "%s/%s", directory, name) >= (int)sizeof(program))
		return pathprof_fail(error, -ENAMETOOLONG, "%s: name too long", name);
	argv[0] = program;
	*ret_options = (struct trace_options){
		.paths = paths,
		.cpu = getenv(ENV_CPU),
		.quiet = getenv(ENV_QUIET) != NULL,
		.limit_words = UINT64_MAX,
		.command = argv,
	};
	return 1;
}
