/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Children whose end is waited for. A process that ignores SIGCHLD, which is inherited, gets
 * neither the signal nor a status: waitpid(2) fails with ECHILD once the child has ended. So each
 * program that starts others calls this before it does.
 *
 * Workload: once a program. Source: signal(7), waitpid(2).
 */
#ifndef PP_BASE_CHILDREN_H
#define PP_BASE_CHILDREN_H

#include <signal.h>
#include <stddef.h>

/* ret_before: what the parent had set, for a child that is to inherit it; NULL: nobody asks. */
static inline void pp_children_leave_status(struct sigaction *ret_before)
{
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, ret_before);
}

#endif
