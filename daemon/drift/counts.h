/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of one binary's paths, sorted by key: what a distribution borrows.
 *
 * Workload: some thousand events; merged with a window's a few times a minute. One owner; the owner
 * releases.
 */
#ifndef PP_COUNTS_H
#define PP_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/distribution.h"
#include "pathprof/store.h"

/* All zero: empty. */
struct pp_counts {
	struct pathprof_event *events; /* keys strictly ascending */
	size_t cnt, room;
	double total;   /* of all weights; exact unless odd */
	double squares; /* of all events; of use unless loose */
	bool loose;     /* squares of an event are not known */
	bool odd;       /* a weight is 0, no whole number or above 2^53: none that was counted is */
};

/*
 * One more event at the end of a growing array, of a path as the store has it: in no order yet.
 * -ENOMEM: unchanged.
 */
int pp_events_add_row(struct pathprof_event **events, size_t *cnt, size_t *room, uint64_t group,
		      const struct pathprof_container_path_row *row);

void pp_counts_release(struct pp_counts *counts);
/* Adds events, weights of equal keys added up. Keys not strictly ascending: -EINVAL; -ENOMEM;
 * either way unchanged. */
int pp_counts_add(struct pp_counts *to, const struct pathprof_event *events, size_t cnt);
/* Moves: *to is released first, *from is empty afterwards. */
void pp_counts_move(struct pp_counts *to, struct pp_counts *from);
size_t pp_counts_bytes(const struct pp_counts *counts);
/* Borrows. Weights that none can have are no distribution: an empty one is returned. */
struct pathprof_distribution pp_counts_distribution(const struct pp_counts *counts);

#endif
