// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Blocks of counts: see pp_count_block.h. */
#include "pp_count_block.h"

static int scan_address(struct pp_scan *text, const struct pp_count_block *block, const char **at,
			uint64_t *ret_address)
{
	if ((block->prefixed && pp_scan_0x(at, ret_address)) || pp_scan_hex(at, ret_address))
		return 0;
	return pp_scan_expected(text, *at, "an address in hex");
}

static int scan_target(struct pp_scan *text, const char **at, struct pp_count_block *block,
		       struct pathprof_recorded_count *count)
{
	const char *arrow = block->kind == PATHPROF_RECORDED_BRANCH ? "->" : "-";

	if (block->kind == PATHPROF_RECORDED_ADDRESS)
		return 0;
	if (!pp_scan_word(at, arrow))
		return pp_scan_expected(text, *at,
					block->kind == PATHPROF_RECORDED_BRANCH
						? "-> and an address"
						: "- and an address");
	return scan_address(text, block, at, &count->to.address);
}

static int scan_entry(struct pp_scan *text, struct pp_count_block *block, const char *at,
		      struct pathprof_recorded_count *count)
{
	int r;

	*count = (struct pathprof_recorded_count){.kind = block->kind};
	r = scan_address(text, block, &at, &count->from.address);
	if (r == 0)
		r = scan_target(text, &at, block, count);
	if (r < 0)
		return r;
	if (!pp_scan_char(&at, ':') || !pp_scan_decimal(&at, &count->count) || *at)
		return pp_scan_expected(text, at, ": and a count");
	block->left--;
	return 1;
}

int pp_count_block_line(struct pp_scan *text, struct pp_count_block *block, const char *at,
			struct pathprof_recorded_count *ret_count)
{
	struct pathprof_recorded_count count;
	const char *p = at;
	int r;

	if (!block->open) {
		if (!pp_scan_decimal(&p, &block->left) || *p)
			return pp_scan_expected(text, at, "how many lines follow");
		block->open = true;
		return 0;
	}
	r = scan_entry(text, block, at, &count);
	if (r > 0)
		*ret_count = count;
	return r;
}
