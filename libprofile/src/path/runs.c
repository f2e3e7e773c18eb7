// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The table of ways read before; see pp_runs.h for workload and bounds. */
#include "pp_runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void enter(struct pp_runs *runs, uint32_t index)
{
	const struct pp_run *run = &runs->runs[index];
	uint32_t slot = pp_runs_slot(runs, run->start, run->from);

	while (runs->slots[slot])
		slot = (slot + 1) & runs->slot_mask;
	runs->slots[slot] = index + 1;
}

static int grow_runs(struct pp_runs *runs, uint32_t room)
{
	uint32_t *slots = calloc(2 * (size_t)room, sizeof(slots[0]));
	struct pp_run *moved = reallocarray(runs->runs, room, sizeof(moved[0]));

	if (moved)
		runs->runs = moved;
	if (!slots || !moved) {
		free(slots);
		return -ENOMEM;
	}
	free(runs->slots);
	runs->slots = slots;
	runs->run_room = room;
	runs->slot_mask = 2 * room - 1;
	for (uint32_t i = 0; i < runs->run_cnt; i++)
		enter(runs, i);
	return 0;
}

static int grow_branches(struct pp_runs *runs, uint32_t room)
{
	struct pathprof_branch *moved = reallocarray(runs->branches, room, sizeof(moved[0]));

	if (!moved)
		return -ENOMEM;
	runs->branches = moved;
	runs->branch_room = room;
	return 0;
}

int pp_runs_init(struct pp_runs *ret_runs, uint64_t seed)
{
	struct pp_runs runs = {.seed = seed};

	if (grow_runs(&runs, PP_RUNS_MIN) || grow_branches(&runs, PP_RUN_BRANCHES_MIN)) {
		pp_runs_release(&runs);
		return -ENOMEM;
	}
	*ret_runs = runs;
	return 0;
}

void pp_runs_release(struct pp_runs *runs)
{
	free(runs->runs);
	free(runs->branches);
	free(runs->slots);
	memset(runs, 0, sizeof(*runs));
}

void pp_runs_clear(struct pp_runs *runs)
{
	runs->run_cnt = 0;
	runs->branch_cnt = 0;
	memset(runs->slots, 0, (runs->slot_mask + (size_t)1) * sizeof(runs->slots[0]));
}

static bool make_room(struct pp_runs *runs, uint32_t branch_cnt)
{
	if (runs->run_cnt == runs->run_room &&
	    (runs->run_room == PP_RUNS_MAX || grow_runs(runs, 2 * runs->run_room)))
		return false;
	return branch_cnt <= runs->branch_room - runs->branch_cnt ||
	       (runs->branch_room < PP_RUN_BRANCHES_MAX &&
		!grow_branches(runs, 2 * runs->branch_room));
}

int pp_runs_add(struct pp_runs *runs, struct pp_run run, const struct pathprof_branch *branches)
{
	if (!make_room(runs, run.cnt))
		return -ENOSPC;
	run.first = runs->branch_cnt;
	if (run.cnt)
		memcpy(runs->branches + run.first, branches, run.cnt * sizeof(branches[0]));
	runs->branch_cnt += run.cnt;
	runs->runs[runs->run_cnt] = run;
	enter(runs, runs->run_cnt++);
	return 0;
}
