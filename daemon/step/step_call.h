/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a burst treats the system call that its thread stands in front of. Most calls are gone
 * through: a breakpoint stands behind the instruction. Some would show the target that it is held,
 * or take the thread out of its window; the burst ends in front of these.
 *
 * A call may sleep for long, and a traced thread can only be let go when it is stopped. So calls
 * that the kernel, or we (step_target.c), can start again without a trace are broken off. All
 * others are not: a write that has moved half of its bytes would return a short count. Their thread
 * waits in limbo with the breakpoint behind the call, and is let go there.
 *
 * Workload: once a system call on the way of a burst, a table; a read of a file also takes a
 * readlink of /proc, and a look at the file's mount (step_mount.h). Source: signal(7) for what is
 * restarted; the kernel's entry code takes the number from eax.
 */
#ifndef PP_STEP_CALL_H
#define PP_STEP_CALL_H

#include <sys/types.h>
#include <sys/user.h>

#include "step_code.h"

enum pp_step_call {
	PP_STEP_CALL_WHOLE, /* gone through, and never broken off */
	PP_STEP_CALL_AGAIN, /* gone through; where it sleeps it is broken off and started again */
	PP_STEP_CALL_ENDS,  /* the window ends in front of it */
};

/* regs: in front of a system call of thread tid, whose burst has read `code`. */
enum pp_step_call pp_step_call_look(const struct pp_step_code *code,
				    const struct user_regs_struct *regs, pid_t tid);

#endif
