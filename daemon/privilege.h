/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving up capabilities that are not needed any more, for good: from every set of the calling
 * thread, and from what its children and the threads that it starts later can have. Threads that
 * run already keep theirs, so this is called before any is started: threads that listen for others
 * (metrics) or talk to them (alerts) then start without.
 *
 * Workload: once, when the source is open. One thread. Source: capabilities(7), prctl(2).
 */
#ifndef PP_PRIVILEGE_H
#define PP_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"

#define PP_PRIVILEGE(capability) (UINT64_C(1) << (capability)) /* CAP_* of linux/capability.h */

/* Whether all of caps are in force in this thread. */
bool pp_privilege_has(uint64_t caps);

/*
 * Gives up caps, those that it has; 0 when there is none to give up. After an error any of them may
 * still be in the effective set.
 */
int pp_privilege_drop(uint64_t caps, struct pathprof_error *error);

/* 0: it went well. */
typedef int pp_privilege_fn(void *context);

/*
 * Does fn with caps put aside, and gives them up if that went well. If not they are in force again,
 * and what fn said is returned: on some kernels a thing that works once with a capability needs it
 * each time.
 */
int pp_privilege_try_without(uint64_t caps, pp_privilege_fn *fn, void *context,
			     struct pathprof_error *error);

#endif
