/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Blocks of counts as AutoFDO and llvm-profgen write them: a line with a number, and so many lines
 * `FROM-TO:COUNT`, `FROM->TO:COUNT` or `ADDRESS:COUNT`.
 */
#ifndef PP_COUNT_BLOCK_H
#define PP_COUNT_BLOCK_H

#include "pp_scan.h"

struct pp_count_block {
	enum pathprof_recorded_count_kind kind; /* of the block; BRANCH, RANGE or ADDRESS */
	bool prefixed;                          /* 0x may stand before an address */
	bool open;                              /* its number was read */
	uint64_t left;                          /* lines of it to come */
};

/*
 * A line of the block, `at` its first character that is no blank: its number when it is not open,
 * else an entry. 1: an entry, in *ret_count; 0: the number. -EBADMSG.
 */
int pp_count_block_line(struct pp_scan *text, struct pp_count_block *block, const char *at,
			struct pathprof_recorded_count *ret_count);

/* All that was announced was read. */
static inline bool pp_count_block_is_over(const struct pp_count_block *block)
{
	return block->open && block->left == 0;
}

#endif
