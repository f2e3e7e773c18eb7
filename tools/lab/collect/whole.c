// SPDX-License-Identifier: GPL-2.0-or-later
/* A path stack without a bottom. */
#include "whole.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/vector.h"
#include "../lab.h"

#define LENGTH_MAX 32

void lab_whole_release(struct lab_whole *w)
{
	free(w->paths);
	*w = (struct lab_whole){.paths = NULL};
}

void lab_whole_clear(struct lab_whole *w)
{
	w->cnt = 0;
}

static void push(struct lab_whole *w, uint64_t start)
{
	if (pp_grow(&w->paths, w->cnt, &w->room) < 0)
		lab_fail("paths: out of memory");
	w->paths[w->cnt++] = (struct lab_path_key){.start = start};
}

static bool pop(struct lab_whole *w, struct lab_path_key *ret_key)
{
	if (!w->cnt)
		return false;
	*ret_key = w->paths[--w->cnt];
	return true;
}

/* Whether the path has reached its greatest length. */
static bool extend(struct lab_whole *w, const struct pathprof_branch *branch)
{
	struct lab_path_key *path = w->paths + w->cnt;

	if (!w->cnt)
		return false;
	path[-1].outcomes |= (uint32_t)branch->taken << path[-1].length++;
	return path[-1].length == LENGTH_MAX;
}

bool lab_whole_step(struct lab_whole *w, const struct pathprof_branch *branch,
		    struct lab_path_key *ret_key)
{
	bool popped, ends;

	switch (branch->kind) {
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		push(w, branch->next);
		return false;
	case PERF_BR_RET:
		return pop(w, ret_key);
	default:
		ends = extend(w, branch) || branch->kind == PERF_BR_IND ||
		       branch->target <= branch->from;
		if (!ends)
			return false;
		popped = pop(w, ret_key);
		push(w, branch->next);
		return popped;
	}
}
