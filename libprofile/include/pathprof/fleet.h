/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Questions that only a fleet answers, of a store to which the parcels of several hosts were added
 * (parcel_store.h): which hosts run a build otherwise than the others, and which builds of each
 * program there were, on how many hosts.
 *
 *     pathprof_fleet_look()            hosts by name, the heaviest builds
 *     pathprof_fleet_load()            of each build a group: a member for each host that ran it
 *     pathprof_fleet_group_judge()     which members of a group stand out
 *     pathprof_fleet_moved()           and in which functions
 *     pathprof_modes_find()            in which different ways a group's hosts run the build
 *     pathprof_release_judge()         whether a build stands out from the build before
 *
 * With PATHPROF_OUTLIERS_MEMBERS_MIN members it is seen how much hosts scatter, and
 * pathprof_outliers_find() judges (outliers.h). With fewer each is compared with each: one stands
 * out that differs beyond chance from the one most like it, the nearest in bits, and by four times
 * what members mostly differ from the one most like them. Whether it differs beyond chance from
 * each of the others is not asked: a host of few samples, from which nobody does, would hide all.
 *
 * Workload: a query a host, some milliseconds for an hour of it. Memory: 32 bytes a path and
 * member. All structures own what they refer to, but for names that are said to be the caller's.
 * One thread. Errors: negative errno, one line in error.
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
	/* The tally's paths, in samples of equal weight. */
	struct pathprof_distribution distribution;
	double weight; /* of all its paths, as windows of this kind count */
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
	size_t few_cnt;  /* hosts with too few samples */
	bool is_program; /* a process ran it as its executable; else it is a library */
	bool judged;     /* there were hosts enough */
};

/* All zero: empty. */
struct pathprof_fleet_groups {
	struct pathprof_fleet_group *list; /* one for each binary of the fleet, in its order */
	size_t cnt;
	size_t host_cnt; /* hosts that were read */
	size_t bytes;    /* memory of their paths */
};

/* Called before each host, with the number of hosts read so far; returns false to stop. */
typedef bool pathprof_fleet_progress_fn(void *context, size_t host_cnt);

/*
 * Reads what filter selects of each host of the fleet. Paths count by the weights of their bursts
 * where the filter's kind is PATHPROF_KIND_WEIGHED, else each sample counts once. progress NULL:
 * all hosts are read. -ENOMEM, -ERANGE: a sum beyond what a weight may be; the store's. Released by
 * the caller whatever it returns, before the fleet is.
 */
int pathprof_fleet_load(struct pathprof_fleet_groups *ret_groups,
			const struct pathprof_fleet *fleet, struct pathprof_store *store,
			const struct pathprof_filter *filter, pathprof_fleet_progress_fn *progress,
			void *context, struct pathprof_error *error);
void pathprof_fleet_groups_release(struct pathprof_fleet_groups *groups);
/*
 * Fills the members' verdicts; judged stays false, and it is no error, where hosts are too few.
 * -ENOMEM.
 */
int pathprof_fleet_group_judge(struct pathprof_fleet_group *group);

/* A function's shares of the samples, before and now: 0..1. */
struct pathprof_fleet_moved {
	char name[96]; /* of the function; BINARY+0xPLACE where the store has no name */
	double before, now;
	double bits; /* of the relative entropy */
};
#define PATHPROF_FLEET_MOVED_MAX 5

/*
 * In which functions a member differs most from all others of its group together, greatest first.
 * Names are those that the store has. *ret_cnt: how many. Errors: the store's, -ENOMEM.
 */
int pathprof_fleet_moved(struct pathprof_fleet_moved ret_moved[PATHPROF_FLEET_MOVED_MAX],
			 size_t *ret_cnt, struct pathprof_store *store,
			 const struct pathprof_fleet_group *group, size_t member,
			 struct pathprof_error *error);

/* ---------------------------------------------------------------- modes */

/* Two modes of two hosts. */
#define PATHPROF_MODES_HOSTS_MIN 4
#define PATHPROF_MODES_MAX       16
/* Modes that are nearer to one another are one. */
#define PATHPROF_MODE_BITS_MIN 0.01

/* A way to run the build that several hosts have in common. */
struct pathprof_mode {
	size_t host_cnt; /* 2 or more */
	double share;    /* of all members' weight, 0..1 */
	double bits; /* relative entropy from the mode that is most like it; INFINITY: no other */
	int mean;    /* private */
};

/* All zero: empty. */
struct pathprof_modes {
	struct pathprof_mode list[PATHPROF_MODES_MAX]; /* the heaviest first */
	size_t cnt;       /* 1: hosts run the build alike; 0: there are too few */
	size_t alone_cnt; /* hosts that are like no other */
	int *mode_of;     /* of each member of the group: its place in list, or -1: alone */
};

/*
 * Sorts the members of a group into modes: sets of two hosts or more such that nine hosts of ten of
 * each are nearer to the other hosts of their own than to any other mode, by four times in relative
 * entropy (twice as near, as distances go). Hosts that only scatter are one mode, and so are hosts
 * whose samples are too few to tell. Released by the caller whatever it returns. -ENOMEM.
 */
int pathprof_modes_find(struct pathprof_modes *ret_modes, const struct pathprof_fleet_group *group);
void pathprof_modes_release(struct pathprof_modes *modes);
/* In which functions hosts of a mode differ most from all others together: pathprof_fleet_moved().
 */
int pathprof_modes_moved(struct pathprof_fleet_moved ret_moved[PATHPROF_FLEET_MOVED_MAX],
			 size_t *ret_cnt, struct pathprof_store *store,
			 const struct pathprof_fleet_group *group,
			 const struct pathprof_modes *modes, size_t mode,
			 struct pathprof_error *error);

/* ---------------------------------------------------------------- a build and the one before */

/* At most this many members, those with the most samples, are compared with each other. */
#define PATHPROF_RELEASE_MEMBERS_MAX 32

struct pathprof_release_verdict {
	bool judged; /* else there was too little of either build, or nothing to know it by */
	bool found;  /* it behaves otherwise */
	size_t hosts, before_hosts; /* held against each other */
	size_t out; /* of hosts: differ from the host of the build before that is most like them */
	double samples; /* of hosts together */
	/*
	 * The host in the middle: corrected bits, and their interval, from the host of the build
	 * before that is most like it; and how far hosts of the build before mostly are from one
	 * another.
	 */
	double bits, low_bits, high_bits, usual_bits;
	double matched; /* share of what these hosts ran that was compared, 0..1 */
	struct pathprof_fleet_moved moved[PATHPROF_FLEET_MOVED_MAX];
	size_t moved_cnt;
};

/*
 * Holds the hosts of a build against those that ran the build before, over the functions that both
 * builds have in the same shape, by the names of paths that the store has (portable.h). A host
 * differs as one of few hosts stands out from its group: beyond chance from the host of the build
 * before that is most like it, by four times what those mostly differ from the one most like them.
 * The build behaves otherwise where more than half of its hosts differ. Before must have
 * PATHPROF_FLEET_HOSTS_MIN members, else it is not seen how hosts scatter and nothing is judged.
 * -ENOMEM; the store's.
 */
int pathprof_release_judge(struct pathprof_release_verdict *ret_verdict,
			   struct pathprof_store *store, const struct pathprof_fleet_group *now,
			   const struct pathprof_fleet_group *before, struct pathprof_error *error);

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
	/* The heaviest program first, its builds in the order in which they were first seen, then
	 * last seen, then by id. */
	struct pathprof_release *list;
	size_t cnt, room;
	bool has_hosts; /* the store has hosts, so that hosts of a build are known */
};

/* The builds that filter selects, of one program (its path or file name) or of all (NULL). Released
 * by the caller whatever it returns. */
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
