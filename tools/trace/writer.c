// SPDX-License-Identifier: GPL-2.0-or-later
/* See writer.h. */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"

#define LEVEL 1

static int write_all(struct trace_writer *writer, const void *from, size_t len_bytes)
{
	const uint8_t *at = from;

	while (len_bytes) {
		ssize_t n = write(writer->fd, at, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len_bytes -= (size_t)n;
		writer->offset += (uint64_t)n;
	}
	return 0;
}

static int write_header(struct trace_writer *writer, uint32_t flags)
{
	struct pathprof_trace_header header = {
		.magic = PATHPROF_TRACE_MAGIC,
		.version = PATHPROF_TRACE_VERSION,
		.flags = flags,
	};

	header.time_ns = (uint64_t)pp_realtime_ns();
	return write_all(writer, &header, sizeof(header));
}

static int make_packer(struct trace_writer *writer)
{
	writer->packer = ZSTD_createCCtx();
	if (!writer->packer)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(writer->packer, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(writer->packer, ZSTD_c_checksumFlag, 1);
	return 0;
}

int trace_writer_init(struct trace_writer *writer, const char *path, uint32_t flags,
		      struct pathprof_error *error)
{
	int r;

	*writer = (struct trace_writer){.fd = -1};
	writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (writer->fd < 0)
		return pathprof_fail(error, -errno, "%s: %s", path, strerror(errno));
	r = make_packer(writer);
	if (r == 0)
		r = write_header(writer, flags);
	if (r < 0) {
		trace_writer_release(writer);
		return pathprof_fail(error, r, "%s: %s", path, strerror(-r));
	}
	return 0;
}

static int reserve_packed(struct trace_writer *writer, size_t raw_bytes)
{
	size_t want = ZSTD_compressBound(raw_bytes);

	return pp_reserve(&writer->packed, want, &writer->packed_size);
}

static int remember(struct trace_writer *writer, const struct pathprof_trace_chunk *chunk)
{
	if (pp_grow(&writer->places, writer->place_cnt, &writer->place_max) < 0)
		return -ENOMEM;
	writer->places[writer->place_cnt++] =
		(struct pathprof_trace_place){.offset = writer->offset, .chunk = *chunk};
	return 0;
}

static int pack(struct trace_writer *writer, struct pathprof_trace_chunk *chunk, const void *raw)
{
	size_t packed;
	int r = reserve_packed(writer, chunk->raw_bytes);

	if (r < 0)
		return r;
	packed = ZSTD_compress2(writer->packer, writer->packed, writer->packed_size, raw,
				chunk->raw_bytes);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	chunk->packed_bytes = (uint32_t)packed;
	return 0;
}

static int write_chunk(struct trace_writer *writer, const struct pathprof_trace_chunk *chunk)
{
	int r = write_all(writer, chunk, sizeof(*chunk));

	return r < 0 ? r : write_all(writer, writer->packed, chunk->packed_bytes);
}

int trace_writer_chunk(struct trace_writer *writer, struct pathprof_trace_chunk chunk,
		       const void *raw)
{
	int r;

	if (chunk.raw_bytes == 0)
		return 0;
	r = pack(writer, &chunk, raw);
	if (r == 0)
		r = remember(writer, &chunk);
	return r < 0 ? r : write_chunk(writer, &chunk);
}

int trace_writer_finish(struct trace_writer *writer)
{
	struct pathprof_trace_footer footer = {
		.index_offset = writer->offset,
		.magic = PATHPROF_TRACE_END,
	};
	struct pathprof_trace_chunk chunk = {
		.type = PATHPROF_TRACE_INDEX,
		.raw_bytes = (uint32_t)(writer->place_cnt * sizeof(*writer->places)),
	};
	int r = pack(writer, &chunk, writer->places);

	if (r == 0)
		r = write_chunk(writer, &chunk);
	return r < 0 ? r : write_all(writer, &footer, sizeof(footer));
}

void trace_writer_release(struct trace_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	ZSTD_freeCCtx(writer->packer);
	free(writer->packed);
	free(writer->places);
	*writer = (struct trace_writer){.fd = -1};
}
