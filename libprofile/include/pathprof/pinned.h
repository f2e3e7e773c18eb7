/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A pinned baseline: a profile file, by binary and container.
 *
 * A binary's counts are those of the container asked for; where the file has the binary, but not in
 * this container, those of all its containers together. Where it has another build of that path
 * only, and carries the names of its paths, that build is compared by them.
 *
 * Workload: some hundred thousand counts, read once, asked for 200 times a window. One owner.
 */
#ifndef PATHPROF_PINNED_H
#define PATHPROF_PINNED_H

#include <stdint.h>

#include "pathprof/error.h"
#include "pathprof/judge.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_PINNED_PATHS_MAX (1u << 20)

struct pathprof_pinned_part {
	struct pathprof_build_id id;
	uint64_t group;
	char *name;      /* of the binary */
	char *container; /* NULL: all together */
	struct pathprof_tally tally;
	/* Read when it is first asked for by another build, functions NULL when there are none. */
	struct pathprof_portable *portable;
};

/* All zero: empty. */
struct pathprof_pinned {
	char *file;
	struct pathprof_pinned_part *parts;
	uint32_t part_cnt;
};

/*
 * Its windows must be of one kind; weighed: that kind is. -E2BIG: more than
 * PATHPROF_PINNED_PATHS_MAX paths; others as the store's. Released by the caller whatever it
 * returns.
 */
int pathprof_pinned_read(struct pathprof_pinned *ret_pinned, const char *file, bool weighed,
			 struct pathprof_error *error);
void pathprof_pinned_release(struct pathprof_pinned *pinned);
/*
 * What there is for a build (its group) of a binary in a container. error is filled when names of
 * another build cannot be read; there is no baseline then. Valid until the release.
 */
struct pathprof_baseline pathprof_pinned_baseline(struct pathprof_pinned *pinned, uint64_t group,
						  const char *binary, const char *container,
						  struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
