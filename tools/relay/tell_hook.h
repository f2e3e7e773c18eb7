/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting the alert hook: a program of the operator's, which must not become what the daemon is.
 * It gets a process group of its own, the three descriptors it is given, PATH for its environment,
 * the default of every signal, the ordinary place in the queue when memory runs out, and no
 * capability: neither inherited (systemd gives the service ambient ones) nor to be had by executing
 * a program (no_new_privs). Its user, groups and resource limits are the daemon's.
 *
 * Workload: a few starts an hour. Any thread.
 */
#ifndef PP_TELL_HOOK_H
#define PP_TELL_HOOK_H

#include <sys/types.h>

/*
 * argv[0]: its path. input and output become its standard input and standard error; standard output
 * is /dev/null. -errno, that of execve() included: then there is no child.
 */
int pp_tell_hook_start(pid_t *ret_child, char *const *argv, int input, int output);

#endif
