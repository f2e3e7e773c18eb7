// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Damaged traces: every byte changed, every length cut, definitions that cannot be. Never a crash,
 * and never an event that was not there: what is read is a beginning of the truth.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_stream.h"
#include "pathprof/trace.h"
#include "trace_writer.h"

#define EVENTS_MAX 400

struct reading {
	int result; /* of opening, else of the last read; 0: the end */
	bool whole;
	struct pathprof_trace_event events[EVENTS_MAX];
	size_t cnt;
};

static void read_stream(struct reading *r, struct pathprof_trace *trace)
{
	struct pathprof_error error = {""};
	struct pathprof_trace_cursor *cursor;
	ssize_t got = pathprof_trace_cursor_new(&cursor, trace, 0, &error);

	if (got < 0) {
		r->result = (int)got;
		return;
	}
	while ((got = pathprof_trace_read(cursor, r->events + r->cnt, EVENTS_MAX - r->cnt,
					  &error)) > 0)
		r->cnt += (size_t)got;
	r->result = (int)got;
	if (got < 0)
		CU_ASSERT_NOT_EQUAL(error.text[0], '\0');
	pathprof_trace_cursor_free(cursor);
}

static struct reading read_file(const char *name)
{
	struct reading r = {0};
	struct pathprof_error error = {""};
	struct pathprof_trace *trace;

	r.result = pathprof_trace_open(&trace, name, &error);
	if (r.result < 0) {
		CU_ASSERT_NOT_EQUAL(error.text[0], '\0');
		return r;
	}
	r.whole = pathprof_trace_info(trace)->whole;
	for (uint64_t address = 0; address < 0x8000; address += 0x777)
		pathprof_trace_locate(trace, (uint32_t)address & 1, address);
	read_stream(&r, trace);
	pathprof_trace_free(trace);
	return r;
}

/* A small sound trace of three chunks of words, accesses over their borders. */
static void write_sound(struct trace_writer *w)
{
	uint32_t words[120];
	uint64_t random = 11;
	size_t cnt = 0;

	while (cnt + 8 < 120) {
		uint64_t draw = stream_random(&random);

		words[cnt++] = 1 + (uint32_t)(draw % (B_PROGRAM_END - 1));
		if (draw >> 32 & 1)
			words[cnt++] = PATHPROF_TRACE_MARK_LEFT + (uint32_t)(draw >> 33) % 3;
		if (draw >> 40 & 1) {
			words[cnt++] = PATHPROF_TRACE_ACCESS | PATHPROF_TRACE_ACCESS_VALUE;
			for (int i = 0; i < 4; i++)
				words[cnt++] = (uint32_t)i;
		}
	}
	trace_writer_init(w);
	trace_writer_program(w, 2);
	trace_writer_words(w, 0, words, 37);
	trace_writer_words(w, 0, words + 37, 41);
	trace_writer_words(w, 0, words + 78, cnt - 78);
	trace_writer_end(w);
}

static bool is_beginning(const struct reading *part, const struct reading *truth)
{
	return part->cnt <= truth->cnt &&
	       memcmp(part->events, truth->events, part->cnt * sizeof(part->events[0])) == 0;
}

static void test_flips(void)
{
	size_t invented = 0, refused = 0;
	struct reading truth, r;
	struct trace_writer w;

	write_sound(&w);
	truth = read_file(trace_writer_save(&w, w.len_bytes));
	CU_ASSERT_EQUAL(truth.result, 0);
	CU_ASSERT(truth.cnt > 30 && truth.whole);
	for (size_t at = 0; at < w.len_bytes; at++) {
		uint8_t change = at % 3 == 0 ? 1 : at % 3 == 1 ? 0x80 : 0xff;

		w.bytes[at] ^= change;
		r = read_file(trace_writer_save(&w, w.len_bytes));
		w.bytes[at] ^= change;
		CU_ASSERT(r.result == 0 || r.result == -EBADMSG || r.result == -EINVAL);
		invented += !is_beginning(&r, &truth);
		refused += r.result < 0;
	}
	CU_ASSERT_EQUAL(invented, 0);
	/* Time, flags and what marks the end have nothing to be checked against. */
	CU_ASSERT(refused >= w.len_bytes - 40);
	trace_writer_release(&w);
}

static void test_truncation(void)
{
	struct reading truth, r;
	struct trace_writer w;
	size_t last = 0;

	write_sound(&w);
	truth = read_file(trace_writer_save(&w, w.len_bytes));
	for (size_t len = 0; len < w.len_bytes; len++) {
		r = read_file(trace_writer_save(&w, len));
		CU_ASSERT(r.result == 0 || r.result == -EBADMSG || r.result == -EINVAL);
		CU_ASSERT_FALSE(r.whole);
		CU_ASSERT(is_beginning(&r, &truth));
		CU_ASSERT(r.cnt >= last);
		last = r.cnt;
	}
	CU_ASSERT_EQUAL(last, truth.cnt);
	trace_writer_release(&w);
}

static void test_planted(void)
{
	static const uint32_t words[] = {B_COND, B_CALL, B_RET};
	struct trace_writer w;
	struct reading truth, other;

	write_sound(&w);
	truth = read_file(trace_writer_save(&w, w.len_bytes));
	trace_writer_release(&w);
	/* Another program's trace is no beginning of this one's. */
	trace_writer_init(&w);
	trace_writer_program(&w, 1);
	trace_writer_words(&w, 0, words, 3);
	other = read_file(trace_writer_save(&w, w.len_bytes));
	CU_ASSERT_EQUAL(other.cnt, 2);
	CU_ASSERT_FALSE(is_beginning(&other, &truth));
	trace_writer_release(&w);
}

/* The result of reading a sound trace with one more chunk. */
static int with_chunk(uint32_t type, const void *bytes, size_t len_bytes)
{
	struct trace_writer w;
	struct reading r;

	trace_writer_init(&w);
	trace_writer_program(&w, 1);
	trace_writer_chunk(&w, type, bytes, len_bytes);
	trace_writer_end(&w);
	r = read_file(trace_writer_save(&w, w.len_bytes));
	trace_writer_release(&w);
	return r.result;
}

static int with_block(struct pathprof_trace_block block)
{
	return with_chunk(PATHPROF_TRACE_BLOCKS, &block, sizeof(block));
}

static void test_blocks(void)
{
	struct pathprof_trace_block b = trace_program[B_COND], bad;

	b.id = 100;
	CU_ASSERT_EQUAL(with_block(b), 0);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_BLOCKS, &b, sizeof(b) - 1), -EBADMSG);
	bad = b;
	bad.id = 0;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.id = B_COND;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.id = 0x7fffffff;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.id = 0x80000000;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.last_offset = 0x10;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.kind = 7;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.insn_cnt = 0;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.start = UINT64_MAX;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.module = 5;
	CU_ASSERT_EQUAL(with_block(bad), -EBADMSG);
	bad = b;
	bad.module = PATHPROF_TRACE_NO_MODULE;
	CU_ASSERT_EQUAL(with_block(bad), 0);
}

static void test_modules(void)
{
	struct pathprof_trace_module m = {.module = 9, .start = 1, .end = 2}, bad;

	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_MODULES, &m, sizeof(m)), 0);
	bad = m;
	bad.end = 1;
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_MODULES, &bad, sizeof(bad)), -EBADMSG);
	bad = m;
	bad.build_id_len = 21;
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_MODULES, &bad, sizeof(bad)), -EBADMSG);
	bad = m;
	bad.name_len = 1;
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_MODULES, &bad, sizeof(bad)), -EBADMSG);
	bad = m;
	bad.module = 0;
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_MODULES, &bad, sizeof(bad)), -EBADMSG);
	bad = m;
	bad.process = 3;
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_MODULES, &bad, sizeof(bad)), -EBADMSG);
}

static void test_others(void)
{
	const struct pathprof_trace_process process = {.process = 0},
					    orphan = {.process = 4, .parent = 3};
	const struct pathprof_trace_stream stream = {.stream = 0},
					   of_nobody = {.stream = 1, .process = 3};
	const struct pathprof_trace_exec exec = {.name_len = 1};
	const uint32_t words[] = {B_COND, B_CALL, 0xc0000009}, unknown[] = {B_COND, 77};

	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_COMMAND, "twice", 6), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_PROCESSES, &process, sizeof(process)), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_PROCESSES, &orphan, sizeof(orphan)), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_STREAMS, &stream, sizeof(stream)), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_STREAMS, &of_nobody, sizeof(of_nobody)),
			-EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_EXECS, &exec, sizeof(exec)), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_WORDS, words, 7), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_WORDS, words, sizeof(words)), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_WORDS, unknown, sizeof(unknown)), -EBADMSG);
	CU_ASSERT_EQUAL(with_chunk(PATHPROF_TRACE_WORDS, words, 8), 0);
	CU_ASSERT_EQUAL(with_chunk(12, words, 8), -EBADMSG);
}

static void test_no_file(void)
{
	struct pathprof_trace *untouched = (struct pathprof_trace *)&untouched;
	struct pathprof_error error;

	CU_ASSERT_EQUAL(pathprof_trace_open(&untouched, "/nowhere", &error), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_trace_open(&untouched, "/proc/self/exe", &error), -EBADMSG);
	CU_ASSERT(pathprof_trace_open(&untouched, "/", &error) < 0);
	CU_ASSERT_PTR_EQUAL(untouched, &untouched);
	pathprof_trace_free(NULL);
	pathprof_trace_cursor_free(NULL);
}

static const struct unit_test tests[] = {
	{"a changed byte is refused or only shortens", test_flips},
	{"a trace cut anywhere is read as far as it goes", test_truncation},
	{"another trace is no beginning of this one", test_planted},
	{"refuses blocks that cannot be", test_blocks},
	{"refuses modules that cannot be", test_modules},
	{"refuses processes, streams and words that cannot be", test_others},
	{"refuses what is no trace", test_no_file},
};
UNIT_SUITE(trace_damage, tests)
