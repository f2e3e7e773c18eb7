/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guards end a thread's burst before the kernel shows the thread's registers to others, or leaves
 * the thread.
 *
 * Tracepoints, and not probes on functions: nobody can switch those off that are in use, while
 * probes go silent when kernel.ftrace_enabled or debugfs kprobes/enabled is set to 0.
 */
#ifndef PATHPROF_KMOD_GUARDS_H
#define PATHPROF_KMOD_GUARDS_H

/* Process context. -ENOENT: this kernel lacks a tracepoint, which its log then names. */
int pp_guards_init(void);
/* When it returns no guard runs any more. */
void pp_guards_exit(void);

#endif
