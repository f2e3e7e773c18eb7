// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * TIME and RUNS: the model is told in shares.h, the derivation of the intervals in docs/shares.md.
 *
 * A stratum is a function with its own clock samples, or the pool of those that have hardly any.
 * T is its share of the clock samples, I the sum of insns over its paths, m a path's share of I, r
 * a path's share of all weight. What makes the figures scatter is the clock's count of a stratum,
 * of relative variance 1 / count, and how often a path was seen, of relative variance v = squares /
 * samples^2; they are taken for independent. Workload: tens of thousands of paths in hundreds of
 * functions, once a second: some passes over each.
 */
#include "pathprof/shares.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pp_student.h"

#define Z_95        PP_NORMAL_95
#define POOL_MAX    1     /* clock samples of a function in the pool */
#define JOIN_MAX    3     /* the same, where the pool has none otherwise */
#define EDGE        1e-12 /* a share so close to 1 is 1 */
#define DEGREES_MAX 1e9   /* from here on Student's quantile is the normal one */

static const struct pathprof_share unknown = {NAN, NAN, NAN};

struct stratum {
	uint64_t clock_samples;
	bool kernel;
	unsigned int members;  /* functions with paths */
	double insns, scatter; /* sums of I, and of I^2 v */
	double least;          /* v of the path that scatters least; 0: there is none */
};

/* A path, or the paths of a function. */
struct group {
	double insns, scatter;     /* as in a stratum */
	double runs, runs_scatter; /* sums of r, and of r^2 v of runs */
	double runs_deviation;     /* sum of r sqrt(v) */
	double sightings;
};

struct work {
	struct pathprof_shares *shares;
	struct stratum *strata; /* [0] the pool, [1 + function] */
	struct group *groups;   /* of functions */
	uint64_t pool_max;      /* clock samples of a function in the pool */
	double weight;          /* of all paths */
	double sightings;
	double runs_scatter; /* sum of r^2 v */
	double found;        /* clock samples in functions */
	double missing;      /* I of paths that no window can hold, of functions with others */
	double insns;        /* sum of I */
	double dense;        /* I that is missing and may be of paths as short as those seen */
	double unseen;       /* the most that runs in no window can weigh */
};

/* Wilson's interval for n observations, which need not be whole. */
static struct pathprof_share wilson(double share, double n)
{
	double z2 = Z_95 * Z_95;
	double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	double half = Z_95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));

	return (struct pathprof_share){
		.value = share,
		.low = share > 0 ? fmax(middle - half, 0) : 0,
		.high = share < 1 ? fmin(middle + half, 1) : 1,
	};
}

struct pathprof_share pathprof_share_of_samples(uint64_t cnt, uint64_t all)
{
	if (all == 0 || cnt > all)
		return unknown;
	return wilson((double)cnt / (double)all, (double)all);
}

/*
 * Wilson's interval where the variance of the share's logit is known instead of n: it lies evenly
 * around the logit, 2 asinh(z sigma / 2) to either side.
 */
static struct pathprof_share around(double share, double logit_variance)
{
	double odds = share / (1 - share);
	double factor = exp(2 * asinh(Z_95 / 2 * sqrt(fmax(logit_variance, 0))));

	return (struct pathprof_share){share, odds / (odds + factor),
				       odds * factor / (1 + odds * factor)};
}

/* a * b with the errors of both: their distances add up as squares, on a scale of logarithms. */
static struct pathprof_share product(struct pathprof_share a, struct pathprof_share b)
{
	double value = a.value * b.value;

	if (!(value > 0))
		return (struct pathprof_share){0, 0, a.high * b.high};
	return (struct pathprof_share){
		.value = value,
		.low = value * exp(-hypot(log(a.low / a.value), log(b.low / b.value))),
		.high = value * exp(hypot(log(a.high / a.value), log(b.high / b.value))),
	};
}

/*
 * Sightings that are worth one each: squares say how many came at a time, and those of the weight
 * how unequally they count.
 */
static double sightings_of(const struct pathprof_shares *shares,
			   const struct pathprof_shares_path *path)
{
	double samples = (double)path->samples, cnt = samples;

	if (path->weight_squares > 0)
		cnt = path->weight * path->weight / path->weight_squares;
	else if (path->squares > 0)
		cnt = samples * samples / path->squares;
	return shares->bursts ? fmin(cnt, (double)shares->bursts) : cnt;
}

/*
 * The relative variance of a path's sum over n bursts, without what they all share: v is squares /
 * sum^2, shared is 1 / n, and what they scatter around their own mean has n - 1 degrees of freedom.
 * Student's quantile in place of the normal one allows for how little a few of them tell. Less than
 * two tell nothing but v itself.
 */
static double variance_of_few(double v, double shared)
{
	double degrees = fmin(1 / shared, DEGREES_MAX) - 1;
	double wider = pp_student_95(degrees > 1 ? (uint64_t)(degrees + 0.5) : 1) / Z_95;

	return (shared <= 0.5 ? (v - shared) / (1 - shared) : v) * wider * wider;
}

static bool is_clustered(const struct pathprof_shares *shares,
			 const struct pathprof_shares_path *path)
{
	return shares->bursts && (path->squares > 0 || path->weight_squares > 0);
}

/*
 * v of runs. Windows are a fixed number, so a path that is seen equally often in each of them does
 * not scatter at all, which only known squares can tell; but never less than as many independent
 * sightings do.
 */
static double runs_variance(const struct pathprof_shares *shares,
			    const struct pathprof_shares_path *path)
{
	double v = 1 / sightings_of(shares, path);

	if (is_clustered(shares, path))
		v = variance_of_few(v, 1 / (double)shares->bursts);
	return fmax(v, 1 / (double)path->samples);
}

static bool is_amount(double x)
{
	return isfinite(x) && x >= 0;
}

static bool path_is_sound(const struct pathprof_shares *shares,
			  const struct pathprof_shares_path *path)
{
	double samples = (double)path->samples;

	return path->function < shares->function_cnt && path->samples > 0 &&
	       is_amount(path->squares) && path->squares <= samples * samples * (1 + 1e-9) &&
	       isfinite(path->weight) && path->weight > 0 && is_amount(path->insns) &&
	       is_amount(path->weight_squares) &&
	       path->weight_squares <= path->weight * path->weight * (1 + 1e-9);
}

static bool is_sound(const struct pathprof_shares *shares)
{
	uint64_t left = shares->clock_samples;

	for (size_t i = 0; i < shares->function_cnt; i++) {
		if (shares->functions[i].clock_samples > left)
			return false;
		left -= shares->functions[i].clock_samples;
	}
	for (size_t i = 0; i < shares->path_cnt; i++)
		if (!path_is_sound(shares, &shares->paths[i]))
			return false;
	return is_amount(shares->insns_a_sample) && is_amount(shares->horizon) &&
	       is_amount(shares->cut_samples);
}

static struct stratum *stratum_of(const struct work *work, size_t function)
{
	bool pooled = work->groups[function].insns > 0 &&
		      work->shares->functions[function].clock_samples <= work->pool_max;

	return &work->strata[pooled ? 0 : 1 + function];
}

static void sum_functions(struct work *work)
{
	for (size_t i = 0; i < work->shares->path_cnt; i++) {
		const struct pathprof_shares_path *path = &work->shares->paths[i];
		struct group *group = &work->groups[path->function];
		double sightings = sightings_of(work->shares, path);

		work->sightings += sightings;
		work->weight += path->weight;
		if (!(path->insns > 0))
			continue;
		group->insns += path->insns;
		group->scatter += path->insns * path->insns / sightings;
		group->sightings += sightings;
	}
}

/*
 * A function that was seen in windows but by the clock at most once gives its sample to a pool of
 * such functions and takes part in it by its instructions. A pool without any sample takes in the
 * functions with the fewest if those are no more than it may have missed by chance (rule of three);
 * its TIME is 0 otherwise, with the upper bound of zero samples.
 */
static void choose_pool(struct work *work)
{
	uint64_t fewest = UINT64_MAX, pooled = 0;

	for (size_t i = 0; i < work->shares->function_cnt; i++) {
		uint64_t cnt = work->shares->functions[i].clock_samples;

		if (!(work->groups[i].insns > 0))
			continue;
		if (cnt <= POOL_MAX)
			pooled += cnt;
		else if (cnt < fewest)
			fewest = cnt;
	}
	work->pool_max = POOL_MAX;
	if (pooled > 0 || fewest > JOIN_MAX)
		return;
	for (size_t i = 0; i < work->shares->function_cnt; i++)
		if (work->groups[i].insns > 0 && work->shares->functions[i].clock_samples == 0)
			work->pool_max = fewest;
}

static void sum_strata(struct work *work)
{
	for (size_t i = 0; i < work->shares->function_cnt; i++) {
		const struct group *group = &work->groups[i];
		struct stratum *stratum = stratum_of(work, i);

		stratum->clock_samples += work->shares->functions[i].clock_samples;
		stratum->kernel |= work->shares->functions[i].kernel;
		stratum->members++;
		stratum->insns += group->insns;
		stratum->scatter += group->scatter;
	}
}

static void find_least(struct work *work)
{
	for (size_t i = 0; i < work->shares->path_cnt; i++) {
		const struct pathprof_shares_path *path = &work->shares->paths[i];
		struct stratum *stratum = stratum_of(work, path->function);
		double v = 1 / sightings_of(work->shares, path);

		if (!(path->insns > 0))
			continue;
		if (!(stratum->least > 0) || v < stratum->least)
			stratum->least = v;
	}
}

/* I that a stratum would have, had each of its paths been seen. */
static double expected_insns(const struct work *work, const struct stratum *stratum)
{
	return work->shares->insns_a_sample * (double)stratum->clock_samples;
}

/* I that a stratum lacks. */
static double lacking(const struct work *work, const struct stratum *stratum)
{
	return fmax(expected_insns(work, stratum) - stratum->insns, 0);
}

static void sum_missing(struct work *work)
{
	for (size_t i = 0; i <= work->shares->function_cnt; i++) {
		const struct stratum *stratum = &work->strata[i];

		work->found += (double)stratum->clock_samples;
		work->insns += stratum->insns;
		if (stratum->insns > 0)
			work->missing += expected_insns(work, stratum) - stratum->insns;
		else if (!stratum->kernel)
			work->dense += expected_insns(work, stratum);
	}
}

/*
 * Bursts that reached their horizon miss a run only if it takes an instruction of its own and, with
 * what it calls, a horizon of the program. Bursts that ended early, and code without any, may miss
 * runs as short as those that were seen.
 */
static void bound_unseen(struct work *work)
{
	const struct pathprof_shares *shares = work->shares;
	double missing = fmax(work->missing + work->dense, 0);
	double cut = shares->insns_a_sample * shares->cut_samples;

	work->missing = fmax(work->missing, 0);
	work->dense = shares->horizon > 0 ? fmin(work->dense + cut, missing) : 0;
	if (!(shares->horizon > 0) || !(work->insns > 0))
		return;
	work->unseen =
		work->dense * work->weight / work->insns +
		fmin(missing - work->dense, shares->insns_a_sample * work->found / shares->horizon);
}

static void sum_runs(struct work *work)
{
	for (size_t i = 0; i < work->shares->path_cnt; i++) {
		const struct pathprof_shares_path *path = &work->shares->paths[i];
		struct group *group = &work->groups[path->function];
		double r = path->weight / work->weight, v = runs_variance(work->shares, path);

		work->runs_scatter += r * r * v;
		group->runs += r;
		group->runs_scatter += r * r * v;
		group->runs_deviation += r * sqrt(v);
	}
}

/*
 * The part of its time that a stratum's seen paths account for: less than 1 where they have fewer
 * instructions than the time stands for. Code that executes fewer instructions a second than other
 * code looks the same, so it is no more than what all strata together miss.
 */
static double accounted(const struct work *work, const struct stratum *stratum)
{
	double expected = expected_insns(work, stratum);

	if (!(expected > stratum->insns))
		return 1;
	return fmax(stratum->insns, expected - work->missing) / expected;
}

/*
 * Variance of the logit of m where bursts are the clusters. That the stratum has so many of them
 * scatters in each of its paths alike, and not in their mix: of v it takes away the share that as
 * many bursts have as the clock found places there, or that of the path that scatters least.
 */
static double clustered_variance(const struct work *work, const struct stratum *stratum,
				 const struct pathprof_shares_path *path, double m)
{
	double bursts = (double)work->shares->bursts * (double)stratum->clock_samples / work->found;
	double v = variance_of_few(1 / sightings_of(work->shares, path),
				   fmin(1 / bursts, stratum->least));

	return fmax(v, 1 / (double)path->samples) / ((1 - m) * (1 - m));
}

/*
 * The part that a stratum misses may all belong to this path, or none of it: the interval widens by
 * the share of the stratum that is missing, to either side.
 */
static void widen(struct pathprof_share *share, double accounted, double most)
{
	share->low *= accounted;
	if (accounted < 1)
		share->high = fmax(fmin(share->high / accounted, most), share->high);
}

/* T times the group's share of its stratum, of a single path or (NULL) of several. */
static struct pathprof_share time_of(const struct work *work, const struct stratum *stratum,
				     const struct group *group,
				     const struct pathprof_shares_path *path)
{
	struct pathprof_share time =
		pathprof_share_of_samples(stratum->clock_samples, work->shares->clock_samples);
	double m = group->insns / stratum->insns, others = stratum->insns - group->insns;
	double scatter = fmax(stratum->scatter - group->scatter, 0);
	double variance =
		group->scatter / (group->insns * group->insns) + scatter / (others * others);
	struct pathprof_share share;

	if (path && is_clustered(work->shares, path))
		variance = fmin(variance, clustered_variance(work, stratum, path, m));
	share = product(time, 1 - m < EDGE ? wilson(1, group->sightings) : around(m, variance));
	if (path)
		widen(&share, accounted(work, stratum), time.high);
	return share;
}

/*
 * That instructions stand for time is least true between functions, and a pool shares out its time
 * by nothing else: a member's interval reaches as far as that of its own clock samples, and the
 * intervals of its paths grow with it.
 */
static void widen_in_pool(const struct work *work, size_t function, struct pathprof_share *share)
{
	struct pathprof_share by_pool =
		time_of(work, &work->strata[0], &work->groups[function], NULL);
	struct pathprof_share own = pathprof_share_of_samples(
		work->shares->functions[function].clock_samples, work->shares->clock_samples);

	if (own.low < by_pool.low)
		share->low *= own.low / by_pool.low;
	if (own.high > by_pool.high)
		share->high =
			fmax(fmin(share->high * own.high / by_pool.high, own.high), share->high);
}

/*
 * r among what was seen, of a group whose sum deviates by `deviation`, while its paths taken for
 * independent would scatter by runs_scatter.
 */
static struct pathprof_share runs_of_seen(const struct work *work, const struct group *group,
					  double deviation)
{
	double r = group->runs, own = deviation * deviation;
	double others = fmax(work->runs_scatter - group->runs_scatter, 0);

	if (1 - r < EDGE)
		return wilson(1, work->sightings);
	return around(r, (own * (1 - r) * (1 - r) / (r * r) + others) / ((1 - r) * (1 - r)));
}

/* Instructions that the stratum lacks may be runs of this group: its high end allows for them. */
static struct pathprof_share runs_share(const struct work *work, const struct stratum *stratum,
					const struct group *group, double deviation)
{
	struct pathprof_share share = runs_of_seen(work, group, deviation);
	double own = 0;

	if (work->dense > 0)
		own = fmin(lacking(work, stratum), work->dense) / work->insns;
	share.low *= work->weight / (work->weight + work->unseen);
	share.high = (share.high + own) / (1 + own);
	return share;
}

static void fill_path(const struct work *work, struct pathprof_shares_path *path)
{
	const struct stratum *stratum = stratum_of(work, path->function);
	double n = sightings_of(work->shares, path), v = runs_variance(work->shares, path);
	double r = path->weight / work->weight;
	struct group group = {
		.insns = path->insns,
		.scatter = path->insns * path->insns / n,
		.runs = r,
		.runs_scatter = r * r * v,
		.sightings = n,
	};

	path->time = unknown;
	if (path->insns > 0 && work->shares->clock_samples)
		path->time = time_of(work, stratum, &group, path);
	if (path->insns > 0 && work->shares->clock_samples && stratum == &work->strata[0])
		widen_in_pool(work, path->function, &path->time);
	path->runs = runs_share(work, stratum, &group, r * sqrt(v));
}

/* Paths of one function are seen in the same windows: their errors may all have one sign. */
static void fill_function(const struct work *work, size_t index)
{
	struct pathprof_shares_function *function = &work->shares->functions[index];
	const struct stratum *stratum = stratum_of(work, index);
	const struct group *group = &work->groups[index];

	function->time =
		pathprof_share_of_samples(function->clock_samples, work->shares->clock_samples);
	if (group->insns > 0 && stratum->members > 1 && work->shares->clock_samples) {
		function->time = time_of(work, stratum, group, NULL);
		widen_in_pool(work, index, &function->time);
	}
	function->runs = unknown;
	if (group->runs > 0)
		function->runs = runs_share(work, stratum, group, group->runs_deviation);
}

static void work_out(struct work *work)
{
	struct pathprof_shares *shares = work->shares;

	sum_functions(work);
	choose_pool(work);
	sum_strata(work);
	find_least(work);
	sum_missing(work);
	bound_unseen(work);
	sum_runs(work);
	shares->unseen = work->weight > 0 ? work->unseen / (work->weight + work->unseen) : NAN;
	for (size_t i = 0; i < shares->path_cnt; i++)
		fill_path(work, &shares->paths[i]);
	for (size_t i = 0; i < shares->function_cnt; i++)
		fill_function(work, i);
}

int pathprof_shares_work_out(struct pathprof_shares *shares)
{
	struct work work = {.shares = shares};
	int r = -ENOMEM;

	if (!is_sound(shares))
		return -EINVAL;
	work.strata = calloc(shares->function_cnt + 1, sizeof(*work.strata));
	work.groups = calloc(shares->function_cnt + 1, sizeof(*work.groups));
	if (work.strata && work.groups) {
		work_out(&work);
		r = 0;
	}
	free(work.strata);
	free(work.groups);
	return r;
}
