// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A text that claims to be a recording; the first byte says of which format.
 *
 * Beyond "no crash": what is handed on is within bounds and adds up to the statistics, a failure
 * names file and line, the same text in pieces reads as it does whole, and no reading takes long.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "pathprof/recording.h"

static const enum pathprof_format formats[] = {
	PATHPROF_FORMAT_PERF_SCRIPT, PATHPROF_FORMAT_PROFGEN_PERFSCRIPT,
	PATHPROF_FORMAT_PROFGEN_RAW, PATHPROF_FORMAT_BOLT_PREAGG,
	PATHPROF_FORMAT_BOLT_FDATA,  PATHPROF_FORMAT_AUTOFDO_TEXT,
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* A pipe takes so many pieces without a reader, each of a page at most. */
#define PIECES     14
#define PIPE_BYTES (PIECES * 4096)

struct reading {
	uint64_t samples, branches, mappings, counts;
	uint64_t digest; /* of all that was handed on */
	int result;
	bool refused;
	struct pathprof_error error;
};

static void mix(struct reading *r, uint64_t value)
{
	r->digest = (r->digest ^ value) * 0x100000001b3u;
}

static void mix_string(struct reading *r, const char *string)
{
	for (; string && *string; string++)
		mix(r, (uint8_t)*string);
	mix(r, string != NULL);
}

static int take_mapping(void *context, const struct pathprof_recorded_mapping *mapping)
{
	struct reading *r = context;

	REQUIRE(mapping->end >= mapping->start && mapping->name[0]);
	r->mappings++;
	mix(r, mapping->start);
	mix(r, mapping->end);
	mix(r, mapping->offset);
	mix_string(r, mapping->name);
	return 0;
}

static int take_process(void *context, const struct pathprof_recorded_process *process)
{
	struct reading *r = context;

	REQUIRE(process->change >= PATHPROF_RECORDED_COMM &&
		process->change <= PATHPROF_RECORDED_EXIT);
	mix(r, process->pid);
	mix_string(r, process->comm);
	return 0;
}

static int take_sample(void *context, const struct pathprof_recorded_sample *sample)
{
	struct reading *r = context;

	REQUIRE(sample->branch_cnt <= PATHPROF_RECORDED_BRANCHES_MAX);
	REQUIRE(sample->hw_idx == -1 && sample->event < 256);
	r->samples++;
	r->branches += sample->branch_cnt;
	mix(r, sample->ip);
	mix(r, sample->time_ns);
	mix(r, sample->repeats);
	for (uint32_t i = 0; i < sample->branch_cnt; i++) {
		const struct pathprof_recorded_branch *b = &sample->branches[i];

		REQUIRE(b->kind < 16 && b->new_kind < 16 && b->spec < 4);
		mix(r, b->from);
		mix(r, b->to);
		mix(r, b->flags);
	}
	return 0;
}

static void take_place(struct reading *r, const struct pathprof_recorded_place *place)
{
	REQUIRE(place->id.len_bytes <= PATHPROF_BUILD_ID_MAX);
	mix(r, place->address);
	mix_string(r, place->symbol);
}

static int take_count(void *context, const struct pathprof_recorded_count *count)
{
	struct reading *r = context;

	REQUIRE(count->kind >= PATHPROF_RECORDED_BRANCH &&
		count->kind <= PATHPROF_RECORDED_ADDRESS);
	r->counts++;
	take_place(r, &count->from);
	take_place(r, &count->to);
	take_place(r, &count->end);
	mix(r, count->count);
	return 0;
}

static void check_stats(const struct reading *r, const struct pathprof_recording *recording,
			size_t size)
{
	struct pathprof_recording_info info;
	struct pathprof_recording_stats stats;

	pathprof_recording_stats(recording, &stats);
	REQUIRE(stats.bytes <= size && stats.records <= size);
	REQUIRE(stats.samples == r->samples && stats.branches == r->branches);
	REQUIRE(stats.mappings == r->mappings && stats.counts == r->counts);
	REQUIRE(r->result < 0 || stats.truncated || stats.bytes == size);
	pathprof_recording_info(recording, &info);
	for (uint32_t i = 0; i < info.event_cnt; i++)
		REQUIRE(pathprof_recording_event(recording, i)[0]);
}

static void read_fd(struct reading *r, enum pathprof_format format, int fd, size_t size)
{
	const struct pathprof_recording_sink sink = {r, take_mapping, take_process, take_sample,
						     take_count};
	struct pathprof_recording *recording;

	*r = (struct reading){.digest = 0xcbf29ce484222325u};
	r->result = pathprof_recording_open(&recording, format, fd, "T", &sink, &r->error);
	r->refused = r->result == -EPROTO; /* a file of a kind that is known, and not read */
	REQUIRE(r->result == 0 || r->refused);
	if (r->refused)
		return;
	do
		r->result = pathprof_recording_read(recording, &r->error);
	while (r->result > 0);
	REQUIRE(r->result == 0 || r->result == -EBADMSG || r->result == -EPROTO);
	REQUIRE(r->result == 0 || strncmp(r->error.text, "T:", 2) == 0);
	check_stats(r, recording, size);
	pathprof_recording_free(recording);
}

/* Unpacked into a file first, of any size; a pipe is not. */
static bool is_packed(const uint8_t *data, size_t size)
{
	return size >= 4 && (!memcmp(data, "\x1f\x8b", 2) || !memcmp(data, "\x28\xb5\x2f\xfd", 4));
}

/* -EFBIG: it would take more memory than we give it. */
static void read_packed(enum pathprof_format format, int fd)
{
	struct reading r = {.digest = 0};
	const struct pathprof_recording_sink sink = {&r, take_mapping, take_process, take_sample,
						     take_count};
	struct pathprof_recording *recording;

	r.result = pathprof_recording_open(&recording, format, fd, "T", &sink, &r.error);
	REQUIRE(r.result == 0 || r.result == -EBADMSG || r.result == -EFBIG);
	REQUIRE(r.result == 0 || !strncmp(r.error.text, "T:", 2));
	if (r.result < 0)
		return;
	while (pathprof_recording_read(recording, &r.error) > 0)
		;
	pathprof_recording_free(recording);
}

/* The same through a pipe in packet mode, which hands out a piece a read. */
static void read_pipe(const struct reading *whole, enum pathprof_format format, const uint8_t *data,
		      size_t size)
{
	size_t step = size / PIECES + 1;
	struct reading r;
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC | O_DIRECT) == 0);
	for (size_t done = 0; done < size; done += step) {
		size_t part = size - done < step ? size - done : step;

		REQUIRE(write(ends[1], data + done, part) == (ssize_t)part);
	}
	close(ends[1]);
	read_fd(&r, format, ends[0], size);
	close(ends[0]);
	REQUIRE(r.result == whole->result && r.digest == whole->digest);
	REQUIRE(strcmp(r.error.text, whole->error.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum pathprof_format format;
	struct reading whole;
	int fd;

	if (!size)
		return 0;
	format = formats[data[0] % FORMATS];
	data++;
	size--;
	fd = memfd_create("text", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	if (is_packed(data, size)) {
		read_packed(format, fd);
		close(fd);
		return 0;
	}
	read_fd(&whole, format, fd, size);
	close(fd);
	if (size <= PIPE_BYTES && !whole.refused)
		read_pipe(&whole, format, data, size);
	return 0;
}
