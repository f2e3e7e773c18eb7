// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that claims to be a trace. It is read as it is. Since damage would mostly end at a
 * checksum, the same bytes are also read as the payloads of a sound file: the first byte says
 * which, then come chunks of a type, a length and so many bytes.
 *
 * Beyond "no crash": batches are as large as asked for at most, events are of a known type, a
 * failure says why.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "fuzz.h"
#include "pathprof/trace.h"
#include "pathprof/trace_format.h"

#define BATCH      7
#define EVENTS_MAX 20000

static void put(int fd, const void *bytes, size_t len_bytes)
{
	REQUIRE(write(fd, bytes, len_bytes) == (ssize_t)len_bytes);
}

static void put_chunk(int fd, uint32_t type, uint64_t *word_cnt, const uint8_t *data, size_t len)
{
	struct pathprof_trace_chunk chunk = {.type = type, .raw_bytes = (uint32_t)len};
	uint8_t packed[1024];
	size_t packed_bytes = ZSTD_compress(packed, sizeof(packed), data, len, 1);

	REQUIRE(!ZSTD_isError(packed_bytes));
	if (type == PATHPROF_TRACE_WORDS) {
		chunk.first_word = *word_cnt;
		*word_cnt += len / 4;
	}
	chunk.packed_bytes = (uint32_t)packed_bytes;
	put(fd, &chunk, sizeof(chunk));
	put(fd, packed, packed_bytes);
}

/* A sound header and chunks whose payloads are the input's. */
static void put_payloads(int fd, const uint8_t *data, size_t size)
{
	static const struct pathprof_trace_process process;
	static const struct pathprof_trace_stream stream;
	const struct pathprof_trace_header header = {.magic = PATHPROF_TRACE_MAGIC,
						     .version = PATHPROF_TRACE_VERSION};
	uint64_t word_cnt = 0;

	put(fd, &header, sizeof(header));
	put_chunk(fd, PATHPROF_TRACE_PROCESSES, &word_cnt, (const uint8_t *)&process,
		  sizeof(process));
	put_chunk(fd, PATHPROF_TRACE_STREAMS, &word_cnt, (const uint8_t *)&stream, sizeof(stream));
	while (size > 2) {
		uint32_t type = 1 + data[0] % PATHPROF_TRACE_WORDS;
		size_t len = data[1];

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		put_chunk(fd, type, &word_cnt, data, len);
		data += len;
		size -= len;
	}
}

static void read_stream(const struct pathprof_trace *trace, uint32_t stream)
{
	struct pathprof_trace_event events[BATCH];
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error = {""};
	size_t cnt = 0;
	ssize_t got;

	REQUIRE(pathprof_trace_cursor_new(&cursor, trace, stream, &error) == 0);
	while ((got = pathprof_trace_read(cursor, events, BATCH, &error)) > 0 && cnt < EVENTS_MAX) {
		REQUIRE(got <= BATCH);
		for (ssize_t i = 0; i < got; i++)
			REQUIRE(events[i].type >= PATHPROF_TRACE_EVENT_BRANCH &&
				events[i].type <= PATHPROF_TRACE_EVENT_JUMP);
		cnt += (size_t)got;
	}
	REQUIRE(got >= 0 || error.text[0]);
	pathprof_trace_cursor_free(cursor);
}

static void read_trace(const char *name)
{
	struct pathprof_error error = {""};
	const struct pathprof_trace_info *info;
	struct pathprof_trace *trace;

	if (pathprof_trace_open(&trace, name, &error) < 0) {
		REQUIRE(error.text[0]);
		return;
	}
	info = pathprof_trace_info(trace);
	REQUIRE(info->command != NULL);
	for (uint32_t i = 0; i < info->module_cnt; i++) {
		const struct pathprof_trace_module_info *m = pathprof_trace_module(trace, i), *at;

		REQUIRE(m->start < m->end && m->name);
		/* Something lies there: this one, or a later one. */
		at = pathprof_trace_locate(trace, m->process, m->start);
		REQUIRE(at && at->process == m->process && at->start <= m->start);
	}
	for (uint32_t i = 0; i < info->stream_cnt && i < 4; i++)
		read_stream(trace, i);
	pathprof_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	char name[64];

	REQUIRE(fd >= 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (size && data[0] & 1)
		put_payloads(fd, data + 1, size - 1);
	else if (size)
		put(fd, data + 1, size - 1);
	read_trace(name);
	close(fd);
	return 0;
}
