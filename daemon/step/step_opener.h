/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens perf's breakpoints for a stepper that has no right to perf events. Above level 2 of
 * kernel.perf_event_paranoid Debian's kernels ask for CAP_SYS_ADMIN each time that an event is
 * opened, and a breakpoint is opened for one thread, in each burst. So a process of its own keeps
 * that right, the opener: the daemon forks it while it has the right itself. It takes a thread's
 * number, answers with descriptors of disabled breakpoints on that thread, and is allowed no other
 * system call than these take. Without it the stepper would have to write the thread's debug
 * registers by ptrace, which the kernel never gives back (step_break.h).
 *
 * Workload: a request a burst, some tens a second. The opener serves one at a time, and an open
 * that sleeps is broken off; the stepper waits a bound and goes on without. The opener ends with
 * the daemon. One thread each, no locks; the asking side keeps its state in static memory, as a
 * process has one opener.
 * Source: perf_event_open(2), unix(7) (SCM_RIGHTS), seccomp(2).
 */
#ifndef PP_STEP_OPENER_H
#define PP_STEP_OPENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Forks the opener; *ret_fd is for steppers to ask by. Its process id, or -errno. */
pid_t pp_step_opener_start(int *ret_fd);

/* ---- in the stepper */

/* From now on breakpoints are asked for by fd, which belongs to this module then. */
void pp_step_opener_use(int fd);
bool pp_step_opener_is_used(void);
/*
 * Descriptors of breakpoints on a thread, up to PP_STEP_BREAK_MAX, into ret_fds; how many. Takes 20
 * ms at most; until it has answered once, 2 s.
 */
uint32_t pp_step_opener_ask(pid_t tid, int *ret_fds);
/* Whether it has ended: nothing will be opened any more. */
bool pp_step_opener_has_gone(void);
/* CPU time that it has spent on what was asked for here. */
uint64_t pp_step_opener_cpu_ns(void);

#endif
