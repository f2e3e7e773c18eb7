/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The branches of one binary, added up: what compilers and layout tools want to be told.
 *
 *     pathprof_branch_profile_init(&profile, &id);
 *     pathprof_branch_profile_add_store(&profile, store, &filter, code, graph, &error);
 *     pathprof_branch_profile_settle(&profile);
 *     ... profile.branches[i], profile.ranges[i], profile.traces[i], profile.times[i] ...
 *
 * Shape: four flat arrays, each sorted by its fields in their order, no two entries the same but
 * for their counts. Positions and places are file offsets of instructions.
 *
 *     branches  every taken branch, from -> to
 *     ranges    code run from `start` to its instruction `last` without a taken branch between
 *     traces    a branch and the range behind it, where both were seen together
 *     times     the CPU time that a clock found at a place; none where no clock ran
 *
 * Branches and ranges are whole counts each; traces are of the same events once more, so a branch
 * is taken at least as often as its traces say but for sampling error.
 *
 * One scale. A window of n taken branches, cut out of a stream of N, shows a given branch with
 * chance n/N for each time it ran; so of B windows each time counts n*B/N. A path over t branches
 * is seen whole from n - t places, (n - t)*B/N a time; its weight adds n/(n - t) whenever it is
 * seen, which makes n*B/N again. Counts of edges and weights of paths are therefore estimates on
 * one scale, and nothing is to be brought in line (docs/formats.md). Weights are added up as they
 * are and rounded once, by settle(); what was seen at all stays 1.
 *
 * Workload: a binary's 10^3 to 10^6 entries of each kind, built once, read a few times. Ownership:
 * the profile owns arrays and strings. No locking: one owner.
 */
#ifndef PATHPROF_BRANCH_PROFILE_H
#define PATHPROF_BRANCH_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/code.h"
#include "pathprof/error.h"
#include "pathprof/graph.h"
#include "pathprof/recording.h"
#include "pathprof/ledger.h"
#include "pathprof/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In place of a position: in no code of this binary. */
#define PATHPROF_OUTSIDE UINT64_MAX

struct pathprof_branch_count {
	uint64_t from, to; /* one of them may be PATHPROF_OUTSIDE */
	uint64_t count, mispredicted;
};

struct pathprof_range_count {
	uint64_t start, last;
	bool after_call; /* start is behind a call that returned */
	uint64_t count;
};

struct pathprof_trace_count {
	uint64_t from, start, last;
	uint64_t count;
};

/* CPU time at an instruction: a place as in profile.h. */
struct pathprof_time_count {
	uint64_t place;
	uint64_t ns;
};

/* The origin of a branch profile. Strings may be NULL: not known. */
struct pathprof_branch_origin {
	struct pathprof_build_id build_id;
	char *binary, *host;
	char *sources;             /* "step", "lbr+swlbr", "perf.data", ... */
	char *events;              /* as a pre-aggregated file names them, a blank between */
	enum pathprof_basis basis; /* 0: not known, or of both kinds */
	uint32_t horizon;          /* instructions a burst covers; 0: none, not known, several */
	int64_t begin_ns, end_ns;  /* CLOCK_REALTIME, 0: not known */
	uint64_t windows;          /* closed windows of a store, or recordings */
	uint64_t samples;          /* paths seen whole, or counts read */
	double weight;             /* of these paths */
	bool weighed;              /* in microseconds of CPU time, as counts are (profile.h) */
	uint64_t taken;            /* taken branches seen */
	uint64_t refused;          /* paths or counts that do not fit the code, left out */
	double scale;              /* all counts were multiplied by that: 1 */
	struct pathprof_ledger ledger; /* of a recording that was read straight; else all 0 */
};

struct pathprof_branch_profile {
	struct pathprof_branch_origin origin;
	struct pathprof_branch_count *branches;
	struct pathprof_range_count *ranges;
	struct pathprof_trace_count *traces;
	struct pathprof_time_count *times;
	uint32_t branch_cnt, range_cnt, trace_cnt, time_cnt;
	bool settled;
	struct pp_branch_draft *draft; /* private: what is not settled yet */
};

/* id kind PATHPROF_ID_NONE: of any binary. -ENOMEM. */
int pathprof_branch_profile_init(struct pathprof_branch_profile *p,
				 const struct pathprof_build_id *id);
/* NULL-safe; p may be all zero. */
void pathprof_branch_profile_release(struct pathprof_branch_profile *p);

/* host, sources, binary: replaces what was there; NULL leaves it. -ENOMEM. */
int pathprof_branch_profile_name(struct pathprof_branch_profile *p, const char *binary,
				 const char *host, const char *sources);

/* One entry more, in no order, any number of times the same. -ENOMEM, -E2BIG. */
int pathprof_branch_profile_add_branch(struct pathprof_branch_profile *p, uint64_t from,
				       uint64_t to, uint64_t count, uint64_t mispredicted);
int pathprof_branch_profile_add_range(struct pathprof_branch_profile *p, uint64_t start,
				      uint64_t last, bool after_call, double weight);
/* Also adds the trace's range, but not its branch. */
int pathprof_branch_profile_add_trace(struct pathprof_branch_profile *p, uint64_t from,
				      uint64_t start, uint64_t last, double weight);
int pathprof_branch_profile_add_time(struct pathprof_branch_profile *p, uint64_t place, double ns);

/*
 * Adds the counts of p's binary that a filter selects (filter->binary is ignored): edges become
 * branches, paths become the ranges between the branches and calls on them. A run that a backward
 * branch not taken cuts in two is put together again: each path that begins behind that branch gets
 * its share of what came over it. If branches led to a place more often than paths ran on from
 * there (paths longer than a window are never seen whole) the rest is followed through the code in
 * the proportion of the branches' counts. If all windows selected have their ranges
 * (pathprof_store_ranges), these are taken instead. Clock samples become CPU time by the rate of
 * the clock in the windows selected. Paths that the code does not have are counted as refused.
 * -ESTALE: code is of another binary.
 */
int pathprof_branch_profile_add_store(struct pathprof_branch_profile *p,
				      struct pathprof_store *store,
				      const struct pathprof_filter *filter,
				      struct pathprof_code *code,
				      const struct pathprof_graph *graph,
				      struct pathprof_error *error);
/*
 * A count that pathprof_recording_read() hands on; addresses says what its places count from. A
 * place of another build-id than p's is outside. Samples at an address become ranges of one
 * instruction, unless ranges were read before them. Counts that lie in no code are counted as
 * refused.
 *
 * BOLT's fdata has fall-throughs among its branches: they become ranges as p is settled, and so do
 * AutoFDO's samples of branches to the outside. Both need the graph; without it (NULL) they are
 * left out. code and graph are the same in all calls, and stay until p is settled.
 * -EOPNOTSUPP: PATHPROF_ADDRESS_RUN; -ESTALE.
 */
int pathprof_branch_profile_add_count(struct pathprof_branch_profile *p, struct pathprof_code *code,
				      const struct pathprof_graph *graph,
				      enum pathprof_address_kind addresses,
				      const struct pathprof_recorded_count *count,
				      struct pathprof_error *error);
/* Sorts, adds up, rounds: the arrays are as above. More may be added afterwards. -ENOMEM, -E2BIG.
 */
int pathprof_branch_profile_settle(struct pathprof_branch_profile *p);

/*
 * Enough samples? BOLT's measure, and llvm-profgen's: a function's density is the bytes that were
 * run through by ranges over its size; the profile's is that of the thinnest of the densest
 * functions that together hold `cutoff` of all branches, taken or not, but returns.
 */
#define PATHPROF_DENSITY_CUTOFF    0.99
#define PATHPROF_DENSITY_THRESHOLD 60.0 /* BOLT's; llvm-profgen's is 50 */
struct pathprof_density {
	double density, threshold;
	double more; /* times as many samples are wanted; 1: enough, INFINITY: there are none */
	uint32_t functions; /* that were run at all */
	uint32_t hot;       /* that hold the cutoff */
	uint32_t rangeless; /* that have branches and no range */
	uint64_t bytes;     /* run through */
	bool enough;
	bool partial; /* without the rangeless, which would make it 0 */
};
/* -ESTALE: the graph is of another binary; -ENOMEM; -EINVAL: not settled. */
int pathprof_profile_density(const struct pathprof_branch_profile *p,
			     const struct pathprof_graph *graph,
			     struct pathprof_density *ret_density, struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
