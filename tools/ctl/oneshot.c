// SPDX-License-Identifier: GPL-2.0-or-later
/* Running another program of ours: see oneshot.h. */
#include "oneshot.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/children.h"
#include "ctl.h"
#include "text/cleanup.h"

char *oneshot_program(const char *name)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *beside;

	if (len > 0) {
		self[len] = 0;
		slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
		beside = ctl_printf("%s/%s", self, name);
		if (access(beside, X_OK) == 0)
			return beside;
		free(beside);
	}
	return ctl_strdup(name);
}

int oneshot_check_output(const char *path)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	unsigned int schema, known;
	struct stat status;
	int r;

	if (!strcmp(path, "-"))
		return ctl_fail("-: a database cannot be standard output: choose a file with -o");
	if (stat(path, &status) < 0)
		return errno == ENOENT ? CTL_OK : ctl_fail("%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return ctl_fail("%s: not a regular file: choose another with -o", path);
	if (!status.st_size)
		return CTL_OK;
	r = pathprof_store_open(&store, path, PATHPROF_STORE_READ, &error);
	if (r < 0)
		return ctl_fail("%s: exists and cannot be added to: choose another with -o (%s)",
				path, error.text);
	schema = pathprof_store_schema(store, &known);
	if (schema < known)
		return ctl_fail("%s: is a database of an older pathprof (schema %u, this one "
				"writes %u), which is read, but not added to: choose another with "
				"-o",
				path, schema, known);
	return CTL_OK;
}

void oneshot_begin(struct oneshot_arguments *ret_arguments, const char *name, size_t most)
{
	*ret_arguments = (struct oneshot_arguments){
		.list = ctl_alloc((most + 2) * sizeof(char *)),
	};
	oneshot_push(ret_arguments, name);
}

void oneshot_push(struct oneshot_arguments *arguments, const char *word)
{
	arguments->list[arguments->cnt++] = ctl_strdup(word);
}

void oneshot_push_option(struct oneshot_arguments *arguments, const char *name, const char *value)
{
	if (!value)
		return;
	oneshot_push(arguments, name);
	oneshot_push(arguments, value);
}

/* Signals that are passed on to the program that runs, if they were sent to this process alone. */
static const int held[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
#define HELD_CNT (sizeof(held) / sizeof(held[0]))

static bool is_typed(int number)
{
	return number == SIGINT || number == SIGQUIT;
}

/* The process that runs, for the handler; 0: none. Set while the signals above are blocked. */
static volatile sig_atomic_t running;

/* A typed signal comes from the kernel to every process of the terminal, so what runs has it, too.
 */
static void pass_on(int number, siginfo_t *info, void *context)
{
	const int before = errno;

	if (running && !(is_typed(number) && info->si_code == SI_KERNEL))
		kill((pid_t)running, number);
	errno = before;
}

/* The caller's handling of signals is kept: a shell lets background jobs ignore the terminal's. */
struct signals_before {
	struct sigaction held[HELD_CNT];
	sigset_t mask;
};

static void block_held(sigset_t *ret_before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < HELD_CNT; i++)
		sigaddset(&set, held[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

/*
 * The program decides what an interrupt means; this process waits for it. With `passes` so it is
 * with all of these signals; one that is ignored stays so, as nohup has SIGHUP.
 */
static void hold_signals(struct signals_before *ret_before, bool passes)
{
	const struct sigaction ignoring = {.sa_handler = SIG_IGN},
			       passing = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};

	block_held(&ret_before->mask);
	for (size_t i = 0; i < HELD_CNT; i++) {
		struct sigaction *before = &ret_before->held[i];

		sigaction(held[i], NULL, before);
		if (is_typed(held[i]) ? before->sa_handler != SIG_IGN
				      : passes && before->sa_handler == SIG_DFL)
			sigaction(held[i], passes ? &passing : &ignoring, NULL);
	}
}

static void release_signals(const struct signals_before *before)
{
	for (size_t i = 0; i < HELD_CNT; i++)
		sigaction(held[i], &before->held[i], NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* The caller's handling of what this process ignores, or must not ignore. */
static struct sigaction pipe_before, child_before;

void oneshot_take_signals(void)
{
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &pipe_before);
	pp_children_leave_status(&child_before);
}

static _Noreturn void become(const char *program, char **arguments)
{
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGCHLD, &child_before, NULL);
	execvp(program, arguments);
	ctl_fail("%s: %s: install it beside pathprofctl or in PATH", program, strerror(errno));
	_exit(CTL_FAILURE);
}

static int wait_for(const char *verb, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ctl_fail("%s: wait: %s", verb, strerror(errno));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(const char *verb, char **arguments, bool passes)
{
	_cleanup_free_ char *program = oneshot_program(arguments[0]);
	struct signals_before before;
	pid_t pid;
	int result;

	hold_signals(&before, passes);
	pid = fork();
	if (pid == 0) {
		release_signals(&before);
		become(program, arguments);
	}
	running = pid > 0 ? pid : 0;
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
	result = pid < 0 ? ctl_fail("%s: fork: %s", verb, strerror(errno)) : wait_for(verb, pid);
	running = 0;
	release_signals(&before);
	return result;
}

int oneshot_run(const char *verb, char **arguments)
{
	return run(verb, arguments, false);
}

int oneshot_run_passing(const char *verb, char **arguments)
{
	return run(verb, arguments, true);
}
