// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Branch profiles branch by branch: both directions of a branch are neighbours in the merge, so one
 * pass finds majorities, conflicts and what static prediction would have got right.
 */
#include "pathprof/compare.h"

#include <errno.h>

#include "pp_merge.h"

/* What two profiles say of one branch: weight by direction, 1 is taken. */
struct branch {
	uint64_t hi, lo;
	double actual[2], assumed[2];
};

struct sums {
	size_t touched, covered, conflicts;
	long double covered_weight, conflict_weight, right, right_own;
};

static bool predicted_taken(const double *weight)
{
	return weight[1] > weight[0];
}

static void add_branch(struct sums *sums, const struct branch *branch)
{
	const double *actual = branch->actual, *assumed = branch->assumed;
	long double weight = (long double)actual[0] + actual[1];
	bool covered = assumed[0] > 0 || assumed[1] > 0;
	bool conflict = covered && predicted_taken(actual) != predicted_taken(assumed);

	if (!(weight > 0))
		return;
	sums->touched++;
	sums->covered += covered;
	sums->conflicts += conflict;
	sums->covered_weight += covered ? weight : 0;
	sums->conflict_weight += conflict ? weight : 0;
	sums->right += actual[predicted_taken(assumed)];
	sums->right_own += actual[predicted_taken(actual)];
}

static void add_pair(struct sums *sums, struct branch *branch, const struct pp_pair *pair)
{
	uint64_t hi = pair->event->key_hi, lo = pair->event->key_lo >> 1;
	unsigned int taken = pair->event->key_lo & 1;

	if (branch->hi != hi || branch->lo != lo) {
		add_branch(sums, branch);
		*branch = (struct branch){.hi = hi, .lo = lo};
	}
	branch->actual[taken] = pair->a;
	branch->assumed[taken] = pair->b;
}

int pathprof_compare_branches(const struct pathprof_distribution *actual,
			      const struct pathprof_distribution *assumed,
			      struct pathprof_branch_comparison *ret_comparison)
{
	struct sums sums = {0};
	struct branch branch = {0};
	struct pp_merge merge;
	struct pp_pair pair;
	double cnt;

	if (!(actual->total > 0))
		return -ENODATA;
	pp_merge_init(&merge, actual, assumed);
	while (pp_merge_next(&merge, &pair))
		add_pair(&sums, &branch, &pair);
	add_branch(&sums, &branch);
	cnt = (double)sums.touched;
	*ret_comparison = (struct pathprof_branch_comparison){
		.coverage = {(double)sums.covered / cnt,
			     (double)(sums.covered_weight / actual->total)},
		.conflict = {(double)sums.conflicts / cnt,
			     (double)(sums.conflict_weight / actual->total)},
		.accuracy = (double)(sums.right / actual->total),
		.accuracy_own = (double)(sums.right_own / actual->total),
		.branch_cnt = sums.touched,
	};
	return 0;
}
