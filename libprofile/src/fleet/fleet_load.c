// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Reads what hosts ran, all builds of a host in one query: see fleet.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/events.h"
#include "pathprof/fleet.h"

struct reading {
	struct pathprof_fleet_groups *groups;
	const char *host;
	struct pathprof_fleet_group *last; /* rows come binary by binary */
	uint64_t key;                      /* pathprof_event_group() of the last */
	bool weighed;
};

static struct pathprof_fleet_group *group_of(const struct pathprof_fleet_groups *groups,
					     const struct pathprof_build_id *id)
{
	for (size_t i = 0; i < groups->cnt; i++)
		if (pathprof_build_id_equal(&groups->list[i].id, id))
			return &groups->list[i];
	return NULL;
}

static int take_path(void *context, const struct pathprof_container_path_row *row)
{
	struct reading *reading = context;
	const struct pathprof_worth seen = {(double)row->samples, row->squares, row->weight,
					    row->weight_squares};
	struct pathprof_fleet_group *group = reading->last;
	struct pathprof_event key;

	if (!group || !pathprof_build_id_equal(&group->id, &row->binary_id)) {
		group = group_of(reading->groups, &row->binary_id);
		if (!group)
			return 0;
		reading->last = group;
		reading->key = pathprof_event_group(&group->id);
	}
	if (!row->samples)
		return 0;
	group->is_program |= pathprof_build_id_equal(&row->program, &group->id);
	pathprof_event_of_path(&key, reading->key, row->start, row->length, row->outcomes, 0);
	return pathprof_tally_append(&group->members[group->member_cnt].tally, &key, &seen,
				     reading->weighed);
}

/* A host with too few samples is counted and left out. */
static int end_member(struct pathprof_fleet_groups *groups, struct pathprof_fleet_group *group,
		      const char *host)
{
	struct pathprof_fleet_member *member = &group->members[group->member_cnt];
	int r = pathprof_tally_sort(&member->tally);
	double samples;

	if (r < 0)
		return r;
	member->weight = member->tally.total;
	pathprof_tally_weigh(&member->tally);
	member->host = host;
	member->bits = member->low_bits = member->high_bits = NAN;
	member->distribution = pathprof_tally_distribution(&member->tally);
	samples = pathprof_independent_samples(&member->distribution);
	if (samples >= PATHPROF_FLEET_SAMPLES_MIN) {
		groups->bytes += pathprof_tally_bytes(&member->tally);
		group->member_cnt++;
		return 0;
	}
	group->few_cnt += samples > 0;
	pathprof_tally_release(&member->tally);
	return 0;
}

static int read_host(struct reading *reading, struct pathprof_store *store,
		     const struct pathprof_filter *filter, struct pathprof_error *error)
{
	int r = pathprof_store_container_paths(store, filter, take_path, reading, error);

	for (size_t i = 0; r == 0 && i < reading->groups->cnt; i++)
		r = end_member(reading->groups, &reading->groups->list[i], reading->host);
	if (r == -ENOMEM || r == -ERANGE)
		pathprof_fail(error, r, "%s: %s", reading->host, strerror(-r));
	return r;
}

/* One more than there are hosts in each: the member that is being read. */
static int make_groups(struct pathprof_fleet_groups *groups, const struct pathprof_fleet *fleet)
{
	groups->list = calloc(fleet->binary_cnt + 1, sizeof(*groups->list));
	if (!groups->list)
		return -ENOMEM;
	for (size_t i = 0; i < fleet->binary_cnt; i++) {
		struct pathprof_fleet_group *group = &groups->list[groups->cnt++];

		group->id = fleet->binaries[i].binary_id;
		group->name = strdup(fleet->binaries[i].name ? fleet->binaries[i].name : "");
		group->members = calloc(fleet->host_cnt + 1, sizeof(*group->members));
		if (!group->name || !group->members)
			return -ENOMEM;
	}
	return 0;
}

int pathprof_fleet_load(struct pathprof_fleet_groups *ret_groups,
			const struct pathprof_fleet *fleet, struct pathprof_store *store,
			const struct pathprof_filter *filter, pathprof_fleet_progress_fn *progress,
			void *context, struct pathprof_error *error)
{
	struct reading reading = {.groups = ret_groups,
				  .weighed = filter->kind == PATHPROF_KIND_WEIGHED};
	struct pathprof_filter one = *filter;
	int r;

	*ret_groups = (struct pathprof_fleet_groups){.list = NULL};
	r = make_groups(ret_groups, fleet);
	if (r < 0)
		return pathprof_fail(error, r, "out of memory");
	one.limit = 0;
	for (size_t i = 0; r == 0 && i < fleet->host_cnt; i++) {
		if (progress && !progress(context, i))
			break;
		reading.host = one.host = fleet->hosts[i];
		r = read_host(&reading, store, &one, error);
		ret_groups->host_cnt += r == 0;
	}
	return r;
}

static void release_group(struct pathprof_fleet_group *group)
{
	/* the one behind may have been begun */
	for (size_t i = 0; group->members && i <= group->member_cnt; i++)
		pathprof_tally_release(&group->members[i].tally);
	free(group->members);
	free(group->name);
}

void pathprof_fleet_groups_release(struct pathprof_fleet_groups *groups)
{
	for (size_t i = 0; i < groups->cnt; i++)
		release_group(&groups->list[i]);
	free(groups->list);
	*groups = (struct pathprof_fleet_groups){.list = NULL};
}
