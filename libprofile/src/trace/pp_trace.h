/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the files of src/trace share: an open trace, and the unpacking of a chunk.
 *
 * Locking: a trace does not change once it is open; an unpacker belongs to one thread.
 */
#ifndef PP_TRACE_H
#define PP_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "pathprof/trace.h"
#include "pathprof/trace_format.h"
#include "pp_follow.h"

struct pp_trace_module {
	uint32_t id, order; /* order: in the file */
	struct pathprof_trace_module_info info;
};

/* Addresses of one process that belong to one module; sorted, no two overlap. */
struct pp_trace_range {
	uint64_t start, end;
	uint32_t process, module; /* module: index */
};

struct pp_trace_stream {
	uint32_t id;
	size_t first_place, place_cnt; /* in pathprof_trace.words */
	struct pathprof_trace_stream_info info;
};

struct pathprof_trace {
	int fd;
	char *path;
	struct pathprof_trace_info info;

	char *command_text;
	const char **command;
	struct pathprof_trace_place *places; /* every chunk, in the order of the file */
	size_t place_cnt;
	struct pathprof_trace_place *words; /* those of words, by stream and place in it */
	size_t words_cnt;

	struct pathprof_trace_process *processes; /* sorted by id */
	size_t process_cnt, process_room;
	struct pp_trace_stream *streams; /* sorted by id */
	size_t stream_cnt, stream_room;
	struct pp_trace_module *modules; /* in the order of the file */
	size_t module_cnt, module_room;
	struct pp_trace_range *ranges;
	size_t range_cnt;
	struct pathprof_trace_handler *handlers;
	size_t handler_cnt, handler_room;
	struct pp_trace_block *blocks; /* indexed by id */
	size_t block_room;             /* ids it has room for */
};

/* Every failure of a file names it: "FILE: ...". */
#define pp_trace_bad(trace, error, format, ...)                                                    \
	pathprof_fail(error, -EBADMSG, "%s: " format, (trace)->path, ##__VA_ARGS__)
int pp_trace_no_memory(struct pathprof_error *error);

/* pread that reads all or fails; -EBADMSG beyond the end. */
int pp_trace_read_at(const struct pathprof_trace *trace, void *bytes, size_t len_bytes,
		     uint64_t offset, struct pathprof_error *error);

/* ---------------------------------------------------------------- chunks.c */

/* Room kept free before the payload: what was left of the chunk before may go there. */
#define PP_TRACE_HEAD_BYTES 32

struct pp_trace_unpacker {
	ZSTD_DCtx *context;
	uint8_t *packed, *raw;
	size_t packed_room, raw_room;
};

int pp_trace_unpacker_init(struct pp_trace_unpacker *unpacker, struct pathprof_error *error);
void pp_trace_unpacker_release(struct pp_trace_unpacker *unpacker);
/* The payload is at *ret_bytes, aligned for any word, until the next call. */
int pp_trace_unpack(const struct pathprof_trace *trace, struct pp_trace_unpacker *unpacker,
		    const struct pathprof_trace_place *place, uint8_t **ret_bytes,
		    struct pathprof_error *error);

/* Finds every chunk: by the index, or from one to the next when there is none. */
int pp_trace_find_chunks(struct pathprof_trace *trace, struct pp_trace_unpacker *unpacker,
			 struct pathprof_error *error);

/* ---------------------------------------------------------------- definitions.c, ranges.c */

/* Loads everything but words, and checks what refers to what. */
int pp_trace_load_definitions(struct pathprof_trace *trace, struct pp_trace_unpacker *unpacker,
			      struct pathprof_error *error);
/* Orders the chunks of words by stream; checks that none is missing in between. */
int pp_trace_sort_words(struct pathprof_trace *trace, struct pathprof_error *error);
const struct pathprof_trace_process *pp_trace_process(const struct pathprof_trace *trace,
						      uint32_t id);
int pp_trace_build_ranges(struct pathprof_trace *trace, struct pathprof_error *error);

#endif
