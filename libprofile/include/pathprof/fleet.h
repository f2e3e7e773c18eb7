/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Questions that only a fleet answers, of a store to which the parcels of several hosts were added
 * (parcel_store.h): which hosts run a build otherwise than the others, and which builds of each
 * program there were, on how many hosts.
 *
 *     pathprof_fleet_look()            hosts by name, the heaviest builds
 *     pathprof_fleet_group_load()      one build: a member for each host that ran enough of it
 *     pathprof_fleet_group_judge()     which members stand out
 *
 * With PATHPROF_OUTLIERS_MEMBERS_MIN members it is seen how much hosts scatter, and
 * pathprof_outliers_find() judges (outliers.h). With fewer each is compared with each: one stands
 * out that differs beyond chance from every other one, and by four times what members mostly differ
 * from the one that is most like them.
 *
 * Workload: a query a host and build, some milliseconds each; a thousand hosts of ten builds take
 * half a minute. Memory: 32 bytes a path and member. All structures own what they refer to, but for
 * names that are said to be the caller's. One thread. Errors: negative errno, one line in error.
 */
#ifndef PATHPROF_FLEET_H
#define PATHPROF_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/distribution.h"
#include "pathprof/outliers.h"
#include "pathprof/store.h"
#include "pathprof/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- what there is */

/* All zero: empty. */
struct pathprof_fleet {
	char **hosts; /* by name, each once, however many stores it sent of */
	size_t host_cnt, host_room;
	struct pathprof_binary_row *binaries; /* heaviest first, generated code left out */
	size_t binary_cnt, binary_room;
};

/* The hosts of the store, and the builds that filter selects, as many as its limit. Released by the
 * caller whatever it returns. */
int pathprof_fleet_look(struct pathprof_fleet *ret_fleet, struct pathprof_store *store,
			const struct pathprof_filter *filter, struct pathprof_error *error);
void pathprof_fleet_release(struct pathprof_fleet *fleet);

/* ---------------------------------------------------------------- hosts of one build */

/* Hosts with fewer independent samples are left out, and groups of fewer hosts not judged. */
#define PATHPROF_FLEET_SAMPLES_MIN 50
#define PATHPROF_FLEET_HOSTS_MIN   3

struct pathprof_fleet_member {
	const char *host; /* the caller's */
	struct pathprof_tally tally;
	/* Of the tally's paths, in samples of equal weight. */
	struct pathprof_distribution distribution;
	/* distance and chance: NAN where each was compared with each. */
	struct pathprof_outlier verdict;
	/* Corrected bits, and their interval, from the host most like it; NAN: not worked out. */
	double bits, low_bits, high_bits;
};

struct pathprof_fleet_group {
	struct pathprof_build_id id;
	char *name;                            /* of the binary */
	struct pathprof_fleet_member *members; /* in the order of hosts */
	size_t member_cnt;
	size_t few_cnt; /* hosts with too few samples */
	bool judged;    /* there were hosts enough */
};

/*
 * A member for each of these hosts that ran enough of the build. filter selects the rest; paths
 * count by the weights of their bursts where its kind is PATHPROF_KIND_WEIGHED, else each sample
 * counts once. -ENOMEM, -ERANGE: a sum beyond what a weight may be; the store's. Nothing is to be
 * released then.
 */
int pathprof_fleet_group_load(struct pathprof_fleet_group *ret_group, struct pathprof_store *store,
			      const struct pathprof_filter *filter, const char *const *hosts,
			      size_t host_cnt, const struct pathprof_binary_row *binary,
			      struct pathprof_error *error);
void pathprof_fleet_group_release(struct pathprof_fleet_group *group);
/*
 * Fills the members' verdicts; judged stays false, and it is no error, where hosts are too few.
 * -ENOMEM.
 */
int pathprof_fleet_group_judge(struct pathprof_fleet_group *group);

/* ---------------------------------------------------------------- builds of programs */

/* One build of a program. */
struct pathprof_release {
	struct pathprof_build_id id;
	char *program; /* its path */
	int64_t first_seen_ns, last_seen_ns;
	double share, program_share; /* of all weight: this build's, and all of its program's */
	uint64_t samples;
	uint32_t hosts; /* that ran it */
};

/* All zero: empty. */
struct pathprof_releases {
	/* The heaviest program first, its builds in the order in which they were first seen. */
	struct pathprof_release *list;
	size_t cnt, room;
	bool has_hosts; /* the store has hosts, so that hosts of a build are known */
};

/* Those that filter selects, of one program (its path or file name) or of all (NULL). Released by
 * the caller whatever it returns. */
int pathprof_releases_load(struct pathprof_releases *ret_releases, struct pathprof_store *store,
			   const struct pathprof_filter *filter, const char *program,
			   struct pathprof_error *error);
void pathprof_releases_release(struct pathprof_releases *releases);
/* How many builds of one program stand together, from the first of them on. */
size_t pathprof_releases_of(const struct pathprof_releases *releases, size_t first);

#ifdef __cplusplus
}
#endif

#endif
