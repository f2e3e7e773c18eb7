// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * AutoFDO's text profile, read by `create_llvm_prof --profiler=text` and `create_gcov`: three
 * counted blocks, `START-LAST:COUNT` of ranges, `ADDRESS:COUNT` of samples, `FROM->TO:COUNT` of
 * branches, hexadecimal without 0x, offsets in the file. Before its version 0.20 AutoFDO counted
 * from the vaddr of the first load segment, which is the same only where vaddrs follow offsets.
 *
 * Samples are where a branch was taken, as a sample on that event would be. The reader takes
 * nothing else, so that the profile's origin has no place.
 *
 * Source: AutoFDO, sample_reader.cc.
 */
#include "pp_export.h"

#include <inttypes.h>

static bool is_inside(const struct pathprof_branch_count *b)
{
	return b->from != PATHPROF_OUTSIDE && b->to != PATHPROF_OUTSIDE && b->count;
}

/* Branches of one instruction, added up: they are together. */
static uint32_t next_from(const struct pathprof_branch_profile *p, uint32_t i, uint64_t *ret_count)
{
	uint64_t from = p->branches[i].from;

	*ret_count = 0;
	for (; i < p->branch_cnt && p->branches[i].from == from; i++)
		*ret_count = pp_count_sum(*ret_count, p->branches[i].count);
	return i;
}

static void put_samples(const struct pp_export *x)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint32_t cnt = 0;
	uint64_t count;

	for (uint32_t i = 0; i < p->branch_cnt && p->branches[i].from != PATHPROF_OUTSIDE; cnt++)
		i = next_from(p, i, &count);
	fprintf(x->file, "%" PRIu32 "\n", cnt);
	for (uint32_t i = 0; i < p->branch_cnt && p->branches[i].from != PATHPROF_OUTSIDE;) {
		uint64_t from = p->branches[i].from;

		i = next_from(p, i, &count);
		fprintf(x->file, "%" PRIx64 ":%" PRIu64 "\n", pp_export_address(x, from), count);
	}
}

static void put_branches(const struct pp_export *x)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->branch_cnt; i++)
		cnt += is_inside(&p->branches[i]);
	fprintf(x->file, "%" PRIu32 "\n", cnt);
	for (uint32_t i = 0; i < p->branch_cnt; i++)
		if (is_inside(&p->branches[i]))
			fprintf(x->file, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n",
				pp_export_address(x, p->branches[i].from),
				pp_export_address(x, p->branches[i].to), p->branches[i].count);
}

int pp_write_autofdo_text(const struct pp_export *x)
{
	struct pp_export out = *x;

	if (x->options.old_autofdo)
		out.addresses = PATHPROF_ADDRESS_IMAGE;
	pp_export_ranges(&out);
	put_samples(&out);
	put_branches(&out);
	return 0;
}
