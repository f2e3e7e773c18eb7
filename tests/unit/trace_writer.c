// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace in memory, chunk by chunk. Runs out of memory loudly: it is for tests. */
#include "trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "unit.h"

#define KIND_COND  1
#define KIND_JMP   2
#define KIND_IJMP  3
#define KIND_CALL  4
#define KIND_ICALL 5
#define KIND_RET   6

#define BLOCK(i, s, len, last, insns, ends, to)                                                    \
	{                                                                                          \
		.id = (i), .start = (s), .len_bytes = (len), .last_offset = (last),                \
		.insn_cnt = (insns), .kind = (ends), .target = (to)                                \
	}

const struct pathprof_trace_block trace_program[B_PROGRAM_END] = {
	[B_COND] = BLOCK(B_COND, 0x1000, 0x10, 0xe, 4, KIND_COND, 0x2000),
	[B_BACK] = BLOCK(B_BACK, 0x1010, 0x10, 0xb, 3, KIND_JMP, 0x1000),
	[B_CALL] = BLOCK(B_CALL, 0x2000, 0x10, 0xb, 5, KIND_CALL, 0x3000),
	[B_RET] = BLOCK(B_RET, 0x3000, 8, 7, 2, KIND_RET, 0),
	[B_ICALL] = BLOCK(B_ICALL, 0x2010, 0x10, 0xe, 3, KIND_ICALL, 0),
	[B_IJMP] = BLOCK(B_IJMP, 0x2020, 0x10, 0xe, 6, KIND_IJMP, 0),
	[B_SYSCALL] = BLOCK(B_SYSCALL, 0x4000, 0x10, 0xe, 2, PATHPROF_TRACE_ENDS_SYSCALL, 0),
	[B_PLAIN] = BLOCK(B_PLAIN, 0x4010, 0x10, 0xc, 7, PATHPROF_TRACE_ENDS_PLAIN, 0),
	[B_REP] = BLOCK(B_REP, 0x4020, 0x10, 0xe, 3, PATHPROF_TRACE_ENDS_REP, 0),
	[B_OTHER] = BLOCK(B_OTHER, 0x4030, 4, 2, 1, PATHPROF_TRACE_ENDS_OTHER, 0),
	[B_HANDLER] = BLOCK(B_HANDLER, 0x5000, 0x10, 0xf, 3, KIND_RET, 0),
	[B_RESTORER] = BLOCK(B_RESTORER, 0x5100, 9, 7, 2, PATHPROF_TRACE_ENDS_SYSCALL, 0),
	[B_COND_TAIL] = BLOCK(B_COND_TAIL, 0x1008, 8, 6, 2, KIND_COND, 0x2000),
	[B_HANDLER_2] = BLOCK(B_HANDLER_2, 0x5200, 0x10, 0xf, 1, KIND_RET, 0),
};

static void append(struct trace_writer *w, const void *bytes, size_t len_bytes)
{
	if (w->len_bytes + len_bytes > w->room) {
		w->room = 2 * (w->len_bytes + len_bytes);
		w->bytes = realloc(w->bytes, w->room);
		if (!w->bytes)
			abort();
	}
	memcpy(w->bytes + w->len_bytes, bytes, len_bytes);
	w->len_bytes += len_bytes;
}

void trace_writer_init(struct trace_writer *w)
{
	const struct pathprof_trace_header header = {.magic = PATHPROF_TRACE_MAGIC,
						     .version = PATHPROF_TRACE_VERSION,
						     .flags = PATHPROF_TRACE_HAS_LOADS,
						     .time_ns = 1000};

	*w = (struct trace_writer){0};
	append(w, &header, sizeof(header));
}

void trace_writer_release(struct trace_writer *w)
{
	free(w->bytes);
	free(w->places);
}

static void put_chunk(struct trace_writer *w, struct pathprof_trace_chunk chunk, const void *bytes)
{
	size_t bound = ZSTD_compressBound(chunk.raw_bytes), packed_bytes;
	void *packed = malloc(bound);
	ZSTD_CCtx *context = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	packed_bytes = ZSTD_compress2(context, packed, bound, bytes, chunk.raw_bytes);
	ZSTD_freeCCtx(context);
	if (!packed || ZSTD_isError(packed_bytes))
		abort();
	chunk.packed_bytes = (uint32_t)packed_bytes;
	w->places = reallocarray(w->places, w->place_cnt + 1, sizeof(*w->places));
	if (!w->places)
		abort();
	w->places[w->place_cnt++] =
		(struct pathprof_trace_place){.offset = w->len_bytes, .chunk = chunk};
	append(w, &chunk, sizeof(chunk));
	append(w, packed, packed_bytes);
	free(packed);
}

void trace_writer_chunk(struct trace_writer *w, uint32_t type, const void *bytes, size_t len_bytes)
{
	const struct pathprof_trace_chunk chunk = {.type = type, .raw_bytes = (uint32_t)len_bytes};

	put_chunk(w, chunk, bytes);
}

void trace_writer_words(struct trace_writer *w, uint32_t stream, const uint32_t *words, size_t cnt)
{
	const struct pathprof_trace_chunk chunk = {
		.type = PATHPROF_TRACE_WORDS,
		.stream = stream,
		.first_word = w->word_cnt[stream % TRACE_WRITER_STREAMS],
		.raw_bytes = (uint32_t)(cnt * sizeof(*words)),
	};

	w->word_cnt[stream % TRACE_WRITER_STREAMS] += cnt;
	put_chunk(w, chunk, words);
}

void trace_writer_program(struct trace_writer *w, uint32_t stream_cnt)
{
	static const char command[] = "made\0up";
	static const struct pathprof_trace_process process = {.pid = 77};
	static const struct pathprof_trace_handler handlers[] = {{.address = 0x5000, .signal = 14},
								 {.address = 0x5200, .signal = 10}};
	struct {
		struct pathprof_trace_module module;
		char name[8];
	} module = {{.start = 0x1000,
		     .end = 0x6000,
		     .offset = 0x200,
		     .build_id = {1, 2, 3},
		     .build_id_len = 3,
		     .name_len = 8},
		    {'/', 'b', 'i', 'n', '/', 'm', 'a', 'd'}};

	trace_writer_chunk(w, PATHPROF_TRACE_COMMAND, command, sizeof(command));
	trace_writer_chunk(w, PATHPROF_TRACE_PROCESSES, &process, sizeof(process));
	for (uint32_t i = 0; i < stream_cnt; i++) {
		const struct pathprof_trace_stream stream = {.stream = i, .thread = i};

		trace_writer_chunk(w, PATHPROF_TRACE_STREAMS, &stream, sizeof(stream));
	}
	trace_writer_chunk(w, PATHPROF_TRACE_MODULES, &module, sizeof(module));
	trace_writer_chunk(w, PATHPROF_TRACE_BLOCKS, &trace_program[1],
			   sizeof(trace_program) - sizeof(trace_program[0]));
	trace_writer_chunk(w, PATHPROF_TRACE_HANDLERS, handlers, sizeof(handlers));
}

void trace_writer_end(struct trace_writer *w)
{
	const struct pathprof_trace_chunk chunk = {
		.type = PATHPROF_TRACE_INDEX,
		.raw_bytes = (uint32_t)(w->place_cnt * sizeof(*w->places))};
	const struct pathprof_trace_footer footer = {.index_offset = w->len_bytes,
						     .magic = PATHPROF_TRACE_END};
	struct pathprof_trace_place *places = w->places;

	/* put_chunk() notes the index as well, where nobody looks for it. */
	w->places = NULL;
	w->place_cnt = 0;
	put_chunk(w, chunk, places);
	free(places);
	append(w, &footer, sizeof(footer));
}

const char *trace_writer_save(const struct trace_writer *w, size_t len_bytes)
{
	static char name[4096];
	static char directory[3072];
	FILE *file;

	if (!directory[0])
		snprintf(directory, sizeof(directory), "%s", unit_tmpdir());
	snprintf(name, sizeof(name), "%s/made-up.trace", directory);
	file = fopen(name, "we");
	if (!file || fwrite(w->bytes, 1, len_bytes, file) != len_bytes || fclose(file) != 0)
		abort();
	return name;
}
