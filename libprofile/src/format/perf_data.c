// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * perf.data, as a file or as a pipe: takes record after record, has those of the kernel put in
 * order and handed on, and reads what perf itself put between them.
 *
 * Workload: hundreds of MB of samples with branch stacks, read once. Memory: a MB of input, 12 MB
 * of records that wait for their order, 9 MB to decompress, tables of ids and names.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/session.c.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>

#define BYTES_A_READ (1u << 20)
#define UPDATE_NAME  2

/* ---------------------------------------------------------------- in the order of time */

static int deliver(void *context, const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf *perf = context;
	uint64_t time_ns = 0;
	const struct pp_perf_event *event = pp_perf_events_of(&perf->events, record, &time_ns);
	int r;

	if (!event) {
		perf->recording->stats.unknown++;
		return 0;
	}
	if (time_ns == UINT64_MAX)
		time_ns = 0;
	if (pp_perf_type(record) == PP_PERF_SAMPLE)
		r = pp_perf_sample(perf, event, record, error);
	else
		r = pp_perf_task(perf, event, time_ns, record, error);
	perf->recording->stats.reordered = perf->order.late_cnt;
	return r;
}

static int put_in_order(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	const struct pp_perf_event *event;
	uint64_t time_ns = 0;
	int r;

	if (!perf->events.cnt)
		return pp_recording_bad(perf->recording, error, "a record before any event");
	if (perf->events.undecided)
		return pp_recording_bad(perf->recording, error,
					"it has several events, but its records do not say whose "
					"they are");
	event = pp_perf_events_of(&perf->events, record, &time_ns);
	/* Where mappings have no time, samples must stay between them, as perf has it. */
	if (!event || !time_ns || time_ns == UINT64_MAX || !pp_perf_trailer_bytes(event))
		return deliver(perf, record, error);
	r = pp_perf_order_put(&perf->order, time_ns, record, perf->record_at);
	if (r == -ENOBUFS) {
		r = pp_perf_order_half(&perf->order, deliver, perf, error);
		if (r == 0)
			r = pp_perf_order_put(&perf->order, time_ns, record, perf->record_at);
		else
			return r;
	}
	return r < 0 ? pp_recording_no_memory(error) : 0;
}

/* ---------------------------------------------------------------- what perf put in between */

static int too_short(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	return pp_recording_bad(perf->recording, error, "a record of type %u has only %u bytes",
				pp_perf_type(record), pp_perf_size(record));
}

static int add_event(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	size_t len = pp_perf_size(record) - PP_PERF_HEADER_BYTES, attr_bytes;
	const uint8_t *attr = record + PP_PERF_HEADER_BYTES;
	uint32_t event = 0;
	int r = pp_perf_events_add(perf->recording, &perf->events, attr, len, &event, error);

	if (r < 0)
		return r;
	attr_bytes = pp_perf_u32(attr + 4) ? pp_perf_u32(attr + 4) : 64;
	return pp_perf_events_add_ids(perf->recording, &perf->events, event, attr + attr_bytes,
				      (len - attr_bytes) / 8, error);
}

static int update_event(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf_cursor cursor = {.at = record + PP_PERF_HEADER_BYTES,
					.end = record + pp_perf_size(record)};
	uint64_t kind = pp_perf_take_u64(&cursor), id = pp_perf_take_u64(&cursor);
	const struct pp_perf_event *event;
	size_t len;

	if (cursor.bad)
		return too_short(perf, record, error);
	event = pp_perf_events_by_id(&perf->events, id);
	if (kind != UPDATE_NAME || !event)
		return 0;
	len = strnlen((const char *)cursor.at, (size_t)pp_perf_left(&cursor));
	if (pp_perf_events_set_name(&perf->events, (uint32_t)(event - perf->events.events),
				    (const char *)cursor.at, len) < 0)
		return pp_recording_no_memory(error);
	return 0;
}

static int add_feature(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	size_t size = pp_perf_size(record), head = PP_PERF_HEADER_BYTES + 8;

	if (size < head)
		return too_short(perf, record, error);
	return pp_perf_feature(perf, pp_perf_u64(record + PP_PERF_HEADER_BYTES), record + head,
			       size - head, error);
}

int pp_perf_record(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	uint32_t type = pp_perf_type(record);

	if (type < PP_PERF_USER)
		return put_in_order(perf, record, error);
	switch (type) {
	case PP_PERF_ATTR:
		return add_event(perf, record, error);
	case PP_PERF_EVENT_UPDATE:
		return update_event(perf, record, error);
	case PP_PERF_FEATURE:
		return add_feature(perf, record, error);
	case PP_PERF_BUILD_ID:
		return pp_perf_build_id(perf, record, error);
	case PP_PERF_FINISHED_ROUND:
		return pp_perf_order_round(&perf->order, deliver, perf, error);
	case PP_PERF_COMPRESSED:
	case PP_PERF_COMPRESSED2:
		return pp_perf_unpack_record(perf, record, error);
	case PP_PERF_EVENT_TYPE:
	case PP_PERF_TRACING_DATA:
	case PP_PERF_ID_INDEX:
	case PP_PERF_AUXTRACE:
	case PP_PERF_THREAD_MAP:
	case PP_PERF_CPU_MAP:
	case PP_PERF_TIME_CONV:
	case PP_PERF_FINISHED_INIT:
		return 0;
	}
	perf->recording->stats.unknown++;
	return 0;
}

/* ---------------------------------------------------------------- reading on */

static int failed(struct pp_perf *perf, int r, struct pathprof_error *error)
{
	return pathprof_fail(error, r, "%s: %s", perf->recording->name, strerror(-r));
}

/* What follows a record without being counted in its size. */
static int payload_bytes(struct pp_perf *perf, const uint8_t *record, uint64_t *ret_bytes,
			 struct pathprof_error *error)
{
	uint32_t type = pp_perf_type(record);
	size_t size = pp_perf_size(record);
	size_t want = type == PP_PERF_AUXTRACE ? 16 : type == PP_PERF_TRACING_DATA ? 12 : 0;

	if (size < want)
		return too_short(perf, record, error);
	*ret_bytes = type == PP_PERF_AUXTRACE       ? pp_perf_u64(record + 8)
		     : type == PP_PERF_TRACING_DATA ? pp_perf_u32(record + 8)
						    : 0;
	return 0;
}

/* All of the next record in memory, or *ret_size 0: there is none, or only a part. */
static int next_record(struct pp_perf *perf, size_t *ret_size, struct pathprof_error *error)
{
	struct pp_perf_input *input = &perf->input;
	uint64_t left = perf->data_end > input->offset ? perf->data_end - input->offset : 0;
	size_t got, size;
	int r;

	*ret_size = 0;
	if (!left)
		return 0;
	r = pp_perf_input_fill(input, PP_PERF_HEADER_BYTES, &got);
	if (r < 0)
		return failed(perf, r, error);
	if (got < PP_PERF_HEADER_BYTES) {
		perf->recording->stats.truncated |= got || !perf->is_pipe;
		return 0;
	}
	size = pp_perf_size(pp_perf_input_bytes(input));
	if (size < PP_PERF_HEADER_BYTES || size > left)
		return pp_recording_bad(perf->recording, error, "at %llu: a record of %zu bytes",
					(unsigned long long)input->offset, size);
	r = pp_perf_input_fill(input, size, &got);
	if (r < 0)
		return failed(perf, r, error);
	if (got < size)
		perf->recording->stats.truncated = true;
	else
		*ret_size = size;
	return 0;
}

/* 1: there is more. */
static int read_record(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_input *input = &perf->input;
	uint64_t payload = 0;
	bool whole = true;
	size_t size;
	int r = next_record(perf, &size, error);

	if (r < 0 || !size)
		return r;
	perf->recording->stats.records++;
	perf->record_at = input->offset;
	r = payload_bytes(perf, pp_perf_input_bytes(input), &payload, error);
	if (r == 0)
		r = pp_perf_record(perf, pp_perf_input_bytes(input), error);
	if (r < 0)
		return r;
	pp_perf_input_consume(input, size);
	if (!payload)
		return 1;
	r = pp_perf_input_skip(input, payload, &whole);
	if (r < 0)
		return failed(perf, r, error);
	perf->recording->stats.truncated |= !whole;
	return whole;
}

static int finish(struct pp_perf *perf, struct pathprof_error *error)
{
	int r = pp_perf_order_all(&perf->order, deliver, perf, error);

	if (perf->unpack.cnt)
		perf->recording->stats.truncated = true;
	if (r == 0 && !perf->recording->stats.truncated)
		r = pp_perf_read_features(perf, error);
	return r;
}

static int read_some(struct pathprof_recording *recording, struct pathprof_error *error)
{
	struct pp_perf *perf = recording->reader;
	uint64_t from = perf->input.offset;
	int r = 1;

	while (r > 0 && perf->input.offset - from < BYTES_A_READ)
		r = read_record(perf, error);
	if (r == 0)
		r = finish(perf, error);
	recording->stats.bytes = perf->input.offset;
	if (r == 0 && recording->stats.bytes_total && !recording->stats.truncated)
		recording->stats.bytes = recording->stats.bytes_total;
	return r;
}

/* ---------------------------------------------------------------- operations */

static int open_data(struct pathprof_recording *recording, struct pathprof_error *error)
{
	struct pp_perf *perf = calloc(1, sizeof(*perf));
	int r;

	if (!perf)
		return pp_recording_no_memory(error);
	recording->reader = perf;
	perf->recording = recording;
	perf->told.realtime_offset_ns = INT64_MIN;
	r = pp_perf_input_init(&perf->input, recording->fd);
	if (r < 0)
		return failed(perf, r, error);
	perf->order.fd = perf->input.seekable ? recording->fd : -1;
	return pp_perf_read_header(perf, error);
}

static void free_data(struct pathprof_recording *recording)
{
	struct pp_perf *perf = recording->reader;

	if (!perf)
		return;
	pp_perf_input_release(&perf->input);
	pp_perf_events_release(&perf->events);
	pp_perf_told_release(&perf->told);
	pp_perf_unpack_release(&perf->unpack);
	pp_perf_order_release(&perf->order);
	free(perf);
}

static void tell(const struct pathprof_recording *recording,
		 struct pathprof_recording_info *ret_info)
{
	const struct pp_perf *perf = recording->reader;
	const struct pp_perf_told *told = &perf->told;

	*ret_info = (struct pathprof_recording_info){
		.hostname = told->hostname,
		.arch = told->arch,
		.release = told->release,
		.cpu = told->cpu,
		.command = told->command,
		.realtime_offset_ns = perf->events.is_realtime ? 0 : told->realtime_offset_ns,
		.event_cnt = perf->events.cnt,
	};
}

static const char *event_name(const struct pathprof_recording *recording, uint32_t event)
{
	const struct pp_perf *perf = recording->reader;

	return event < perf->events.cnt ? perf->events.events[event].name : NULL;
}

static bool build_id(const struct pathprof_recording *recording, const char *name,
		     struct pathprof_build_id *ret_id)
{
	const struct pp_perf *perf = recording->reader;

	return pp_perf_told_build_id(&perf->told, name, ret_id);
}

const struct pp_recording_ops pp_perf_data_ops = {
	.format = PATHPROF_FORMAT_PERF_DATA,
	.open = open_data,
	.read = read_some,
	.free = free_data,
	.info = tell,
	.event = event_name,
	.build_id = build_id,
};
