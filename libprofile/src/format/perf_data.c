// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * perf.data, as a file or as a pipe: takes record after record, has those of the kernel put in
 * order and handed on, and reads what perf itself put between them.
 *
 * Workload: hundreds of MB of samples with branch stacks, read once. Memory: a MB of input, 10 MB
 * of records that wait for their order, 9 MB to decompress, tables of ids and names.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/session.c.
 */
#include "pp_event_basis.h"
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define UPDATE_NAME 2

/* ---------------------------------------------------------------- in the order of time */

int pp_perf_deliver_record(void *context, const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf *perf = context;
	uint64_t time_ns = 0;
	const struct pp_perf_event *event = pp_perf_events_of(&perf->events, record, &time_ns);
	int r;

	if (!event) {
		perf->recording->stats.unknown++;
		return 0;
	}
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
	/* If mappings have no time, samples must keep their place between them, as in perf. */
	if (!event || !time_ns || !pp_perf_trailer_bytes(event))
		return pp_perf_deliver_record(perf, record, error);
	if (time_ns > perf->file->newest_ns)
		perf->file->newest_ns = time_ns;
	r = pp_perf_order_put(&perf->order, time_ns, record, perf->record_at);
	if (r == -ENOBUFS) {
		r = pp_perf_order_half(&perf->order, pp_perf_deliver_record, perf, error);
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
		/* Files of a directory have no rounds: theirs is the order of their CPU. */
		if (perf->parts.cnt)
			return 0;
		return pp_perf_order_round(&perf->order, pp_perf_deliver_record, perf, error);
	case PP_PERF_COMPRESSED:
	case PP_PERF_COMPRESSED2:
		return pp_perf_unpack_record(perf, record, error);
	case PP_PERF_AUXTRACE:
		perf->traced = true;
		return 0;
	case PP_PERF_EVENT_TYPE:
	case PP_PERF_TRACING_DATA:
	case PP_PERF_ID_INDEX:
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

int pp_perf_failed(struct pp_perf *perf, int r, struct pathprof_error *error)
{
	return pathprof_fail(error, r, "%s: %s", perf->recording->name, strerror(-r));
}

/* The bytes that follow a record and do not count in its size. */
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

/* A record that the file's room does not hold, by itself. */
static int read_long(struct pp_perf *perf, size_t size, size_t *ret_got)
{
	if (!perf->long_record)
		perf->long_record = malloc(PP_PERF_RECORD_MAX);
	if (!perf->long_record)
		return -ENOMEM;
	return pp_perf_input_copy(&perf->file->input, perf->long_record, size, ret_got);
}

/* All of the next record in memory, or NULL: there is none, or only a part. */
static int next_record(struct pp_perf *perf, const uint8_t **ret_record,
		       struct pathprof_error *error)
{
	struct pp_perf_input *input = &perf->file->input;
	uint64_t end = perf->file->data_end, left = end > input->offset ? end - input->offset : 0;
	size_t got, size;
	int r;

	*ret_record = NULL;
	if (!left)
		return 0;
	r = pp_perf_input_want(input, PP_PERF_HEADER_BYTES, &got);
	if (r < 0)
		return pp_perf_failed(perf, r, error);
	if (got < PP_PERF_HEADER_BYTES) {
		perf->recording->stats.truncated |= got || end != UINT64_MAX;
		return 0;
	}
	size = pp_perf_size(pp_perf_input_bytes(input));
	if (size < PP_PERF_HEADER_BYTES || size > left)
		return pp_recording_bad(perf->recording, error, "at %llu: a record of %zu bytes",
					(unsigned long long)input->offset, size);
	if (size > input->room)
		r = read_long(perf, size, &got);
	else
		r = pp_perf_input_want(input, size, &got);
	if (r < 0)
		return pp_perf_failed(perf, r, error);
	if (got < size)
		perf->recording->stats.truncated = true;
	else
		*ret_record = size > input->room ? perf->long_record : pp_perf_input_bytes(input);
	return 0;
}

int pp_perf_next(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_input *input = &perf->file->input;
	const uint8_t *record;
	uint64_t payload = 0;
	bool whole = true;
	int r = next_record(perf, &record, error);

	if (r < 0 || !record)
		return r;
	perf->recording->stats.records++;
	perf->record_at = perf->file == &perf->main ? input->offset : PP_PERF_NOT_IN_FILE;
	r = payload_bytes(perf, record, &payload, error);
	if (r == 0)
		r = pp_perf_record(perf, record, error);
	if (r < 0)
		return r;
	if (record == perf->long_record)
		r = pp_perf_input_skip(input, pp_perf_size(record), &whole);
	else
		pp_perf_input_consume(input, pp_perf_size(record));
	if (r == 0 && payload)
		r = pp_perf_input_skip(input, payload, &whole);
	if (r < 0)
		return pp_perf_failed(perf, r, error);
	perf->recording->stats.truncated |= !whole;
	return whole;
}

static int finish(struct pp_perf *perf, struct pathprof_error *error)
{
	int r = pp_perf_order_all(&perf->order, pp_perf_deliver_record, perf, error);

	if (perf->main.unpack.rest_cnt)
		perf->recording->stats.truncated = true;
	if (r == 0 && !perf->recording->stats.truncated)
		r = pp_perf_read_features(perf, error);
	if (r == 0 && perf->traced && !perf->recording->stats.samples)
		return pathprof_fail(error, -EPROTO,
				     "%s: holds what a processor traced (Intel PT, CoreSight) and "
				     "no samples: decode it first (perf inject --itrace=i100usle "
				     "--strip -i %s -o OUT) and read OUT",
				     perf->recording->name, perf->recording->name);
	return r;
}

/* 0: the end of the file with the header. */
static int read_main(struct pp_perf *perf, struct pathprof_error *error)
{
	uint64_t from = perf->main.input.offset;
	int r = 1;

	perf->file = &perf->main;
	while (r > 0 && perf->main.input.offset - from < PP_PERF_BYTES_A_READ)
		r = pp_perf_next(perf, error);
	return r;
}

static int read_some(struct pathprof_recording *recording, struct pathprof_error *error)
{
	struct pp_perf *perf = recording->reader;
	int r = perf->main_read ? 0 : read_main(perf, error);

	if (r == 0) {
		perf->main_read = true;
		r = pp_perf_parts_read(perf, error);
	}
	if (r == 0)
		r = finish(perf, error);
	recording->stats.bytes = perf->main.input.offset + perf->parts.done_bytes;
	if (r == 0 && recording->stats.bytes_total && !recording->stats.truncated)
		recording->stats.bytes = recording->stats.bytes_total;
	return r;
}

/* ---------------------------------------------------------------- operations */

static bool is_directory(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

static int open_files(struct pp_perf *perf, struct pathprof_error *error)
{
	int fd = perf->recording->fd, r = 0;

	if (is_directory(fd)) {
		r = pp_perf_parts_open_main(perf, error);
		if (r < 0)
			return r;
		fd = perf->parts.main_fd;
	}
	r = pp_perf_input_init(&perf->main.input, fd, PP_PERF_INPUT_BYTES);
	if (r < 0)
		return pp_perf_failed(perf, r, error);
	perf->order.fd = perf->main.input.seekable ? fd : -1;
	return 0;
}

static int open_data(struct pathprof_recording *recording, struct pathprof_error *error)
{
	struct pp_perf *perf = calloc(1, sizeof(*perf));
	int r;

	if (!perf)
		return pp_recording_no_memory(error);
	recording->reader = perf;
	perf->recording = recording;
	perf->file = &perf->main;
	perf->parts.main_fd = -1;
	perf->told.realtime_offset_ns = INT64_MIN;
	r = open_files(perf, error);
	if (r == 0)
		r = pp_perf_read_header(perf, error);
	if (r == 0 && perf->parts.main_fd >= 0)
		r = pp_perf_parts_open(perf, error);
	return r;
}

static void free_data(struct pathprof_recording *recording)
{
	struct pp_perf *perf = recording->reader;

	if (!perf)
		return;
	pp_perf_parts_release(&perf->parts);
	pp_perf_input_release(&perf->main.input);
	pp_perf_unpack_release(&perf->main.unpack);
	pp_perf_events_release(&perf->events);
	pp_perf_told_release(&perf->told);
	pp_perf_order_release(&perf->order);
	free(perf->unpacked);
	free(perf->long_record);
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
		.last_ns = told->last_ns,
		.event_cnt = perf->events.cnt,
	};
}

static const char *event_name(const struct pathprof_recording *recording, uint32_t event)
{
	const struct pp_perf *perf = recording->reader;

	return event < perf->events.cnt ? perf->events.events[event].name : NULL;
}

static enum pathprof_basis event_basis(const struct pathprof_recording *recording, uint32_t event)
{
	const struct pp_perf *perf = recording->reader;
	const struct pp_perf_event *e = &perf->events.events[event];

	return pp_event_basis(e->type, e->config, perf->told.arch, e->name);
}

static bool build_id(const struct pathprof_recording *recording, const char *name,
		     struct pathprof_build_id *ret_id)
{
	const struct pp_perf *perf = recording->reader;

	return pp_perf_told_build_id(&perf->told, name, ret_id);
}

const struct pp_recording_ops pp_perf_data_ops = {
	.open = open_data,
	.read = read_some,
	.free = free_data,
	.info = tell,
	.event = event_name,
	.event_basis = event_basis,
	.build_id = build_id,
};
