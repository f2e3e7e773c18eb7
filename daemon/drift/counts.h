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
	double total;          /* of all weights */
	double squares;        /* of all events; of use unless loose */
	double samples;        /* that the weights are of; of counts the total */
	double sample_squares; /* as squares, where each sample counts once */
	bool loose;            /* squares of an event are not known */
	bool odd;              /* a weight is 0 or above 2^53 */
};

/*
 * One more event behind the others, in no order yet: pp_counts_sort() before all else. It has
 * the key; seen says how often it was seen, and counts by its weight when the clock weighed that.
 * An event of weight 0 is left out. -ENOMEM: unchanged.
 */
int pp_counts_append(struct pp_counts *to, const struct pathprof_event *key,
		     const struct pathprof_worth *seen, bool weighed);
/* The same of a path as the store has it. */
int pp_counts_append_row(struct pp_counts *to, uint64_t group,
			 const struct pathprof_container_path_row *row, bool weighed);
/* Puts what was appended in order. A sum that no weight can have: -ERANGE, and empty. */
int pp_counts_sort(struct pp_counts *counts);

void pp_counts_release(struct pp_counts *counts);
/* Empty again; keeps its memory. */
void pp_counts_clear(struct pp_counts *counts);
/* Adds events that count once, weights of equal keys added up. Keys not strictly ascending:
 * -EINVAL; -ENOMEM; either way unchanged. */
int pp_counts_add(struct pp_counts *to, const struct pathprof_event *events, size_t cnt);
/* Adds all of another one. Errors as above. */
int pp_counts_join(struct pp_counts *to, const struct pp_counts *from);
/* Weights become numbers of samples of equal weight, as pathprof_worth_of_sample() has it. */
void pp_counts_weigh(struct pp_counts *counts);
/* Moves: *to is released first, *from is empty afterwards. */
void pp_counts_move(struct pp_counts *to, struct pp_counts *from);
size_t pp_counts_bytes(const struct pp_counts *counts);
/* Borrows; of counts or what was weighed. Weights that none can have: an empty one. */
struct pathprof_distribution pp_counts_distribution(const struct pp_counts *counts);

#endif
