/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of a whole stream with a path stack as deep as the program: EOPP table 5.1 without the 32
 * entries of hardware, which forget what deep recursion has begun.
 *
 * Workload: each branch of some hundred million; an entry a procedure that is active. Exits
 * without memory. One owner.
 */
#ifndef LAB_COLLECT_WHOLE_H
#define LAB_COLLECT_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/abi.h"
#include "profile.h"

struct lab_whole {
	struct lab_path_key *paths; /* begun, the one that runs last */
	size_t cnt, room;
};

/* All zero is empty. */
void lab_whole_release(struct lab_whole *w);
/* Control continued elsewhere: forgets all begun paths. */
void lab_whole_clear(struct lab_whole *w);
/* true: *ret_key is a path that ended with this branch. */
bool lab_whole_step(struct lab_whole *w, const struct pathprof_branch *branch,
		    struct lab_path_key *ret_key);

#endif
