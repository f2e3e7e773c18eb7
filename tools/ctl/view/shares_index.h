/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common part of shares.c and shares_hosts.c: how places of the store become rows of the
 * shares. */
#ifndef CTL_SHARES_INDEX_H
#define CTL_SHARES_INDEX_H

#include "base/table.h"
#include "shares.h"

/* Clock samples at one place. */
struct shares_clock {
	uint32_t binary;
	uint64_t place, samples;
};

struct shares_index {
	struct shares *shares;
	struct symbols *symbols;
	size_t path_room, function_room, stratum_room, binary_room;
	struct pp_table numbers, binaries; /* of functions, of binaries */

	struct shares_clock *clocks;
	size_t clock_cnt, clock_room;

	struct pathprof_shares_function *strata;
	size_t stratum_cnt;
	struct pathprof_shares_path *inputs; /* of the paths that count */
	uint32_t *input_paths;               /* whose they are */
	size_t input_cnt;
};

/* The stratum of a place, which was read before; UINT32_MAX: in no file. */
uint32_t shares_stratum_of(const struct shares_index *index, const struct pathprof_clock_row *row);

/*
 * If the database has several hosts and the filter does not name one of them, widens the intervals
 * by the differences between hosts, and counts the hosts that have each row. -errno, error filled.
 */
int shares_spread_over_hosts(struct shares *shares, struct pathprof_store *store,
			     const struct pathprof_filter *filter, struct pathprof_error *error);

#endif
