/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counts of one binary's paths, sorted by key: what a distribution borrows.
 *
 * Workload: some thousand events; merged with a window's a few times a minute. One owner; the owner
 * releases.
 */
#ifndef PATHPROF_TALLY_H
#define PATHPROF_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/distribution.h"
#include "pathprof/store.h"

/* All zero: empty. */
struct pathprof_tally {
	struct pathprof_event *events; /* keys strictly ascending */
	size_t cnt, room;
	double total;          /* of all weights */
	double squares;        /* of all events; of use unless loose */
	double samples;        /* that the weights stand for; the total if events are not weighed */
	double sample_squares; /* as squares, where each sample counts once */
	bool loose;            /* squares of an event are not known */
	bool odd;              /* a weight is 0 or above 2^53 */
};

/*
 * Appends an event with this key, out of order: call pathprof_tally_sort() before anything else.
 * `seen` says how often it was seen; weighed: it counts by the weight that the clock gave it. An
 * event of weight 0 is left out. -ENOMEM: the tally is unchanged.
 */
int pathprof_tally_append(struct pathprof_tally *to, const struct pathprof_event *key,
			  const struct pathprof_worth *seen, bool weighed);
/* The same of a path of the binary (its group) as the store has it. */
int pathprof_tally_append_row(struct pathprof_tally *to, uint64_t group,
			      const struct pathprof_container_path_row *row, bool weighed);
/* Sorts appended events. -ERANGE: a sum exceeds the largest weight, and the tally is empty. */
int pathprof_tally_sort(struct pathprof_tally *counts);

void pathprof_tally_release(struct pathprof_tally *counts);
/* Empty again; keeps its memory. */
void pathprof_tally_clear(struct pathprof_tally *counts);
/* Adds events whose weights are numbers of samples; weights of equal keys add up. -EINVAL: the keys
 * are not strictly ascending; -ENOMEM. The tally is unchanged then. */
int pathprof_tally_add(struct pathprof_tally *to, const struct pathprof_event *events, size_t cnt);
/* Adds all of another one. Errors as above. */
int pathprof_tally_join(struct pathprof_tally *to, const struct pathprof_tally *from);
/* Makes numbers of samples of equal weight out of weights, as pathprof_worth_of_sample() does. */
void pathprof_tally_weigh(struct pathprof_tally *counts);
/*
 * Leaves in both what ran in programs that both have (pathprof_event_group_in), and gives each
 * program the share in base that it has in window. So their relative entropy is the conditional
 * one, of what the code does given who runs it: that one program ran more than another is not in
 * it. A program with less than `least` in base is not one that it has. *ret_share: what is left of
 * window. -ENOMEM.
 */
int pathprof_tally_condition(struct pathprof_tally *window, struct pathprof_tally *base,
			     double least, double *ret_share);
/* Moves: *to is released first, *from is empty afterwards. */
void pathprof_tally_move(struct pathprof_tally *to, struct pathprof_tally *from);
size_t pathprof_tally_bytes(const struct pathprof_tally *counts);
/* Borrows the events of a tally of samples, or after pathprof_tally_weigh(). It is empty if a
 * weight is impossible. */
struct pathprof_distribution pathprof_tally_distribution(const struct pathprof_tally *counts);

/* One binary in one container. */
struct pathprof_part {
	const struct pathprof_build_id *id;
	uint64_t group; /* pathprof_event_group(id) */
	const char *name, *container;
	struct pathprof_tally tally; /* sorted */
};
/* part is valid during the call. A value other than 0 ends the reading, which returns it. */
typedef int pathprof_part_fn(void *context, struct pathprof_part *part);
/*
 * Reads what filter selects (NULL: all) of a store, in parts by binary, then container. Generated
 * code is left out: it differs between processes, and moves. weighed: paths count by the weights of
 * their bursts. -E2BIG: more than paths_max paths (0: no bound); -EBADMSG: impossible weights.
 */
int pathprof_parts_read(struct pathprof_store *store, const struct pathprof_filter *filter,
			bool weighed, size_t paths_max, pathprof_part_fn *fn, void *context,
			struct pathprof_error *error);

#endif
