/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sides out of a store. The store is borrowed but where a side owns it. One thread. */
#ifndef CTL_SIDE_STORE_H
#define CTL_SIDE_STORE_H

#include "side.h"

/*
 * Adds what filter selects; binary is a path or file name it must have besides, NULL: any.
 * side->measure.kind is the kind of the windows: weighed ones count by their weights. Not yet
 * finished. -errno, error filled.
 */
int side_store_read(struct side *side, struct pathprof_store *store,
		    const struct pathprof_filter *filter, const char *binary,
		    struct pathprof_error *error);
/*
 * Sets side->per_burst and side->dispersion. Paths of one burst follow one another,
 * so counts scatter more than those of independent samples. How much is seen from the last windows
 * of the selection, with a single one it is not known. A change among these windows counts as
 * scatter: the figure errs to the careful side.
 */
int side_store_dispersion(struct side *side, const struct pathprof_filter *filter,
			  const char *binary, struct pathprof_error *error);

#endif
