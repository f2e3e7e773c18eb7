// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Which hosts of one build stand out: see fleet.h. */
#include "pp_fleet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FALSE_DISCOVERIES 0.05

/* ---------------------------------------------------------------- the host most like it */

int pp_fleet_measure(struct pathprof_drift *ret_drift, const struct pathprof_distribution *one,
		     const struct pathprof_distribution *other)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;

	pathprof_drift_set_bursts(&settings, one, other, 1, 0);
	settings.replicates = 0;
	return pathprof_drift_measure(ret_drift, one, other, &settings);
}

static int measure_nearest(struct pathprof_fleet_group *group, size_t at)
{
	struct pathprof_fleet_member *member = &group->members[at];

	member->bits = INFINITY;
	for (size_t i = 0; i < group->member_cnt; i++) {
		struct pathprof_drift drift;
		int r = i == at ? 0
				: pp_fleet_measure(&drift, &member->distribution,
						   &group->members[i].distribution);

		if (r < 0)
			return r;
		if (i == at || drift.kl_corrected_bits >= member->bits)
			continue;
		member->bits = drift.kl_corrected_bits;
		member->low_bits = drift.kl_low_bits;
		member->high_bits = drift.kl_high_bits;
	}
	return 0;
}

/* ---------------------------------------------------------------- many hosts */

static int take_verdicts(struct pathprof_fleet_group *group,
			 const struct pathprof_outlier *verdicts)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->member_cnt; i++) {
		group->members[i].verdict = verdicts[i];
		if (verdicts[i].found)
			r = measure_nearest(group, i);
	}
	return r;
}

static int judge_many(struct pathprof_fleet_group *group)
{
	size_t cnt = group->member_cnt;
	const struct pathprof_distribution **members =
		calloc(cnt, sizeof(const struct pathprof_distribution *));
	struct pathprof_outlier *verdicts = calloc(cnt, sizeof(*verdicts));
	int r = members && verdicts ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < cnt; i++)
		members[i] = &group->members[i].distribution;
	if (r == 0)
		r = pathprof_outliers_find(verdicts, members, cnt, FALSE_DISCOVERIES);
	group->judged = r == 0;
	if (r == 0)
		r = take_verdicts(group, verdicts);
	free(members);
	free(verdicts);
	/* One event alone, however often: there is nothing in which hosts could differ. */
	return r == -ENODATA ? 0 : r;
}

/* ---------------------------------------------------------------- few hosts */

static int order_bits(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double pp_fleet_usual(double *bits, size_t cnt)
{
	qsort(bits, cnt, sizeof(*bits), order_bits);
	return fmax(bits[(cnt - 1) / 2], 0);
}

bool pp_fleet_is_out(double low_bits, double bits, double usual_bits)
{
	return low_bits > 0 && bits > FEW_FACTOR * usual_bits;
}

static int usual_of(const struct pathprof_fleet_group *group, double *ret_bits)
{
	double *bits = calloc(group->member_cnt, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (size_t i = 0; i < group->member_cnt; i++)
		bits[i] = group->members[i].bits;
	*ret_bits = pp_fleet_usual(bits, group->member_cnt);
	free(bits);
	return 0;
}

static int judge_few(struct pathprof_fleet_group *group)
{
	double usual = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->member_cnt; i++)
		r = measure_nearest(group, i);
	if (r == 0)
		r = usual_of(group, &usual);
	if (r < 0)
		return r;
	for (size_t i = 0; i < group->member_cnt; i++) {
		struct pathprof_fleet_member *member = &group->members[i];

		member->verdict = (struct pathprof_outlier){
			.samples = pathprof_independent_samples(&member->distribution),
			.distance = NAN,
			.chance = NAN,
			.found = pp_fleet_is_out(member->low_bits, member->bits, usual),
		};
	}
	group->judged = true;
	return 0;
}

int pathprof_fleet_group_judge(struct pathprof_fleet_group *group)
{
	if (group->member_cnt < PATHPROF_FLEET_HOSTS_MIN)
		return 0;
	return group->member_cnt < PATHPROF_OUTLIERS_MEMBERS_MIN ? judge_few(group)
								 : judge_many(group);
}
