// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Joining the runs of paths; see pp_straight.h for the rule, workload and ownership. */
#include "pp_straight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"

/* Runs stay cut where more pairs than this could be joined: loops unrolled beyond sense. */
#define PAIRS_MAX 65536

int pp_straight_add(struct pp_runs_of_paths *runs, const struct pp_run *run)
{
	if (pp_grow(&runs->runs, runs->cnt, &runs->room) < 0)
		return -ENOMEM;
	runs->runs[runs->cnt++] = *run;
	return 0;
}

void pp_straight_release(struct pp_runs_of_paths *runs)
{
	free(runs->runs);
	*runs = (struct pp_runs_of_paths){0};
}

static int emit(struct pathprof_branch_profile *p, const struct pp_run *run, double weight)
{
	if (weight <= 0)
		return 0;
	if (run->from == PP_FROM_START || run->from == PP_FROM_CALL)
		return pathprof_branch_profile_add_range(p, run->start, run->last,
							 run->from == PP_FROM_CALL, weight);
	return pathprof_branch_profile_add_trace(p, run->from, run->start, run->last, weight);
}

/* ---------------------------------------------------------------- equal runs added up */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_all(const void *a, const void *b)
{
	const struct pp_run *left = a, *right = b;
	int c = compare(left->start, right->start);

	if (!c)
		c = compare(left->from, right->from);
	if (!c)
		c = compare(left->last, right->last);
	return c ? c : compare(left->open, right->open);
}

static void sum_up(struct pp_runs_of_paths *runs)
{
	size_t kept = 0;

	if (!runs->cnt)
		return;
	qsort(runs->runs, runs->cnt, sizeof(runs->runs[0]), by_all);
	for (size_t i = 1; i < runs->cnt; i++) {
		if (!by_all(&runs->runs[kept], &runs->runs[i]))
			runs->runs[kept].weight += runs->runs[i].weight;
		else
			runs->runs[++kept] = runs->runs[i];
	}
	runs->cnt = kept + 1;
}

/* ---------------------------------------------------------------- open runs, by place */

/* A heap of the open runs, the lowest place first. */
static bool before(const struct pp_run *a, const struct pp_run *b)
{
	return a->open != b->open ? a->open < b->open : by_all(a, b) < 0;
}

static int push(struct pp_runs_of_paths *heap, const struct pp_run *run)
{
	int r = pp_straight_add(heap, run);
	size_t i = heap->cnt - 1;

	if (r)
		return r;
	for (; i && before(run, &heap->runs[(i - 1) / 2]); i = (i - 1) / 2)
		heap->runs[i] = heap->runs[(i - 1) / 2];
	heap->runs[i] = *run;
	return 0;
}

static struct pp_run pop(struct pp_runs_of_paths *heap)
{
	struct pp_run top = heap->runs[0], moved = heap->runs[--heap->cnt];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < heap->cnt) {
		if (child + 1 < heap->cnt && before(&heap->runs[child + 1], &heap->runs[child]))
			child++;
		if (!before(&heap->runs[child], &moved))
			break;
		heap->runs[i] = heap->runs[child];
		i = child;
	}
	heap->runs[i] = moved;
	return top;
}

/* ---------------------------------------------------------------- joining */

/* The first runs of the paths that begin at `start`; they are neighbours in the sorted array. */
struct beginnings {
	struct pp_run *runs;
	size_t cnt;
	double weight;
};

static struct beginnings find_beginnings(const struct pp_runs_of_paths *runs, uint64_t start)
{
	struct beginnings found = {0};
	size_t low = pp_first(i, 0, runs->cnt, runs->runs[i].start >= start);

	for (; low < runs->cnt && runs->runs[low].start == start; low++) {
		if (runs->runs[low].from != PP_FROM_START)
			continue;
		if (!found.cnt)
			found.runs = &runs->runs[low];
		found.cnt++;
		found.weight += runs->runs[low].weight;
	}
	return found;
}

/* Takes the open runs of the first place off the heap. */
static int pop_place(struct pp_runs_of_paths *heap, struct pp_runs_of_paths *ret_place)
{
	uint64_t place = heap->runs[0].open;
	int r = 0;

	ret_place->cnt = 0;
	while (!r && heap->cnt && heap->runs[0].open == place) {
		struct pp_run run = pop(heap);

		r = pp_straight_add(ret_place, &run);
	}
	sum_up(ret_place);
	return r;
}

static int go_on(struct pathprof_branch_profile *p, struct pp_runs_of_paths *heap,
		 const struct pp_run *run, const struct pp_run *with, double weight)
{
	struct pp_run joined = {run->from, run->start, with->last, with->open, weight};

	return joined.open ? push(heap, &joined) : emit(p, &joined, weight);
}

/* The share of most that part leaves; what rounding leaves of equal sums is none. */
static double rest(double part, double most)
{
	double share = 1 - part / most;

	return share > 1e-9 ? share : 0;
}

static int join_place(struct pathprof_branch_profile *p, struct pp_runs_of_paths *heap,
		      const struct pp_runs_of_paths *open, const struct beginnings *on)
{
	double open_weight = 0, most;
	bool joins = on->cnt && open->cnt <= PAIRS_MAX / on->cnt;
	int r = 0;

	for (size_t i = 0; i < open->cnt; i++)
		open_weight += open->runs[i].weight;
	most = open_weight > on->weight ? open_weight : on->weight;
	for (size_t i = 0; !r && i < open->cnt; i++) {
		const struct pp_run *run = &open->runs[i];

		for (size_t j = 0; !r && joins && j < on->cnt; j++)
			r = go_on(p, heap, run, &on->runs[j],
				  run->weight * on->runs[j].weight / most);
		if (!r)
			r = emit(p, run,
				 joins ? run->weight * rest(on->weight, most) : run->weight);
	}
	/* Beginnings keep the weight that no open run led to; open ones are pushed with it. */
	for (size_t j = 0; joins && j < on->cnt; j++)
		on->runs[j].weight *= rest(open_weight, most);
	return r;
}

/* The index of the next open run that is, or is not, a beginning; cnt: there is none. */
static size_t next_open(const struct pp_runs_of_paths *runs, size_t at, bool beginning)
{
	while (at < runs->cnt && !(runs->runs[at].open && runs->runs[at].weight > 0 &&
				   (runs->runs[at].from == PP_FROM_START) == beginning))
		at++;
	return at;
}

/* Moves a run from the array to the heap. */
static int push_off(struct pp_runs_of_paths *heap, struct pp_run *run)
{
	int r = push(heap, run);

	if (!r)
		run->weight = 0;
	return r;
}

/*
 * Sweeps over all places. A beginning that is open itself is pushed once all runs that may lead to
 * it have been joined, that is, when no open run goes on at its start or before.
 */
static int sweep(struct pp_runs_of_paths *runs, struct pp_runs_of_paths *heap,
		 struct pp_runs_of_paths *place, struct pathprof_branch_profile *p)
{
	size_t at = 0;
	int r = 0;

	while (!r && (at = next_open(runs, at, false)) < runs->cnt)
		r = push_off(heap, &runs->runs[at]);
	for (at = 0; !r;) {
		at = next_open(runs, at, true);
		if (at < runs->cnt && (!heap->cnt || runs->runs[at].start < heap->runs[0].open)) {
			r = push_off(heap, &runs->runs[at]);
			continue;
		}
		if (!heap->cnt)
			break;
		uint64_t open = heap->runs[0].open;
		r = pop_place(heap, place);
		struct beginnings on = find_beginnings(runs, open);
		if (!r)
			r = join_place(p, heap, place, &on);
	}
	return r;
}

static void drop_told_twice(struct pp_runs_of_paths *runs)
{
	for (size_t i = 0; i < runs->cnt; i++)
		if (runs->runs[i].from == PP_FROM_CALL &&
		    find_beginnings(runs, runs->runs[i].start).cnt)
			runs->runs[i].weight = 0;
}

int pp_straight_emit(struct pp_runs_of_paths *runs, struct pathprof_branch_profile *p)
{
	struct pp_runs_of_paths heap = {0}, place = {0};
	int r;

	sum_up(runs);
	drop_told_twice(runs);
	r = sweep(runs, &heap, &place, p);
	for (size_t i = 0; !r && i < runs->cnt; i++)
		r = emit(p, &runs->runs[i], runs->runs[i].weight);
	pp_straight_release(&heap);
	pp_straight_release(&place);
	return r;
}
