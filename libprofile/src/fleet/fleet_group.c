// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Hosts of one build, and which of them stand out: see fleet.h. */
#include "pathprof/fleet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/drift.h"
#include "pathprof/events.h"

#define FALSE_DISCOVERIES 0.05
/* Few hosts: an outlier's nearest is further away than the median host's by this. */
#define FEW_FACTOR 4

/* ---------------------------------------------------------------- samples */

struct reading {
	struct pathprof_tally *tally;
	uint64_t group;
	bool weighed;
};

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct reading *reading = context;
	const struct pathprof_worth seen = {(double)row->samples, row->squares, row->weight,
					    row->weight_squares};
	struct pathprof_event key;

	if (!row->samples)
		return 0;
	pathprof_event_of_path(&key, reading->group, row->start, row->length, row->outcomes, 0);
	return pathprof_tally_append(reading->tally, &key, &seen, reading->weighed);
}

/* What one host ran of the build that the filter names. */
static int load_member(struct pathprof_fleet_member *ret_member, struct pathprof_store *store,
		       const struct pathprof_filter *filter, const struct pathprof_build_id *id,
		       struct pathprof_error *error)
{
	struct pathprof_fleet_member member = {
		.host = filter->host, .bits = NAN, .low_bits = NAN, .high_bits = NAN};
	struct reading reading = {.tally = &member.tally,
				  .group = pathprof_event_group(id),
				  .weighed = filter->kind == PATHPROF_KIND_WEIGHED};
	int r = pathprof_store_paths(store, filter, take_path, &reading, error);

	if (r == 0) {
		r = pathprof_tally_sort(&member.tally);
		if (r < 0)
			pathprof_fail(error, r, "%s: %s", filter->host, strerror(-r));
	}
	if (r < 0) {
		pathprof_tally_release(&member.tally);
		return r;
	}
	pathprof_tally_weigh(&member.tally);
	member.distribution = pathprof_tally_distribution(&member.tally);
	*ret_member = member;
	return 0;
}

/* A host with too few samples is counted and left out. */
static int add_member(struct pathprof_fleet_group *group, struct pathprof_store *store,
		      const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct pathprof_fleet_member *member = &group->members[group->member_cnt];
	int r = load_member(member, store, filter, &group->id, error);
	double samples;

	if (r < 0)
		return r;
	samples = pathprof_independent_samples(&member->distribution);
	if (samples >= PATHPROF_FLEET_SAMPLES_MIN) {
		group->member_cnt++;
		return 0;
	}
	group->few_cnt += samples > 0;
	pathprof_tally_release(&member->tally);
	return 0;
}

int pathprof_fleet_group_load(struct pathprof_fleet_group *ret_group, struct pathprof_store *store,
			      const struct pathprof_filter *filter, const char *const *hosts,
			      size_t host_cnt, const struct pathprof_binary_row *binary,
			      struct pathprof_error *error)
{
	struct pathprof_fleet_group group = {.id = binary->binary_id,
					     .name = strdup(binary->name ? binary->name : "")};
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_filter one = *filter;
	int r = 0;

	group.members = calloc(host_cnt + 1, sizeof(*group.members));
	if (!group.name || !group.members) {
		free(group.name);
		free(group.members);
		return pathprof_fail(error, -ENOMEM, "out of memory");
	}
	one.binary = pathprof_build_id_text(&binary->binary_id, id);
	one.limit = 0;
	for (size_t i = 0; r == 0 && i < host_cnt; i++) {
		one.host = hosts[i];
		r = add_member(&group, store, &one, error);
	}
	if (r < 0)
		pathprof_fleet_group_release(&group);
	else
		*ret_group = group;
	return r;
}

void pathprof_fleet_group_release(struct pathprof_fleet_group *group)
{
	for (size_t i = 0; i < group->member_cnt; i++)
		pathprof_tally_release(&group->members[i].tally);
	free(group->members);
	free(group->name);
	*group = (struct pathprof_fleet_group){.name = NULL};
}

/* ---------------------------------------------------------------- the host most like it */

static int measure_pair(struct pathprof_drift *ret_drift,
			const struct pathprof_fleet_member *member,
			const struct pathprof_fleet_member *other)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;

	pathprof_drift_set_bursts(&settings, &member->distribution, &other->distribution, 1, 0);
	settings.replicates = 0;
	return pathprof_drift_measure(ret_drift, &member->distribution, &other->distribution,
				      &settings);
}

static int measure_nearest(struct pathprof_fleet_group *group, size_t at)
{
	struct pathprof_fleet_member *member = &group->members[at];

	member->bits = INFINITY;
	for (size_t i = 0; i < group->member_cnt; i++) {
		struct pathprof_drift drift;
		int r = i == at ? 0 : measure_pair(&drift, member, &group->members[i]);

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

/* The lower of the two in the middle. */
static int median_nearest(const struct pathprof_fleet_group *group, double *ret_median)
{
	double *bits = calloc(group->member_cnt, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (size_t i = 0; i < group->member_cnt; i++)
		bits[i] = group->members[i].bits;
	qsort(bits, group->member_cnt, sizeof(*bits), order_bits);
	*ret_median = bits[(group->member_cnt - 1) / 2];
	free(bits);
	return 0;
}

static int judge_few(struct pathprof_fleet_group *group)
{
	double median = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->member_cnt; i++)
		r = measure_nearest(group, i);
	if (r == 0)
		r = median_nearest(group, &median);
	if (r < 0)
		return r;
	median = fmax(median, 0);
	for (size_t i = 0; i < group->member_cnt; i++) {
		struct pathprof_fleet_member *member = &group->members[i];

		member->verdict = (struct pathprof_outlier){
			.samples = pathprof_independent_samples(&member->distribution),
			.distance = NAN,
			.chance = NAN,
			.found = member->low_bits > 0 && member->bits > FEW_FACTOR * median,
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
