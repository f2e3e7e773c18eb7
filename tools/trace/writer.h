/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the file of an exact trace (pathprof/trace_format.h): chunks, and at the end their index.
 *
 * Workload: chunks of 4 MiB, packed at about a gigabyte a second. Locking: none, one thread.
 * Ownership: the descriptor and the buffers are the writer's. The file is written in place: the
 * file of a killed tracer can be read up to the last whole chunk.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "pathprof/error.h"
#include "pathprof/trace_format.h"

struct trace_writer {
	int fd;
	uint64_t offset; /* bytes written */
	ZSTD_CCtx *packer;
	uint8_t *packed; /* packed_size bytes */
	size_t packed_size;
	struct pathprof_trace_place *places;
	size_t place_cnt, place_max;
};

/* Makes or empties the file. -errno, error filled. */
int trace_writer_init(struct trace_writer *writer, const char *path, uint32_t flags,
		      struct pathprof_error *error);
/* chunk: type, stream, first_word and raw_bytes are given. raw_bytes 0: nothing is written. */
int trace_writer_chunk(struct trace_writer *writer, struct pathprof_trace_chunk chunk,
		       const void *raw);
/* Writes the index and the footer, which make the file whole. */
int trace_writer_finish(struct trace_writer *writer);
void trace_writer_release(struct trace_writer *writer);

#endif
