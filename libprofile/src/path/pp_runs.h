/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Ways read before, by where they begin and end: a table over one array of runs, and one of their
 * not-taken branches.
 *
 * Workload: a look-up for every taken branch, nearly all of them found among some thousand hot
 * runs; so what is found is one slot and one run. Bounded: when either array is full everything is
 * forgotten, which costs a hot program some thousand ways to be read again.
 *
 * Addresses are chosen by those who are profiled: the seed keeps them from choosing collisions.
 *
 * Locking: none, one owner. Runs found stay valid until something is added or forgotten.
 */
#ifndef PP_RUNS_H
#define PP_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "pathprof/abi.h"

#define PP_RUNS_MAX         (1u << 16)
#define PP_RUN_BRANCHES_MAX (1u << 17)
/* The initial sizes: those of two windows, so that the longest window fits into emptied arrays. */
#define PP_RUNS_MIN         (2 * PATHPROF_BURST_MAX)
#define PP_RUN_BRANCHES_MIN (4 * PATHPROF_BURST_MAX)

struct pp_run {
	uint64_t start, from;  /* what it is known by */
	uint64_t target;       /* of the branch at its end, when it is direct */
	uint32_t first, cnt;   /* of pp_runs.branches: those not taken on the way */
	uint32_t kind : 31;    /* PERF_BR_* of the branch at its end */
	uint32_t straight : 1; /* none of those on the way leads back */
	uint32_t next;         /* the run that followed last time: a guess, to be checked */
	uint32_t refusal;      /* enum pathprof_refusal; 0: it can be run through */
};

struct pp_runs {
	struct pp_run *runs;
	struct pathprof_branch *branches;
	uint32_t run_cnt, run_room;
	uint32_t branch_cnt, branch_room;
	struct pp_table table;
	uint64_t seed;
};

/* -ENOMEM. */
int pp_runs_init(struct pp_runs *ret_runs, uint64_t seed);
void pp_runs_release(struct pp_runs *runs);
void pp_runs_clear(struct pp_runs *runs);
/*
 * run->first is set here; branches[run->cnt], at most PATHPROF_BURST_MAX, are copied. -ENOSPC:
 * full, or no memory to grow; after pp_runs_clear() there is room for PP_RUNS_MIN runs of
 * PP_RUN_BRANCHES_MIN branches.
 */
int pp_runs_add(struct pp_runs *runs, struct pp_run run, const struct pathprof_branch *branches);

static inline uint64_t pp_runs_hash(const struct pp_runs *runs, uint64_t start, uint64_t from)
{
	uint64_t h = (start ^ runs->seed) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ from) * 0xbf58476d1ce4e5b9ULL;
	return h >> 32;
}

/* The run's index in runs->runs, or UINT32_MAX. */
static inline uint32_t pp_runs_find(const struct pp_runs *runs, uint64_t start, uint64_t from)
{
	return pp_table_find(&runs->table, pp_runs_hash(runs, start, from), i,
			     runs->runs[i].from == from && runs->runs[i].start == start);
}

#endif
