// SPDX-License-Identifier: GPL-2.0-or-later
/* Hosts that behave otherwise than the rest: see outliers.h. */
#include "outliers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "pathprof/drift.h"
#include "side_load.h"

#define FALSE_DISCOVERIES 0.05
/* Few hosts: an outlier's nearest is further away than the median host's by this. */
#define FEW_FACTOR 4

/* ---------------------------------------------------------------- samples */

static int copy_events(struct outliers_host *host, const struct side *side)
{
	size_t cnt = side->distribution.cnt;
	int r;

	host->events = ctl_alloc((cnt + 1) * sizeof(*host->events));
	memcpy(host->events, side->distribution.events, cnt * sizeof(*host->events));
	r = pathprof_distribution_init(&host->distribution, host->events, cnt);
	host->distribution.counted = side->distribution.counted;
	return r;
}

/* What one host ran of the build that the filter names. */
static int load_host(struct outliers_host *ret_host, struct pathprof_store *store,
		     const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct side side;
	int r;

	*ret_host = (struct outliers_host){
		.name = filter->host, .bits = NAN, .low_bits = NAN, .high_bits = NAN};
	side_init(&side, filter->host, SIDE_PATHS);
	side.measure.kind = filter->kind;
	r = side_store_read(&side, store, filter, NULL, error);
	if (r == 0) {
		r = side_finish(&side);
		if (r == 0)
			r = copy_events(ret_host, &side);
		if (r < 0)
			pathprof_fail(error, r, "%s: %s", filter->host, strerror(-r));
	}
	side_release(&side);
	return r;
}

int outliers_group_load(struct outliers_group *ret_group, struct pathprof_store *store,
			const struct pathprof_filter *filter, const char *const *hosts,
			size_t host_cnt, const struct pathprof_binary_row *binary,
			struct pathprof_error *error)
{
	struct outliers_group group = {.id = binary->binary_id,
				       .name = ctl_strdup(binary->name ? binary->name : "")};
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_filter one = *filter;
	int r = 0;

	group.hosts = ctl_alloc((host_cnt + 1) * sizeof(*group.hosts));
	one.binary = pathprof_build_id_text(&binary->binary_id, id);
	one.limit = 0;
	for (size_t i = 0; r == 0 && i < host_cnt; i++) {
		struct outliers_host *host = &group.hosts[group.host_cnt];
		double samples;

		one.host = hosts[i];
		r = load_host(host, store, &one, error);
		samples = r == 0 ? pathprof_independent_samples(&host->distribution) : 0;
		group.host_cnt += samples >= OUTLIERS_SAMPLES_MIN;
		group.few_cnt += samples > 0 && samples < OUTLIERS_SAMPLES_MIN;
		if (samples < OUTLIERS_SAMPLES_MIN)
			free(host->events);
	}
	if (r < 0)
		outliers_group_release(&group);
	else
		*ret_group = group;
	return r;
}

void outliers_group_release(struct outliers_group *group)
{
	for (size_t i = 0; i < group->host_cnt; i++)
		free(group->hosts[i].events);
	free(group->hosts);
	free(group->name);
	*group = (struct outliers_group){.name = NULL};
}

/* ---------------------------------------------------------------- the host most like it */

static int measure_pair(struct pathprof_drift *ret_drift, const struct outliers_host *host,
			const struct outliers_host *other)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;

	pathprof_drift_set_bursts(&settings, &host->distribution, &other->distribution, 1, 0);
	settings.replicates = 0;
	return pathprof_drift_measure(ret_drift, &host->distribution, &other->distribution,
				      &settings);
}

static int measure_nearest(struct outliers_group *group, size_t at)
{
	struct outliers_host *host = &group->hosts[at];

	host->bits = INFINITY;
	for (size_t i = 0; i < group->host_cnt; i++) {
		struct pathprof_drift drift;
		int r = i == at ? 0 : measure_pair(&drift, host, &group->hosts[i]);

		if (r < 0)
			return r;
		if (i == at || drift.kl_corrected_bits >= host->bits)
			continue;
		host->bits = drift.kl_corrected_bits;
		host->low_bits = drift.kl_low_bits;
		host->high_bits = drift.kl_high_bits;
	}
	return 0;
}

/* ---------------------------------------------------------------- many hosts */

static int judge_many(struct outliers_group *group)
{
	size_t cnt = group->host_cnt;
	_cleanup_free_ const struct pathprof_distribution **members =
		ctl_alloc(cnt * sizeof(*members));
	_cleanup_free_ struct pathprof_outlier *verdicts = ctl_alloc(cnt * sizeof(*verdicts));
	int r;

	for (size_t i = 0; i < cnt; i++)
		members[i] = &group->hosts[i].distribution;
	r = pathprof_outliers_find(verdicts, members, cnt, FALSE_DISCOVERIES);
	group->judged = r == 0;
	for (size_t i = 0; r == 0 && i < cnt; i++) {
		group->hosts[i].verdict = verdicts[i];
		if (verdicts[i].found)
			r = measure_nearest(group, i);
	}
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
static double median_nearest(const struct outliers_group *group)
{
	_cleanup_free_ double *bits = ctl_alloc(group->host_cnt * sizeof(*bits));

	for (size_t i = 0; i < group->host_cnt; i++)
		bits[i] = group->hosts[i].bits;
	qsort(bits, group->host_cnt, sizeof(*bits), order_bits);
	return bits[(group->host_cnt - 1) / 2];
}

static int judge_few(struct outliers_group *group)
{
	double median;
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->host_cnt; i++)
		r = measure_nearest(group, i);
	if (r < 0)
		return r;
	median = fmax(median_nearest(group), 0);
	for (size_t i = 0; i < group->host_cnt; i++) {
		struct outliers_host *host = &group->hosts[i];

		host->verdict = (struct pathprof_outlier){
			.samples = pathprof_independent_samples(&host->distribution),
			.distance = NAN,
			.chance = NAN,
			.found = host->low_bits > 0 && host->bits > FEW_FACTOR * median,
		};
	}
	group->judged = true;
	return 0;
}

int outliers_group_judge(struct outliers_group *group)
{
	if (group->host_cnt < OUTLIERS_HOSTS_MIN)
		return 0;
	return group->host_cnt < PATHPROF_OUTLIERS_MEMBERS_MIN ? judge_few(group)
							       : judge_many(group);
}
