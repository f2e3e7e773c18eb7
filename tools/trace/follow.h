/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprof-trace --follow DIR: the command runs natively, and the programs of DIR that it runs by
 * their name are traced. A directory of links to pathprof-trace goes to the front of PATH, one for
 * each program; running such a name runs the program of that name under the tracer. The environment
 * tells it how.
 *
 * Workload: once a command, and once a program it runs. Locking: none. Ownership: the directory of
 * links goes when the command has ended.
 */
#ifndef TRACE_FOLLOW_H
#define TRACE_FOLLOW_H

#include "options.h"

/* The command's status, as waitpid() gives it, in *ret_status. -errno, error filled. */
int trace_follow(const struct trace_options *options, int *ret_status,
		 struct pathprof_error *error);
/*
 * 1: we were run by such a link; *ret_options says what to do, and points into argv and into what
 * stays for the life of the process. 0: we were not. -errno, error filled.
 */
int trace_follow_link(struct trace_options *ret_options, char **argv, struct pathprof_error *error);

#endif
