// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl record: a private, one-shot pathprofd around one program. All the work is its; here
 * the database is looked at before and the report printed after. The exit status is the
 * program's.
 */
#include "ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "report.h"
#include "term.h"

#define DEFAULT_OUTPUT "pathprof.db"
#define ARGUMENTS_MAX  16 /* ours, before the command's */

/* The daemon beside this program, else the one in PATH. Caller frees. */
static char *find_daemon(void)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *beside;

	if (len > 0) {
		self[len] = 0;
		slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
		beside = ctl_printf("%s/pathprofd", self);
		if (access(beside, X_OK) == 0)
			return beside;
		free(beside);
	}
	return ctl_strdup("pathprofd");
}

/* What is there already is appended to when it is a database of ours, and never touched if not. */
static int check_output(const char *path)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct stat status;
	int r;

	if (stat(path, &status) < 0)
		return errno == ENOENT ? CTL_OK : ctl_fail("%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return ctl_fail("%s: not a regular file: choose another with -o", path);
	r = pathprof_store_open(&store, path, PATHPROF_STORE_READ, &error);
	if (r < 0)
		return ctl_fail("%s: exists and is no pathprof database: choose another with -o",
				path);
	return CTL_OK;
}

static int check_arguments(const struct ctl_options *options)
{
	if (options->argc == 0 && options->filter.pid == 0)
		return ctl_usage(options, "a command or --pid is needed");
	if (options->argc && options->filter.pid)
		return ctl_usage(options, "a command and --pid exclude each other");
	if (options->duration_s > 0 && !options->filter.pid)
		return ctl_usage(options, "--duration goes with --pid: a command ends by itself");
	if (options->db && options->output)
		return ctl_usage(options, "--db and --output mean the same here: give one");
	return CTL_OK;
}

struct arguments {
	char **list; /* ends in NULL */
	size_t cnt;
};

static void push(struct arguments *arguments, const char *word)
{
	arguments->list[arguments->cnt++] = ctl_strdup(word);
}

static void push_option(struct arguments *arguments, const char *name, const char *value)
{
	if (!value)
		return;
	push(arguments, name);
	push(arguments, value);
}

/* The daemon's argument vector. Nobody frees it: an exec or an exit follows. */
static char **arguments_of(const struct ctl_options *options, const char *daemon, const char *db)
{
	struct arguments arguments = {
		.list = ctl_alloc(((size_t)options->argc + ARGUMENTS_MAX + 1) * sizeof(char *)),
	};
	char number[32];

	push(&arguments, daemon);
	push(&arguments, "--record");
	push_option(&arguments, "--db", db);
	push_option(&arguments, "--source", options->source);
	push_option(&arguments, "--overhead", options->overhead);
	if (options->duration_s > 0) {
		snprintf(number, sizeof(number), "%gs", options->duration_s);
		push_option(&arguments, "--duration", number);
	}
	if (options->filter.pid) {
		snprintf(number, sizeof(number), "%" PRIu32, options->filter.pid);
		push_option(&arguments, "-p", number);
		return arguments.list;
	}
	push(&arguments, "--");
	for (int i = 0; i < options->argc; i++)
		push(&arguments, options->argv[i]);
	return arguments.list;
}

/* The daemon decides what an interrupt means; this process waits for it. */
static void hold_signals(void (*handler)(int))
{
	signal(SIGINT, handler);
	signal(SIGQUIT, handler);
}

static int run_daemon(const struct ctl_options *options, const char *db)
{
	char *daemon = find_daemon();
	int status;
	pid_t pid;

	hold_signals(SIG_IGN);
	pid = fork();
	if (pid < 0)
		return ctl_fail("record: fork: %s", strerror(errno));
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		hold_signals(SIG_DFL);
		execvp(daemon, arguments_of(options, daemon, db));
		ctl_fail("%s: %s: install it beside pathprofctl or in PATH", daemon,
			 strerror(errno));
		_exit(CTL_FAILURE);
	}
	free(daemon);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ctl_fail("record: wait: %s", strerror(errno));
	hold_signals(SIG_DFL);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The program's own output must stay its own: the report goes beside it unless people look on. */
static FILE *report_stream(const struct ctl_options *options)
{
	if (isatty(STDOUT_FILENO) == 1)
		return stdout;
	ctl_term_init(STDERR_FILENO, options->color);
	return stderr;
}

int cmd_record(const struct ctl_options *options)
{
	const char *db = options->output ? options->output
			 : options->db   ? options->db
					 : DEFAULT_OUTPUT;
	struct timespec begin;
	int result = check_arguments(options);

	if (result == CTL_OK)
		result = check_output(db);
	if (result)
		return result;
	clock_gettime(CLOCK_REALTIME, &begin);
	result = run_daemon(options, db);
	if (!options->no_report && access(db, F_OK) == 0)
		report_print(report_stream(options), db,
			     (int64_t)begin.tv_sec * CTL_NS_PER_S + begin.tv_nsec, options->json);
	return result;
}
