/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another program of ours that does one piece of work and ends: pathprofd that records,
 * pathprof-hub that fetches. Workload: once a command. Nobody frees the arguments: the program ends
 * soon after.
 */
#ifndef CTL_ONESHOT_H
#define CTL_ONESHOT_H

#include <stddef.h>

struct oneshot_arguments {
	char **list; /* ends in NULL */
	size_t cnt;
};

/* The program of that name beside this one, else the one in PATH. Caller frees. */
char *oneshot_program(const char *name);
/* Room for `most` arguments; the program's name is the first. */
void oneshot_begin(struct oneshot_arguments *ret_arguments, const char *name, size_t most);
void oneshot_push(struct oneshot_arguments *arguments, const char *word);
/* value NULL: nothing. */
void oneshot_push_option(struct oneshot_arguments *arguments, const char *name, const char *value);

/*
 * Checks an existing file: a database of ours is appended to, any other file is never touched.
 * Returns CTL_OK, or CTL_FAILURE after a message.
 */
int oneshot_check_output(const char *path);
/*
 * Ignores SIGPIPE, and has children leave a status. What runs by the functions below begins with
 * both signals as they were before. Once, at the program's start.
 */
void oneshot_take_signals(void);
/* Runs the program that the first argument names, and waits: its exit status. verb is for messages.
 */
int oneshot_run(const char *verb, char **arguments);
/* The same for a program that SIGTERM and SIGHUP to this process are passed on to. */
int oneshot_run_passing(const char *verb, char **arguments);

#endif
