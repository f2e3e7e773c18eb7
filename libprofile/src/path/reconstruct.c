// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Windows of taken branches become bursts: each entry's way is looked up among those read before,
 * or read; only when the whole window fits its code is anything written.
 *
 * Workload: 10^5 windows of 32 a second, a look-up and a short copy a taken branch.
 * Locking: none, one owner. Ownership: the object's memory is bounded (pp_runs.h); code handles
 * are the locator's.
 * Source: EOPP 5.2; docs/reconstruction.md.
 */
#include "pathprof/reconstruct.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/pp_path_stack.h"
#include "pp_reconstruct.h"
#include "pp_runs.h"
#include "pp_way.h"

struct pathprof_reconstructor {
	struct pp_way_reader reader;
	struct pp_runs runs;
	struct pp_way way;                  /* the one just read */
	uint32_t index[PATHPROF_BURST_MAX]; /* the runs of the window in hand */
};

int pathprof_reconstructor_new(struct pathprof_reconstructor **ret_r, pathprof_locate_fn *locate,
			       void *context)
{
	struct pathprof_reconstructor *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	/* The object's address serves as a random seed and needs no system call. */
	if (pp_runs_init(&r->runs, (uint64_t)(uintptr_t)r)) {
		free(r);
		return -ENOMEM;
	}
	pp_way_reader_init(&r->reader, locate, context);
	*ret_r = r;
	return 0;
}

void pathprof_reconstructor_free(struct pathprof_reconstructor *r)
{
	if (!r)
		return;
	pp_runs_release(&r->runs);
	free(r);
}

void pathprof_reconstructor_forget(struct pathprof_reconstructor *r)
{
	pp_way_reader_forget(&r->reader);
	pp_runs_clear(&r->runs);
}

/* A path is then only made longer by the way. */
static bool is_straight(const struct pp_way *way)
{
	for (uint32_t i = 0; i < way->cnt; i++)
		if (way->branches[i].target <= way->branches[i].from)
			return false;
	return true;
}

/*
 * Reads the way and keeps it as a run, a refusal too: a way that does not fit mostly comes again.
 * Unknown code is not kept, as the locator may find it later. 0 (the run may hold a refusal),
 * PATHPROF_REFUSED_UNKNOWN_CODE, or -ENOSPC.
 */
static int learn(struct pathprof_reconstructor *r, uint64_t start, uint64_t from)
{
	struct pp_run run = {.start = start, .from = from};
	int refusal = pp_way_read(&r->reader, start, from, &r->way);

	if (refusal == PATHPROF_REFUSED_UNKNOWN_CODE)
		return refusal;
	run.refusal = (uint32_t)refusal;
	if (!refusal) {
		run.cnt = r->way.cnt;
		run.kind = r->way.kind;
		run.straight = is_straight(&r->way);
		run.target = r->way.target;
	}
	return pp_runs_add(&r->runs, run, r->way.branches);
}

/*
 * The run's index, the newest when it had to be read. before is the run before it: mostly the same
 * one follows as last time; UINT32_MAX: none.
 */
static int find(struct pathprof_reconstructor *r, uint64_t start, uint64_t from, uint32_t before,
		uint32_t *ret_index)
{
	struct pp_runs *runs = &r->runs;
	uint32_t index = before != UINT32_MAX ? runs->runs[before].next : UINT32_MAX;
	int rc = 0;

	if (index < runs->run_cnt && runs->runs[index].from == from &&
	    runs->runs[index].start == start) {
		*ret_index = index;
		return 0;
	}
	index = pp_runs_find(runs, start, from);
	if (index == UINT32_MAX) {
		rc = learn(r, start, from);
		index = runs->run_cnt - 1;
	}
	if (!rc && before != UINT32_MAX)
		runs->runs[before].next = index;
	*ret_index = index;
	return rc;
}

static bool is_direct(uint32_t kind)
{
	return (1u << kind & (1u << PP_KIND_COND | 1u << PP_KIND_JMP | 1u << PP_KIND_CALL)) != 0;
}

/*
 * Fills r->index. 0, or why and where the window does not fit; -ENOSPC: no room for one more run.
 */
static int find_all(struct pathprof_reconstructor *r, uint64_t start,
		    const struct pathprof_taken *taken, uint32_t cnt, uint32_t *ret_at)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct pp_run *run;
		int rc = find(r, start, taken[i].from, i ? r->index[i - 1] : UINT32_MAX,
			      &r->index[i]);

		*ret_at = i;
		if (rc)
			return rc;
		run = &r->runs.runs[r->index[i]];
		if (run->refusal)
			return (int)run->refusal;
		if (is_direct(run->kind) && run->target != taken[i].to)
			return PATHPROF_REFUSED_TARGET;
		total += run->cnt + 1;
		if (total > PATHPROF_BURST_MAX)
			return PATHPROF_REFUSED_TOO_LONG;
		start = taken[i].to;
	}
	return 0;
}

static uint32_t write_all(const struct pathprof_reconstructor *r,
			  const struct pathprof_taken *taken, uint32_t cnt,
			  struct pathprof_branch *branches)
{
	struct pathprof_branch *at = branches;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct pp_run *run = &r->runs.runs[r->index[i]];

		for (uint32_t n = 0; n < run->cnt; n++)
			*at++ = r->runs.branches[run->first + n];
		*at++ = (struct pathprof_branch){.from = taken[i].from,
						 .target = taken[i].to,
						 .next = taken[i].to,
						 .kind = run->kind,
						 .taken = 1};
	}
	return (uint32_t)(at - branches);
}

/* 0 and r->index filled; or a refusal and where. */
static int find_window(struct pathprof_reconstructor *r, uint64_t start,
		       const struct pathprof_taken *taken, uint32_t cnt, uint32_t *ret_at)
{
	int refusal;

	*ret_at = 0;
	if (!cnt)
		return PATHPROF_REFUSED_EMPTY;
	if (cnt > PATHPROF_BURST_MAX) {
		*ret_at = PATHPROF_BURST_MAX;
		return PATHPROF_REFUSED_TOO_LONG;
	}
	refusal = find_all(r, start, taken, cnt, ret_at);
	if (refusal == -ENOSPC) {
		/* Emptied, there is room for any one window. */
		pp_runs_clear(&r->runs);
		refusal = find_all(r, start, taken, cnt, ret_at);
	}
	return refusal;
}

int pp_reconstruct_run(struct pathprof_reconstructor *r, uint64_t start,
		       const struct pathprof_taken *taken, struct pp_reconstructed *ret_run)
{
	const struct pp_run *run;
	uint32_t at;
	int refusal = find_window(r, start, taken, 1, &at);

	if (refusal)
		return refusal;
	run = &r->runs.runs[r->index[0]];
	*ret_run = (struct pp_reconstructed){r->runs.branches + run->first, run->cnt, run->kind};
	return 0;
}

int pathprof_reconstruct_from(struct pathprof_reconstructor *r, uint64_t start,
			      const struct pathprof_taken *taken, uint32_t cnt,
			      struct pathprof_branch *branches, uint32_t *ret_cnt, uint32_t *ret_at)
{
	uint32_t at;
	int refusal = find_window(r, start, taken, cnt, &at);

	if (refusal) {
		*ret_at = at;
		return refusal;
	}
	*ret_cnt = write_all(r, taken, cnt, branches);
	return 0;
}

int pathprof_reconstruct(struct pathprof_reconstructor *r, const struct pathprof_taken *taken,
			 uint32_t cnt, struct pathprof_branch *branches, uint32_t *ret_cnt,
			 uint32_t *ret_at)
{
	/* A window does not tell what ran before its first taken branch. */
	return pathprof_reconstruct_from(r, cnt ? taken[0].from : 0, taken, cnt, branches, ret_cnt,
					 ret_at);
}

/* ---------------------------------------------------------------- paths of a window */

struct stacking {
	struct pp_path_config config;
	struct pp_path_stack stack;
	uint32_t taken_cnt; /* of the window */
	pathprof_path_fn *fn;
	void *context;
};

static void report(struct stacking *s, const struct pp_path *path)
{
	/* A path pushed by a not-taken branch may span the whole window: one place. */
	uint32_t places = path->span < s->taken_cnt ? s->taken_cnt - (uint32_t)path->span : 1;
	const struct pathprof_path_seen seen = {.start = path->start,
						.length = PP_DESC_LENGTH(path->desc),
						.outcomes = PP_DESC_OUTCOMES(path->desc),
						.span = (uint32_t)path->span,
						.weight = (double)s->taken_cnt / places};

	s->fn(s->context, &seen);
}

static void step(struct stacking *s, const struct pathprof_branch *b)
{
	const struct pp_branch branch = {.from = b->from,
					 .target = b->target,
					 .next = b->next,
					 .info = PP_BRANCH_INFO(b->kind, b->taken),
					 .events = 1};
	struct pp_path path;

	if (pp_path_stack_step(&s->stack, &s->config, &branch, &path))
		report(s, &path);
}

/*
 * Branches of a straight way only add outcomes of 0 to the path on top, if there is one. False: the
 * way leads back, or would fill that path; nothing was done, and each branch has to take a step.
 */
static bool lengthen(struct stacking *s, const struct pp_run *run)
{
	struct pp_path_entry *e;

	if (!run->cnt || !s->stack.depth)
		return run->straight;
	e = &s->stack.entry[PP_MASK(s->stack.top, PP_PATH_STACK_DEPTH - 1)];
	if (!run->straight || PP_DESC_LENGTH(e->desc) + run->cnt >= s->config.max_length)
		return false;
	e->desc += (uint64_t)run->cnt << 32;
	e->events += run->cnt;
	return true;
}

int pathprof_reconstruct_paths(struct pathprof_reconstructor *r, const struct pathprof_taken *taken,
			       uint32_t cnt, enum pathprof_mapping mapping, pathprof_path_fn *fn,
			       void *context, uint32_t *ret_at)
{
	struct stacking s = {.taken_cnt = cnt, .fn = fn, .context = context};
	uint32_t at;
	int refusal = find_window(r, cnt ? taken[0].from : 0, taken, cnt, &at);

	if (refusal) {
		*ret_at = at;
		return refusal;
	}
	if (mapping == PATHPROF_MAPPING_WPP)
		pp_path_config_wpp(&s.config);
	else
		pp_path_config_bl(&s.config);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct pp_run *run = &r->runs.runs[r->index[i]];

		if (!lengthen(&s, run))
			for (uint32_t n = 0; n < run->cnt; n++)
				step(&s, &r->runs.branches[run->first + n]);
		step(&s, &(struct pathprof_branch){.from = taken[i].from,
						   .target = taken[i].to,
						   .next = taken[i].to,
						   .kind = run->kind,
						   .taken = 1});
	}
	return 0;
}

const char *pathprof_refusal_name(enum pathprof_refusal refusal)
{
	switch (refusal) {
	case PATHPROF_REFUSED_UNKNOWN_CODE:
		return "unknown code";
	case PATHPROF_REFUSED_NO_BRANCH:
		return "no branch";
	case PATHPROF_REFUSED_TARGET:
		return "other target";
	case PATHPROF_REFUSED_OVERLAP:
		return "overlap";
	case PATHPROF_REFUSED_UNDECODABLE:
		return "undecodable";
	case PATHPROF_REFUSED_TOO_LONG:
		return "too long";
	case PATHPROF_REFUSED_EMPTY:
		return "empty";
	case PATHPROF_REFUSED_CNT:
		break;
	}
	return "unknown";
}
