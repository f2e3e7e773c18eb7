/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that whoever runs the machine has set apart: isolated from the scheduler's balancing
 * (isolcpus=), or without a tick while one thread has them (nohz_full=). Programs there were
 * promised not to be interrupted, so unless RealTime=yes there are no timers of ours there, and
 * no thread there is held.
 *
 * Read once when a source starts. Source: the kernel's Documentation/admin-guide/cputopology.rst.
 */
#ifndef PP_ISOLATED_H
#define PP_ISOLATED_H

#include <stdbool.h>

#define PP_ISOLATED_CPU_MAX 8192
#define PP_ISOLATED_WHERE   "/sys/devices/system/cpu"

/*
 * Reads the files `isolated` and `nohz_full` in directory; ret_is_isolated has PP_ISOLATED_CPU_MAX
 * places. Returns whether there is any; a file that is missing or holds no list names none.
 */
bool pp_isolated_cpus(const char *directory, bool *ret_is_isolated);

#endif
