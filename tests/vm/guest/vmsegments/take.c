// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes the records that come and checks each by the interface's rules for its type: windows are
 * kept, and the module's output for them is written down line by line.
 *
 * Workload: some thousand records. Complaints are counted by the reader.
 */
#include "vmsegments.h"

void keep_drain(struct check *check)
{
	struct pathprof_record drain = {.size_bytes = sizeof(drain),
					.type = PATHPROF_RECORD_CONTEXT};

	kept_add(&check->kept, check->reader, &drain);
}

static void take_window(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_lbr *lbr = (const void *)(record + 1);
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);

	for (uint32_t i = 0; i < lbr->branch_cnt; i++)
		check->cuts += !!(entries[i].to & PATHPROF_LBR_CUT);
	kept_add(&check->kept, check->reader, record);
	check->windows++;
}

static void take_define(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_segment *segment = (const void *)(record + 1);
	struct twin *twin = &check->twins[record->cpu];

	if (segment->pad || segment->branch_cnt != PP_DESC_LENGTH(segment->desc) ||
	    record->size_bytes != sizeof(*record) + sizeof(*segment) +
					  segment->branch_cnt * sizeof(struct pathprof_lbr_entry)) {
		reader_complain(check->reader, "shape of a DEFINE", segment->branch_cnt);
		return;
	}
	keys_add(&twin->seen_defined, segment->start, segment->desc);
	line_add(&twin->seen, PATHPROF_RECORD_DEFINE, segment->start, segment->desc,
		 digest((const void *)(segment + 1), segment->branch_cnt));
}

/* Nothing is counted that the ring has not defined before. */
static void take_paths(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_path_record *paths = (const void *)(record + 1);
	size_t cnt = (record->size_bytes - sizeof(*record)) / sizeof(*paths);
	struct twin *twin = &check->twins[record->cpu];

	if (!cnt || record->size_bytes != sizeof(*record) + cnt * sizeof(*paths))
		reader_complain(check->reader, "size of a PATH", record->size_bytes);
	for (size_t i = 0; i < cnt; i++) {
		if (keys_add(&twin->seen_defined, paths[i].start, paths[i].desc))
			reader_complain(check->reader, "PATH without a DEFINE", paths[i].start);
		check->path_sum += paths[i].count;
	}
	line_add_record(&twin->seen, record);
}

void take(void *context, const struct pathprof_record *record)
{
	const struct pathprof_context *named = (const void *)(record + 1);
	struct check *check = context;

	check->bytes[record->type] += record->size_bytes;
	check->records[record->type]++;
	switch (record->type) {
	case PATHPROF_RECORD_LBR:
		take_window(check, record);
		break;
	case PATHPROF_RECORD_CONTEXT:
		check->contexts++;
		if (named->context != 1 || strcmp((const char *)named->comm, "vmsegments") != 0)
			reader_complain(check->reader, "context", named->context);
		break;
	case PATHPROF_RECORD_PATH:
		take_paths(check, record);
		break;
	case PATHPROF_RECORD_TUPLE:
		line_add_record(&check->twins[record->cpu].seen, record);
		break;
	case PATHPROF_RECORD_DEFINE:
		take_define(check, record);
		break;
	default:
		reader_complain(check->reader, "unexpected record", record->type);
	}
}
