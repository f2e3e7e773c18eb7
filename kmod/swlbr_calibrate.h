/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a debug trap on this machine: some hundred of them in the kernel itself, timed when
 * the module is loaded, for the INFO call. Traps out of user code cost a little more.
 */
#ifndef PATHPROF_KMOD_SWLBR_CALIBRATE_H
#define PATHPROF_KMOD_SWLBR_CALIBRATE_H

#include <linux/types.h>

/* Once, in process context, when the trap handler is in place. */
void pp_swlbr_calibrate(void);

/* The trap handler asks for each trap out of the kernel: true when it is one of these. */
bool pp_swlbr_calibrating(void);

/* Nanoseconds a trap, at least 1. */
u32 pp_swlbr_trap_ns(void);

#endif
