// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of reading an exact trace, for each event: a made-up trace of one hot loop, or a real
 * one.
 *
 *     bench_trace [TRACE]
 *
 * Workload: 32 million words in chunks of a million, read in batches of 4096, five times; the best
 * counts. Output: "trace.read VALUE ns" of processor time an event, decompression included. One
 * thread.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "pathprof/trace.h"
#include "pathprof/trace_format.h"

#define CHUNK_WORDS (1u << 20)
#define CHUNKS      32
#define BATCH       4096
#define ROUNDS      5

static void fail(const char *what)
{
	fprintf(stderr, "bench_trace: %s\n", what);
	exit(1);
}

static void put_chunk(FILE *file, struct pathprof_trace_chunk chunk, const void *bytes)
{
	size_t bound = ZSTD_compressBound(chunk.raw_bytes);
	void *packed = malloc(bound);
	size_t packed_bytes = packed ? ZSTD_compress(packed, bound, bytes, chunk.raw_bytes, 1) : 0;

	if (!packed || ZSTD_isError(packed_bytes))
		fail("cannot compress");
	chunk.packed_bytes = (uint32_t)packed_bytes;
	fwrite(&chunk, sizeof(chunk), 1, file);
	fwrite(packed, packed_bytes, 1, file);
	free(packed);
}

/* Blocks 1 to 4: a loop whose conditional goes either way by chance, a call and its return. */
static void put_program(FILE *file)
{
	static const struct pathprof_trace_process process;
	static const struct pathprof_trace_stream stream;
	static const struct pathprof_trace_block blocks[] = {
		{.id = 1, .start = 0x1000, .target = 0x1020, .kind = 1},
		{.id = 2, .start = 0x1010, .target = 0x2000, .kind = 4},
		{.id = 3, .start = 0x1020, .target = 0x1000, .kind = 2},
		{.id = 4, .start = 0x2000, .kind = 6},
	};
	struct pathprof_trace_block sized[4];

	for (int i = 0; i < 4; i++) {
		sized[i] = blocks[i];
		sized[i].module = PATHPROF_TRACE_NO_MODULE;
		sized[i].len_bytes = 16;
		sized[i].last_offset = 14;
		sized[i].insn_cnt = 5;
	}
	put_chunk(file,
		  (struct pathprof_trace_chunk){.type = PATHPROF_TRACE_PROCESSES,
						.raw_bytes = sizeof(process)},
		  &process);
	put_chunk(file,
		  (struct pathprof_trace_chunk){.type = PATHPROF_TRACE_STREAMS,
						.raw_bytes = sizeof(stream)},
		  &stream);
	put_chunk(file,
		  (struct pathprof_trace_chunk){.type = PATHPROF_TRACE_BLOCKS,
						.raw_bytes = sizeof(sized)},
		  sized);
}

static void put_words(FILE *file)
{
	uint32_t *words = malloc(CHUNK_WORDS * sizeof(*words));
	uint64_t random = 88172645463325252ull;

	if (!words)
		fail("out of memory");
	for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
		size_t cnt = 0;

		while (cnt + 4 <= CHUNK_WORDS) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			words[cnt++] = 1;
			if (random & 7) {
				words[cnt++] = 2;
				words[cnt++] = 4;
			}
			words[cnt++] = 3;
		}
		while (cnt < CHUNK_WORDS)
			words[cnt++] = 3;
		put_chunk(file,
			  (struct pathprof_trace_chunk){.type = PATHPROF_TRACE_WORDS,
							.first_word = chunk * CHUNK_WORDS,
							.raw_bytes = CHUNK_WORDS * 4},
			  words);
	}
	free(words);
}

static void make(const char *name)
{
	const struct pathprof_trace_header header = {.magic = PATHPROF_TRACE_MAGIC,
						     .version = PATHPROF_TRACE_VERSION};
	FILE *file = fopen(name, "we");

	if (!file)
		fail("cannot write a trace");
	fwrite(&header, sizeof(header), 1, file);
	put_program(file);
	put_words(file);
	if (ferror(file) | fclose(file))
		fail("cannot write a trace");
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Nanoseconds an event, over all streams. */
static double read_all(const struct pathprof_trace *trace)
{
	static struct pathprof_trace_event events[BATCH];
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error;
	double start = now_ns();
	uint64_t sum = 0;
	ssize_t got;

	for (uint32_t i = 0; i < pathprof_trace_info(trace)->stream_cnt; i++) {
		if (pathprof_trace_cursor_new(&cursor, trace, i, &error) < 0)
			fail(error.text);
		while ((got = pathprof_trace_read(cursor, events, BATCH, &error)) > 0)
			sum += (uint64_t)got;
		if (got < 0)
			fail(error.text);
		pathprof_trace_cursor_free(cursor);
	}
	return (now_ns() - start) / (double)(sum ? sum : 1);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/bench-trace.XXXXXX";
	struct pathprof_trace *trace;
	struct pathprof_error error;
	double best = 1e9;

	if (argc < 2) {
		close(mkstemp(name));
		make(name);
	}
	if (pathprof_trace_open(&trace, argc < 2 ? name : argv[1], &error) < 0)
		fail(error.text);
	for (int round = 0; round < ROUNDS; round++) {
		double ns = read_all(trace);

		best = ns < best ? ns : best;
	}
	printf("trace.read %.2f ns\n", best);
	pathprof_trace_free(trace);
	if (argc < 2)
		unlink(name);
	return 0;
}
