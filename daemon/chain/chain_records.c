// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a record is what its head says; see chain_records.h. Source: pathprof/record_abi.h. */
#include "chain_records.h"

#include <stddef.h>
#include <stdint.h>

/* Is the body a head, then cnt items of size_bytes each, and nothing else? */
static bool fits(size_t body_bytes, size_t head_bytes, uint64_t cnt, size_t size_bytes)
{
	return body_bytes >= head_bytes && cnt <= (body_bytes - head_bytes) / size_bytes &&
	       head_bytes + cnt * size_bytes == body_bytes;
}

/* The branches' instructions must not exceed those of the window, nor these the horizon. */
static bool is_within_horizon(const struct pathprof_burst *burst)
{
	const struct pathprof_branch *branches = (const void *)(burst + 1);
	uint64_t sum = 0;

	if (!burst->horizon)
		return true;
	for (uint32_t i = 0; i < burst->branch_cnt; i++) {
		if (!branches[i].insns)
			return false;
		sum += branches[i].insns;
	}
	return sum <= burst->insn_cnt && burst->insn_cnt <= burst->horizon;
}

static bool is_burst(const struct pathprof_burst *burst, size_t body_bytes)
{
	return body_bytes >= sizeof(*burst) && burst->size_bytes == body_bytes &&
	       burst->version == PATHPROF_ABI_VERSION && burst->branch_cnt <= PATHPROF_BURST_MAX &&
	       burst->taken_cnt <= burst->branch_cnt && burst->end < PATHPROF_END_CNT &&
	       fits(body_bytes, sizeof(*burst), burst->branch_cnt,
		    sizeof(struct pathprof_branch)) &&
	       is_within_horizon(burst);
}

static bool is_lbr(const struct pathprof_lbr *lbr, size_t body_bytes)
{
	return body_bytes >= sizeof(*lbr) && lbr->branch_cnt <= PP_CHAIN_LBR_MAX &&
	       fits(body_bytes, sizeof(*lbr), lbr->branch_cnt, sizeof(struct pathprof_lbr_entry));
}

static bool is_context(const struct pathprof_context *context, size_t body_bytes)
{
	return body_bytes == sizeof(*context) && context->context && context->context <= 65535;
}

static bool is_segment(const struct pathprof_segment *segment, size_t body_bytes)
{
	return body_bytes >= sizeof(*segment) && segment->branch_cnt &&
	       segment->branch_cnt <= PP_CHAIN_SEGMENT_MAX &&
	       fits(body_bytes, sizeof(*segment), segment->branch_cnt,
		    sizeof(struct pathprof_lbr_entry));
}

bool pp_chain_record_is_sound(const struct pathprof_record *record)
{
	const void *body = record + 1;
	size_t body_bytes = record->size_bytes - sizeof(*record);

	if (record->flags)
		return false;
	switch (record->type) {
	case PATHPROF_RECORD_PAD:
		return true;
	case PATHPROF_RECORD_BURST:
		return is_burst(body, body_bytes);
	case PATHPROF_RECORD_LBR:
		return is_lbr(body, body_bytes);
	case PATHPROF_RECORD_CONTEXT:
		return is_context(body, body_bytes);
	case PATHPROF_RECORD_PATH:
		return body_bytes && body_bytes % sizeof(struct pathprof_path_record) == 0;
	case PATHPROF_RECORD_TUPLE:
		return body_bytes && body_bytes % sizeof(struct pathprof_tuple_count) == 0;
	case PATHPROF_RECORD_DEFINE:
		return is_segment(body, body_bytes);
	default:
		return false;
	}
}
