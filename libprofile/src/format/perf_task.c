// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records of processes: mappings, names, forks and ends. Workload: some thousand records in a file
 * of millions of samples. Source: include/uapi/linux/perf_event.h.
 */
#include "pp_perf.h"

#include <errno.h>
#include <sys/mman.h>

/* The record without header and trailer. */
static struct pp_perf_cursor body(const struct pp_perf_event *event, const uint8_t *record)
{
	size_t size = pp_perf_size(record) - PP_PERF_HEADER_BYTES;
	size_t trailer = pp_perf_trailer_bytes(event);
	struct pp_perf_cursor cursor = {.at = record + PP_PERF_HEADER_BYTES};

	cursor.bad = size < trailer;
	cursor.end = cursor.at + (cursor.bad ? 0 : size - trailer);
	return cursor;
}

/* All that is left. */
static const char *take_text(struct pp_perf_cursor *cursor)
{
	const char *text =
		cursor->bad ? NULL : pp_perf_text(cursor->at, (size_t)pp_perf_left(cursor));

	if (!text)
		cursor->bad = true;
	return text;
}

static int bad_record(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	return pp_recording_bad(perf->recording, error,
				"near %llu: a record of type %u and %u bytes is too short",
				(unsigned long long)perf->file->input.offset, pp_perf_type(record),
				pp_perf_size(record));
}

/* ---------------------------------------------------------------- mappings */

/*
 * The flag alone does not tell a build-id from device and inode: kernels (up to 6.18 at least)
 * leave it set for every listener once one of them, another profiler maybe, asked for build-ids.
 * Where no event of this recording asked, perf inject may still have put ids in: those are of usual
 * length.
 */
static bool is_build_id(const struct pp_perf *perf, uint16_t misc, const uint8_t *identity)
{
	uint8_t len = identity[0];

	if (!(misc & PP_PERF_MISC_MMAP_BUILD_ID) || !len || len > PATHPROF_BUILD_ID_MAX)
		return false;
	if (identity[1] || identity[2] || identity[3])
		return false;
	return perf->events.asks_build_ids || len == 16 || len == 20;
}

/* Build-id, or device and inode, which say nothing to us; protection; flags. */
static void take_mmap2(const struct pp_perf *perf, struct pp_perf_cursor *cursor, uint16_t misc,
		       struct pathprof_recorded_mapping *mapping)
{
	const uint8_t *identity = pp_perf_take(cursor, 24);

	if (cursor->bad)
		return;
	if (is_build_id(perf, misc, identity)) {
		mapping->id.kind = PATHPROF_ID_BUILD_ID;
		mapping->id.len_bytes = identity[0];
		memcpy(mapping->id.bytes, identity + 4, identity[0]);
	}
	mapping->executable = pp_perf_take_u32(cursor) & PROT_EXEC;
	pp_perf_take_u32(cursor);
}

static int take_mmap(struct pp_perf *perf, const struct pp_perf_event *event, uint64_t time_ns,
		     const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf_cursor cursor = body(event, record);
	uint16_t misc = pp_perf_misc(record), mode = misc & PP_PERF_MISC_MODE;
	struct pathprof_recorded_mapping mapping = {.time_ns = time_ns};
	uint64_t len;

	mapping.pid = pp_perf_take_u32(&cursor);
	pp_perf_take_u32(&cursor);
	mapping.start = pp_perf_take_u64(&cursor);
	len = pp_perf_take_u64(&cursor);
	mapping.offset = pp_perf_take_u64(&cursor);
	mapping.executable = !(misc & PP_PERF_MISC_MMAP_DATA);
	if (pp_perf_type(record) == PP_PERF_MMAP2)
		take_mmap2(perf, &cursor, misc, &mapping);
	mapping.name = take_text(&cursor);
	if (cursor.bad)
		return bad_record(perf, record, error);
	/* The kernel up to the last address is told by a length that runs over. */
	mapping.end = len > UINT64_MAX - mapping.start ? UINT64_MAX : mapping.start + len;
	if (mode == PP_PERF_MODE_GUEST_KERNEL || mode == PP_PERF_MODE_GUEST_USER || !len) {
		perf->recording->stats.unknown++;
		return 0;
	}
	/* perf makes these up, and leaves their protection empty. */
	if (mode == PP_PERF_MODE_KERNEL) {
		mapping.pid = PATHPROF_RECORDED_KERNEL;
		mapping.executable = true;
	}
	if (mapping.id.kind == PATHPROF_ID_NONE)
		pp_perf_told_build_id(&perf->told, mapping.name, &mapping.id);
	return pp_recording_mapping(perf->recording, &mapping);
}

/* ---------------------------------------------------------------- processes */

/* Takes the name of a process, which is that of its first thread. */
static int take_comm(struct pp_perf *perf, const struct pp_perf_event *event, uint64_t time_ns,
		     const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf_cursor cursor = body(event, record);
	struct pathprof_recorded_process process = {.time_ns = time_ns};
	uint32_t tid;

	process.pid = pp_perf_take_u32(&cursor);
	tid = pp_perf_take_u32(&cursor);
	process.comm = take_text(&cursor);
	process.change = pp_perf_misc(record) & PP_PERF_MISC_COMM_EXEC ? PATHPROF_RECORDED_EXEC
								       : PATHPROF_RECORDED_COMM;
	if (cursor.bad)
		return bad_record(perf, record, error);
	return tid == process.pid ? pp_recording_process(perf->recording, &process) : 0;
}

/*
 * FORK and EXIT. A fork that perf made up for a process that ran already has its own mappings
 * told: it takes over none.
 */
static int take_fork(struct pp_perf *perf, const struct pp_perf_event *event, uint64_t time_ns,
		     const uint8_t *record, struct pathprof_error *error)
{
	bool is_exit = pp_perf_type(record) == PP_PERF_EXIT;
	struct pp_perf_cursor cursor = body(event, record);
	struct pathprof_recorded_process process = {.time_ns = time_ns};
	uint32_t tid;

	process.pid = pp_perf_take_u32(&cursor);
	process.parent = pp_perf_take_u32(&cursor);
	tid = pp_perf_take_u32(&cursor);
	pp_perf_take_u32(&cursor);
	/* The one record that tells the time where no trailer does. */
	if (!pp_perf_trailer_bytes(event) && pp_perf_left(&cursor) >= 8)
		process.time_ns = pp_perf_told_time(pp_perf_take_u64(&cursor));
	process.change = is_exit ? PATHPROF_RECORDED_EXIT : PATHPROF_RECORDED_FORK;
	if (cursor.bad)
		return bad_record(perf, record, error);
	if (is_exit ? tid != process.pid : process.pid == process.parent)
		return 0;
	if (!is_exit && pp_perf_misc(record) & PP_PERF_MISC_FORK_EXEC)
		process.parent = 0;
	return pp_recording_process(perf->recording, &process);
}

/* ---------------------------------------------------------------- losses */

/*
 * At the end perf (6.1) asks the kernel for what each event lost in all, and writes that down
 * without a time: mostly the same that LOST records told before. What a filter of the recording
 * dropped was not wanted.
 */
static int take_lost(struct pp_perf *perf, const struct pp_perf_event *event, uint64_t time_ns,
		     const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf_cursor cursor = body(event, record);
	bool samples = pp_perf_type(record) == PP_PERF_LOST_SAMPLES;
	struct pp_perf_lost *lost = &perf->lost;
	uint64_t cnt;

	if (!samples)
		pp_perf_take_u64(&cursor);
	cnt = pp_perf_take_u64(&cursor);
	if (cursor.bad)
		return bad_record(perf, record, error);
	if (pp_perf_misc(record) & PP_PERF_MISC_LOST_BY_FILTER)
		return 0;
	if (!samples)
		lost->in_buffers += cnt;
	else if (!time_ns && event->read_format & PP_PERF_READ_LOST)
		lost->in_all += cnt;
	else
		lost->in_hardware += cnt;
	perf->recording->stats.lost =
		lost->in_hardware +
		(lost->in_all > lost->in_buffers ? lost->in_all : lost->in_buffers);
	return 0;
}

int pp_perf_task(struct pp_perf *perf, const struct pp_perf_event *event, uint64_t time_ns,
		 const uint8_t *record, struct pathprof_error *error)
{
	switch (pp_perf_type(record)) {
	case PP_PERF_MMAP:
	case PP_PERF_MMAP2:
		return take_mmap(perf, event, time_ns, record, error);
	case PP_PERF_COMM:
		return take_comm(perf, event, time_ns, record, error);
	case PP_PERF_FORK:
	case PP_PERF_EXIT:
		return take_fork(perf, event, time_ns, record, error);
	case PP_PERF_LOST:
	case PP_PERF_LOST_SAMPLES:
		return take_lost(perf, event, time_ns, record, error);
	}
	perf->recording->stats.unknown++;
	return 0;
}
