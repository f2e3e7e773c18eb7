// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The table of ways read before; see pp_runs.h for workload and bounds. */
#include "pp_runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

int pp_runs_init(struct pp_runs *ret_runs, uint64_t seed)
{
	struct pp_runs runs = {.seed = seed};

	if (pp_reserve(&runs.runs, PP_RUNS_MIN, &runs.run_room) < 0 ||
	    pp_reserve(&runs.branches, PP_RUN_BRANCHES_MIN, &runs.branch_room) < 0 ||
	    pp_table_enlarge(&runs.table, PP_RUNS_MIN) < 0) {
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
	pp_table_release(&runs->table);
	memset(runs, 0, sizeof(*runs));
}

void pp_runs_clear(struct pp_runs *runs)
{
	runs->run_cnt = 0;
	runs->branch_cnt = 0;
	pp_table_clear(&runs->table);
}

static bool make_room(struct pp_runs *runs, uint32_t branch_cnt)
{
	if (runs->run_cnt == runs->run_room &&
	    (runs->run_room == PP_RUNS_MAX ||
	     pp_reserve(&runs->runs, 2 * runs->run_room, &runs->run_room) < 0))
		return false;
	return branch_cnt <= runs->branch_room - runs->branch_cnt ||
	       (runs->branch_room < PP_RUN_BRANCHES_MAX &&
		pp_reserve(&runs->branches, 2 * runs->branch_room, &runs->branch_room) == 0);
}

int pp_runs_add(struct pp_runs *runs, struct pp_run run, const struct pathprof_branch *branches)
{
	if (!make_room(runs, run.cnt))
		return -ENOSPC;
	run.first = runs->branch_cnt;
	if (run.cnt)
		memcpy(runs->branches + run.first, branches, run.cnt * sizeof(branches[0]));
	runs->runs[runs->run_cnt] = run;
	if (pp_table_add(&runs->table, pp_runs_hash(runs, run.start, run.from), i,
			 pp_runs_hash(runs, runs->runs[i].start, runs->runs[i].from)) < 0)
		return -ENOSPC;
	runs->branch_cnt += run.cnt;
	runs->run_cnt++;
	return 0;
}
