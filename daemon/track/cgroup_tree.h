/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trees of control groups, the unified one (v2) and that of the memory controller where it has
 * one of its own (v1): which id a group has that somebody names, and what an id was called.
 *
 * An id is the inode of the group's directory; it is not given out again while the machine is up.
 * A group goes with its last process, so names are kept for as long as there is room.
 *
 * Workload: a choice once a start. A name for each process that ended before /proc told of it, some
 * hundred a second at most: a look-up takes 40 ns. An id that is not known has both trees walked,
 * 20 us a group, every two seconds at most, and for a two-hundredth of one CPU. Bounded by
 * PP_CGROUPS_MAX names. Users make groups below one that is left to them (its directory is theirs),
 * as many as they like: a walk takes PP_CGROUPS_SHARE of them. One thread.
 * Source: the kernel's Documentation/admin-guide/cgroup-v2.rst.
 */
#ifndef PP_CGROUP_TREE_H
#define PP_CGROUP_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"

#define PP_CGROUPS_MAX         16384
#define PP_CGROUPS_SHARE       2048 /* below one group that is left to a user */
#define PP_CGROUPS_INTERVAL_NS UINT64_C(2000000000)
#define PP_CGROUP_PLACE_MAX    256
#define PP_CGROUP_MOUNTS       "/proc/self/mounts"

/* The mount points of the trees. */
struct pp_cgroup_places {
	char unified[PP_CGROUP_PLACE_MAX]; /* "": there is none */
	char memory[PP_CGROUP_PLACE_MAX];  /* v1, "": there is none */
	bool is_whole; /* the unified one is seen from its root, so that depths are known */
};

/* mounts: PP_CGROUP_MOUNTS, or a file like it. What is not there is "". */
void pp_cgroup_places_read(struct pp_cgroup_places *ret_places, const char *mounts);

struct pp_cgroup_choice {
	uint64_t id;
	uint32_t level; /* depth in the unified tree, the root's is 0 */
};

/*
 * which: a path in the unified tree ("/sys/fs/cgroup/a/b", or "a/b"), or the last part of one that
 * only one group has ("foo.service"): of root's groups, else of users'. -ENOENT, -EINVAL, and
 * -EOPNOTSUPP where no group can be chosen; error begins with "Cgroup=".
 */
int pp_cgroup_find(const struct pp_cgroup_places *places, const char *which,
		   struct pp_cgroup_choice *ret_choice, struct pathprof_error *error);

struct pp_cgroups;

/* name_max: PP_CGROUPS_MAX, or less (tests). */
int pp_cgroups_new(struct pp_cgroups **ret_cgroups, const struct pp_cgroup_places *places,
		   size_t name_max);
/* NULL-safe. */
void pp_cgroups_free(struct pp_cgroups *cgroups);
/*
 * Name of the container or service (track_cgroup.h) of the groups with these ids, 0: not known, in
 * the unified tree and in the memory controller's; "" for none. now_ns only ever grows. -ENOENT:
 * neither is known, or one is that has no name; name is untouched then.
 */
int pp_cgroups_name(struct pp_cgroups *cgroups, uint64_t unified, uint64_t memory, uint64_t now_ns,
		    char *name, size_t size);

#endif
