// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A sample of a perf.data: who, when, where, and the branch stack behind it.
 *
 * Workload: nearly every byte of a file; 32 branches of 24 bytes a sample. Fields lie one after the
 * other as the event's sample_type says, those behind the branch stack are not looked at.
 *
 * Source: include/uapi/linux/perf_event.h, PERF_RECORD_SAMPLE and struct perf_branch_entry; the bit
 * for branches not taken is perf's own (tools/perf/util/branch.h, from 6.15).
 */
#include "pp_perf.h"

#include <errno.h>

static int bad_sample(struct pp_perf *perf, const char *what, struct pathprof_error *error)
{
	return pp_recording_bad(perf->recording, error, "near %llu: a sample %s",
				(unsigned long long)perf->file->input.offset, what);
}

/* Counter values of the event, or of all of its group. */
static void skip_read(struct pp_perf_cursor *cursor, uint64_t format)
{
	uint64_t each = 1 + !!(format & PP_PERF_READ_ID) + !!(format & PP_PERF_READ_LOST);
	uint64_t once = !!(format & PP_PERF_READ_ENABLED) + !!(format & PP_PERF_READ_RUNNING);
	uint64_t cnt = format & PP_PERF_READ_GROUP ? pp_perf_take_u64(cursor) : 1;

	if (cnt > PP_PERF_RECORD_MAX)
		cursor->bad = true;
	else
		pp_perf_take(cursor, 8 * (once + cnt * each));
}

static void skip_chain(struct pp_perf_cursor *cursor)
{
	uint64_t cnt = pp_perf_take_u64(cursor);

	if (cnt > PP_PERF_RECORD_MAX)
		cursor->bad = true;
	else
		pp_perf_take(cursor, 8 * cnt);
}

/* All in front of the branch stack. */
static void take_fixed(struct pp_perf_cursor *cursor, const struct pp_perf_event *event,
		       struct pathprof_recorded_sample *sample)
{
	uint64_t type = event->sample_type;

	if (type & PP_PERF_SAMPLE_IDENTIFIER)
		pp_perf_take(cursor, 8);
	if (type & PP_PERF_SAMPLE_IP)
		sample->ip = pp_perf_take_u64(cursor);
	if (type & PP_PERF_SAMPLE_TID) {
		sample->pid = pp_perf_take_u32(cursor);
		sample->tid = pp_perf_take_u32(cursor);
	}
	if (type & PP_PERF_SAMPLE_TIME)
		sample->time_ns = pp_perf_told_time(pp_perf_take_u64(cursor));
	if (type & PP_PERF_SAMPLE_ADDR)
		pp_perf_take(cursor, 8);
	if (type & PP_PERF_SAMPLE_ID)
		pp_perf_take(cursor, 8);
	if (type & PP_PERF_SAMPLE_STREAM_ID)
		pp_perf_take(cursor, 8);
	if (type & PP_PERF_SAMPLE_CPU) {
		sample->cpu = pp_perf_take_u32(cursor);
		pp_perf_take(cursor, 4);
	}
	if (type & PP_PERF_SAMPLE_PERIOD)
		sample->period = pp_perf_take_u64(cursor);
	if (type & PP_PERF_SAMPLE_READ)
		skip_read(cursor, event->read_format);
	if (type & PP_PERF_SAMPLE_CALLCHAIN)
		skip_chain(cursor);
	if (type & PP_PERF_SAMPLE_RAW)
		pp_perf_take(cursor, pp_perf_take_u32(cursor));
}

static void decode(struct pathprof_recorded_branch *branch, const uint8_t *entry)
{
	uint64_t bits = pp_perf_u64(entry + 16);

	branch->from = pp_perf_u64(entry);
	branch->to = pp_perf_u64(entry + 8);
	branch->flags = (bits & 0xf) | (bits >> 33 & 1 ? PATHPROF_RECORDED_NOT_TAKEN : 0);
	branch->cycles = (uint16_t)(bits >> 4);
	branch->kind = bits >> 20 & 0xf;
	branch->spec = bits >> 24 & 0x3;
	branch->new_kind = bits >> 26 & 0xf;
	branch->priv = bits >> 30 & 0x7;
}
_Static_assert(PATHPROF_RECORDED_MISPREDICTED == 1 && PATHPROF_RECORDED_PREDICTED == 2 &&
		       PATHPROF_RECORDED_IN_TX == 4 && PATHPROF_RECORDED_ABORT == 8,
	       "the flags are the lowest bits of an entry");

/* Between two of its branches others may have been taken. */
static bool is_filtered(const struct pp_perf_event *event)
{
	uint64_t type = event->branch_type;

	return type & PP_PERF_BRANCH_CALL_STACK ||
	       (type & PP_PERF_BRANCH_SOME && !(type & PP_PERF_BRANCH_ANY)) ||
	       !(type & PP_PERF_BRANCH_IN_TX) != !(type & PP_PERF_BRANCH_NO_TX);
}

static int take_branches(struct pp_perf *perf, struct pp_perf_cursor *cursor,
			 const struct pp_perf_event *event, struct pathprof_recorded_sample *sample,
			 struct pathprof_error *error)
{
	uint64_t cnt = pp_perf_take_u64(cursor);
	const uint8_t *entries;

	if (event->branch_type & PP_PERF_BRANCH_HW_INDEX)
		sample->hw_idx = (int64_t)pp_perf_take_u64(cursor);
	if (cursor->bad)
		return bad_sample(perf, "is cut short", error);
	if (cnt > PATHPROF_RECORDED_BRANCHES_MAX)
		return bad_sample(perf, "has more branches than any hardware", error);
	entries = pp_perf_take(cursor, cnt * PP_PERF_BRANCH_BYTES);
	if (event->branch_type & PP_PERF_BRANCH_COUNTERS)
		pp_perf_take(cursor, 8 * cnt);
	if (cursor->bad)
		return bad_sample(perf, "is shorter than its branch stack", error);
	for (size_t i = 0; i < cnt; i++)
		decode(&perf->branches[i], entries + i * PP_PERF_BRANCH_BYTES);
	sample->branch_cnt = (uint32_t)cnt;
	sample->filtered = is_filtered(event);
	return 0;
}

int pp_perf_sample(struct pp_perf *perf, const struct pp_perf_event *event, const uint8_t *record,
		   struct pathprof_error *error)
{
	struct pp_perf_cursor cursor = {.at = record + PP_PERF_HEADER_BYTES,
					.end = record + pp_perf_size(record)};
	struct pathprof_recorded_sample sample = {
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
		.cpu = UINT32_MAX,
		.event = (uint32_t)(event - perf->events.events),
		.period = event->period ? event->period : 1,
		.user = (pp_perf_misc(record) & PP_PERF_MISC_MODE) == PP_PERF_MODE_USER,
		.hw_idx = -1,
		.branches = perf->branches,
	};
	int r = 0;

	take_fixed(&cursor, event, &sample);
	if (event->sample_type & PP_PERF_SAMPLE_BRANCHES)
		r = take_branches(perf, &cursor, event, &sample, error);
	if (r == 0 && cursor.bad)
		r = bad_sample(perf, "is cut short", error);
	return r < 0 ? r : pp_recording_sample(perf->recording, &sample);
}
