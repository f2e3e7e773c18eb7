/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hosts of a database that run one program, and which of them behave otherwise than the rest.
 *
 * A group is the hosts that ran one build. With PATHPROF_OUTLIERS_MEMBERS_MIN of them it is seen
 * how much hosts scatter, and pathprof_outliers_find() judges (pathprof/outliers.h). With fewer
 * each is compared with each: an outlier is one that differs beyond chance from every other one,
 * and by more than hosts mostly differ from the one that is most like them.
 *
 * Workload: a query a host and build, some milliseconds each. A group owns all it refers to. One
 * thread.
 */
#ifndef CTL_OUTLIERS_H
#define CTL_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/distribution.h"
#include "pathprof/outliers.h"
#include "pathprof/store.h"

/* Hosts with fewer independent samples are left out, and groups of fewer hosts not judged. */
#define OUTLIERS_SAMPLES_MIN 50
#define OUTLIERS_HOSTS_MIN   3

struct outliers_host {
	const char *name; /* the caller's */
	struct pathprof_event *events;
	struct pathprof_distribution distribution; /* of paths, in samples of equal weight */
	struct pathprof_outlier
		verdict; /* distance, chance: NAN where each was compared with each */
	/* Corrected bits, and their interval, from the host most like it; NAN: not worked out. */
	double bits, low_bits, high_bits;
};

struct outliers_group {
	struct pathprof_build_id id;
	char *name;                  /* of the binary */
	struct outliers_host *hosts; /* in the order of names */
	size_t host_cnt;
	size_t few_cnt; /* hosts with too few samples */
	bool judged;    /* there were hosts enough */
};

/* Of those of these hosts that ran the build. filter selects the rest. -errno, error filled. */
int outliers_group_load(struct outliers_group *ret_group, struct pathprof_store *store,
			const struct pathprof_filter *filter, const char *const *hosts,
			size_t host_cnt, const struct pathprof_binary_row *binary,
			struct pathprof_error *error);
void outliers_group_release(struct outliers_group *group);
/* -errno. */
int outliers_group_judge(struct outliers_group *group);

#endif
