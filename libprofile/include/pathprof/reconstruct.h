/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * From taken branches to all branches: hardware records only taken ones; what lies between the
 * target of one and the next is read from the code, and every conditional branch there was not
 * taken. The result is a burst as the other sources deliver it (abi.h), with the same paths.
 *
 * A window that does not fit its code is refused as a whole, with the reason: half of one would be
 * a guess.
 *
 * Workload: windows of 16 or 32, some 10^5 a second, over few hot runs: what was read once is kept,
 * bounded. One object, one thread. Source: EOPP 5.2; PERF_SAMPLE_BRANCH_STACK.
 */
#ifndef PATHPROF_RECONSTRUCT_H
#define PATHPROF_RECONSTRUCT_H

#include <stdint.h>

#include "pathprof/abi.h"
#include "pathprof/code.h"
#include "pathprof/paths.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A taken branch, addresses of its process. */
struct pathprof_taken {
	uint64_t from, to;
};

/* Why a window was refused. */
enum pathprof_refusal {
	PATHPROF_REFUSED_UNKNOWN_CODE = 1, /* no file for an address (JIT, unmapped, unreadable) */
	PATHPROF_REFUSED_NO_BRANCH,        /* none at `from`: the code has changed, or `from` lies
					      within an instruction */
	PATHPROF_REFUSED_TARGET,           /* the branch at `from` leads elsewhere: changed code */
	PATHPROF_REFUSED_OVERLAP,     /* the way to `from` crosses a branch that is always taken,
					 or `from` lies before it: a lost or repeated record */
	PATHPROF_REFUSED_UNDECODABLE, /* no instructions on the way */
	PATHPROF_REFUSED_TOO_LONG,    /* more than PATHPROF_BURST_MAX branches, or a way of over
					 64 KB */
	PATHPROF_REFUSED_EMPTY,
	PATHPROF_REFUSED_CNT,
};

/* Code around an address: [start, end) of the process is code's bytes from offset on. */
struct pathprof_mapping_place {
	struct pathprof_code *code; /* stays valid until the reconstructor forgets it */
	uint64_t start, end, offset;
};
/* 0, or negative: no code known there. */
typedef int pathprof_locate_fn(void *context, uint64_t address,
			       struct pathprof_mapping_place *ret_place);

struct pathprof_reconstructor;

/* -ENOMEM. */
int pathprof_reconstructor_new(struct pathprof_reconstructor **ret_r, pathprof_locate_fn *locate,
			       void *context);
void pathprof_reconstructor_free(struct pathprof_reconstructor *r);
/* After a mapping of the process changed: everything read is forgotten. */
void pathprof_reconstructor_forget(struct pathprof_reconstructor *r);

/*
 * taken[cnt] in the order executed. branches[] holds PATHPROF_BURST_MAX. 0 and *ret_cnt branches;
 * or an enum pathprof_refusal, nothing written, and *ret_at the entry that does not fit.
 */
int pathprof_reconstruct(struct pathprof_reconstructor *r, const struct pathprof_taken *taken,
			 uint32_t cnt, struct pathprof_branch *branches, uint32_t *ret_cnt,
			 uint32_t *ret_at);
/*
 * The same, and what ran before the first taken branch as well: start is the address where the
 * window is known to begin, as the target of a branch that is not in it.
 */
int pathprof_reconstruct_from(struct pathprof_reconstructor *r, uint64_t start,
			      const struct pathprof_taken *taken, uint32_t cnt,
			      struct pathprof_branch *branches, uint32_t *ret_cnt,
			      uint32_t *ret_at);
/*
 * pathprof_reconstruct() and then pathprof_paths_of_burst(), several times as fast: what lies on a
 * way is not gone through each time. The same paths in the same order; fn is called only when the
 * whole window fits.
 */
int pathprof_reconstruct_paths(struct pathprof_reconstructor *r, const struct pathprof_taken *taken,
			       uint32_t cnt, enum pathprof_mapping mapping, pathprof_path_fn *fn,
			       void *context, uint32_t *ret_at);
/* One or two words, for tables. Never NULL. */
const char *pathprof_refusal_name(enum pathprof_refusal refusal);

#ifdef __cplusplus
}
#endif

#endif
