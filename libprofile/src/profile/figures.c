// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Figures of a profile, and of two event by event; see pathprof/compare.h. Pure; any thread. */
#include "pathprof/compare.h"

#include <errno.h>
#include <math.h>

#include "pp_logs.h"
#include "pp_merge.h"

/* ------------------------------------------------------------------ entropy */

/*
 * Entropy (CCP 2.1): -sum p log2 p = log2 T - sum w log2 w / T. The first form is used: in the
 * second two large numbers nearly cancel when locality is good.
 */

/* In nats. All terms have one sign; a difference of logarithms loses digits only near share 1. */
static double term(const struct pp_logs *logs, double weight, double share, double log_total)
{
	if (share > 0.5 || weight >= PP_LOGS || weight != (double)(uint32_t)weight)
		return -share * log(share);
	return share * (log_total - logs->of[(uint32_t)weight]);
}

double pathprof_entropy_bits(const struct pathprof_distribution *distribution)
{
	const struct pp_logs *logs = pp_logs();
	double log_total = (double)logl(distribution->total), total = (double)distribution->total;
	double one = 1 / total;
	long double nats = 0;

	for (size_t i = 0; i < distribution->cnt; i++) {
		double weight = distribution->events[i].weight;

		if (weight > 0)
			nats += term(logs, weight, weight * one, log_total);
	}
	return nats > 0 ? (double)(nats / M_LN2l) : 0;
}

/* ------------------------------------------------------------------ overlap */

/*
 * Overlap, and LLVM's similarity of sample profiles. The latter's definition is that of
 * llvm-profdata (llvm/tools/llvm-profdata, "overlap --sample"): function-internal similarity 1 -
 * sum |p - q| / 2, which for shares is their overlap.
 */

double pathprof_distribution_overlap(const struct pathprof_distribution *a,
				     const struct pathprof_distribution *b)
{
	struct pp_merge merge;
	struct pp_pair pair;
	long double sum = 0;

	if (!(a->total > 0) || !(b->total > 0))
		return a->total == b->total;
	pp_merge_init(&merge, a, b);
	while (pp_merge_next(&merge, &pair)) {
		long double of_a = pair.a * b->total, of_b = pair.b * a->total;

		sum += of_a < of_b ? of_a : of_b;
	}
	return (double)fminl(sum / (a->total * b->total), 1);
}

/* The end and the weight of the events from `event` on that belong to the function. */
static const struct pathprof_event *group(const struct pathprof_event *event,
					  const struct pathprof_event *end, uint64_t function,
					  long double *ret_weight)
{
	*ret_weight = 0;
	for (; event != end && event->key_hi == function; event++)
		*ret_weight += event->weight;
	return event;
}

/* The events of both sides are those of one function. */
static long double inside(struct pp_merge merge, long double weight_a, long double weight_b)
{
	struct pp_pair pair;
	long double sum = 0;

	while (pp_merge_next(&merge, &pair))
		sum += fminl(pair.a / weight_a, pair.b / weight_b);
	return sum;
}

int pathprof_similarity(const struct pathprof_distribution *a,
			const struct pathprof_distribution *b, double *ret_similarity)
{
	struct pp_merge rest, function;
	long double weight_a, weight_b, sum = 0;

	if (!(a->total > 0) || !(b->total > 0))
		return -ENODATA;
	pp_merge_init(&rest, a, b);
	while (rest.a != rest.a_end && rest.b != rest.b_end) {
		uint64_t hi = rest.a->key_hi < rest.b->key_hi ? rest.a->key_hi : rest.b->key_hi;
		long double share_a, share_b;

		function = rest;
		function.a_end = rest.a = group(rest.a, rest.a_end, hi, &weight_a);
		function.b_end = rest.b = group(rest.b, rest.b_end, hi, &weight_b);
		if (!(weight_a > 0) || !(weight_b > 0))
			continue;
		share_a = weight_a / a->total;
		share_b = weight_b / b->total;
		sum += inside(function, weight_a, weight_b) * (1 - fabsl(share_a - share_b)) *
		       (share_a + share_b) / 2;
	}
	*ret_similarity = (double)fminl(sum, 1);
	return 0;
}

/* ------------------------------------------------------------------ angle */

/*
 * The angle of two profiles as vectors (Kistler and Franz). The arc cosine of the normalised
 * product has no digits left where the angle is small; Kahan's 2 atan2(|u - v|, |u + v|) over unit
 * vectors has.
 */

/* The length of the vector of weights, whose squares are far below what a long double holds. */
static long double length(const struct pathprof_distribution *d)
{
	long double sum = 0;

	for (size_t i = 0; i < d->cnt; i++)
		sum += (long double)d->events[i].weight * d->events[i].weight;
	return sqrtl(sum);
}

int pathprof_angle_degrees(const struct pathprof_distribution *a,
			   const struct pathprof_distribution *b, double *ret_degrees)
{
	long double scale_a, scale_b, apart = 0, along = 0;
	struct pp_merge merge;
	struct pp_pair pair;

	if (!(a->total > 0) || !(b->total > 0))
		return -ENODATA;
	scale_a = 1 / length(a);
	scale_b = 1 / length(b);
	pp_merge_init(&merge, a, b);
	while (pp_merge_next(&merge, &pair)) {
		long double u = pair.a * scale_a, v = pair.b * scale_b;

		apart += (u - v) * (u - v);
		along += (u + v) * (u + v);
	}
	*ret_degrees = (double)(2 * atan2l(sqrtl(apart), sqrtl(along)) * (180 / M_PIl));
	return 0;
}

/* ------------------------------------------------------------------ coverage */

/* Coverage by event (CCP table 1). */

int pathprof_coverage(const struct pathprof_distribution *actual,
		      const struct pathprof_distribution *assumed,
		      struct pathprof_coverage *ret_coverage)
{
	struct pp_merge merge;
	struct pp_pair pair;
	long double weight = 0;
	size_t both = 0;

	if (!(actual->total > 0))
		return -ENODATA;
	pp_merge_init(&merge, actual, assumed);
	while (pp_merge_next(&merge, &pair)) {
		if (!(pair.a > 0) || !(pair.b > 0))
			continue;
		both++;
		weight += pair.a;
	}
	ret_coverage->static_share = (double)((long double)both / (long double)actual->touched_cnt);
	ret_coverage->dynamic_share = (double)(weight / actual->total);
	return 0;
}

/* ------------------------------------------------------------------ conflict */

/*
 * Branch profiles branch by branch: both directions of a branch are neighbours in the merge, so one
 * pass finds majorities, conflicts and what static prediction would have got right.
 */

/* One branch in two profiles: weight by direction, 1 is taken. */
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

/* ------------------------------------------------------------------ regret */

/* Regret: the average loss of each method against the best one of each test (CCP 4.2). */

/* NaN when a score is. */
static double best(const double *scores, size_t cnt)
{
	double best = scores[0];

	for (size_t i = 0; i < cnt; i++) {
		if (isnan(scores[i]))
			return NAN;
		best = scores[i] > best ? scores[i] : best;
	}
	return best;
}

static long double lost(const double *scores, size_t test_cnt, size_t method_cnt, size_t method)
{
	long double sum = 0;

	for (size_t t = 0; t < test_cnt; t++) {
		const double *row = scores + t * method_cnt;

		if (!isnan(best(row, method_cnt)))
			sum += (long double)best(row, method_cnt) - row[method];
	}
	return sum;
}

int pathprof_regret(const double *scores, size_t test_cnt, size_t method_cnt, double *ret_regret)
{
	size_t tests = 0;

	for (size_t t = 0; t < test_cnt && method_cnt; t++)
		tests += !isnan(best(scores + t * method_cnt, method_cnt));
	if (!tests)
		return -ENODATA;
	for (size_t m = 0; m < method_cnt; m++)
		ret_regret[m] =
			(double)(lost(scores, test_cnt, method_cnt, m) / (long double)tests);
	return 0;
}
