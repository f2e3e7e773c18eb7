// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * llvm-profgen's raw profile, read by `llvm-profgen --unsymbolized-profile`: the number of ranges,
 * then `START-LAST:COUNT` each; the number of branches, then `FROM->TO:COUNT`. Hexadecimal without
 * 0x, offsets from the page of the first executable segment. Branches from outside
 * have what is read as the address 0, as llvm-profgen itself writes them; those to the outside it
 * leaves out.
 *
 * The reader takes nothing else, so that the profile's origin has no place.
 *
 * Source: LLVM, llvm/tools/llvm-profgen/PerfReader.cpp, `Format of input`.
 */
#include "pp_export.h"

#include <inttypes.h>

static uint32_t branches_to_tell(const struct pathprof_branch_profile *p)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->branch_cnt; i++)
		cnt += p->branches[i].to != PATHPROF_OUTSIDE && p->branches[i].count;
	return cnt;
}

static void put_branches(const struct pp_export *x)
{
	const struct pathprof_branch_profile *p = x->profile;

	fprintf(x->file, "%" PRIu32 "\n", branches_to_tell(p));
	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		const struct pathprof_branch_count *b = &p->branches[i];

		if (b->to != PATHPROF_OUTSIDE && b->count)
			fprintf(x->file, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n",
				pp_export_address(x, b->from), pp_export_address(x, b->to),
				b->count);
	}
}

int pp_write_profgen_raw(const struct pp_export *x)
{
	pp_export_ranges(x);
	put_branches(x);
	return 0;
}
