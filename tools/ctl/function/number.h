/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A path of a function by its Ball-Larus number, seen or not. */
#ifndef CTL_NUMBER_H
#define CTL_NUMBER_H

#include "target.h"

/*
 * The straight runs of code of path `number`, as pathprof_code_walk gives a profile's. -ERANGE, no
 * such number. Caller frees *ret_blocks.
 */
int number_blocks(const struct target *target, uint64_t number, struct pathprof_block **ret_blocks,
		  size_t *ret_cnt);
/* The heaviest path of the profile that has it, in ret_id; 0: none of the selection. -errno. */
int number_find(const struct target *target, uint64_t number, struct view_query *query,
		int64_t *ret_id, struct pathprof_error *error);

#endif
