// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of exact traces: each rule about two blocks in a row, by hand; random words against
 * the slow oracle, in chunks of any size; what the trace says of itself.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/lab.h"
#include "oracle_stream.h"
#include "oracle_trace.h"
#include "pathprof/trace.h"
#include "trace_writer.h"

#define TEXT_SIZE 4096
#define WORDS     4000
#define LEFT      PATHPROF_TRACE_MARK_LEFT
#define SIGRETURN PATHPROF_TRACE_MARK_SIGRETURN
#define CUT       PATHPROF_TRACE_MARK_CUT

/* ---------------------------------------------------------------- events as text */

static void print_event(char *text, const struct pathprof_trace_event *e)
{
	static const char *const kinds[] = {"?", "cond", "jmp", "ijmp", "call", "icall", "ret"};
	static const char *const types[] = {"?", "?", "?", "signal", "sigreturn", "jump"};
	size_t len = strlen(text), left = TEXT_SIZE - len;

	if (e->type == PATHPROF_TRACE_EVENT_BRANCH)
		snprintf(text + len, left, "%s%s %llx>%llx %u; ", kinds[e->branch.kind % 7],
			 e->branch.taken ? "" : "-", e->branch.from, e->branch.next, e->insn_cnt);
	else if (e->type == PATHPROF_TRACE_EVENT_ACCESS)
		snprintf(text + len, left, "%s %lx %lx=%lx/%u; ",
			 e->access.store ? "store" : "load", e->access.pc, e->access.address,
			 e->access.value, e->access.size_bytes);
	else
		snprintf(text + len, left, "%s %llx>%llx; ", types[e->type % 6], e->branch.from,
			 e->branch.next);
}

/* The events of these words as stream 0, in one chunk. */
static const char *events_of(const uint32_t *words, size_t cnt)
{
	static char text[TEXT_SIZE];
	struct pathprof_trace_event event;
	struct pathprof_trace_cursor *cursor;
	struct pathprof_trace *trace;
	struct pathprof_error error;
	struct trace_writer w;

	text[0] = '\0';
	trace_writer_init(&w);
	trace_writer_program(&w, 1);
	trace_writer_words(&w, 0, words, cnt);
	trace_writer_end(&w);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_trace_open(&trace, trace_writer_save(&w, w.len_bytes), &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_trace_cursor_new(&cursor, trace, 0, &error), 0);
	/* One at a time: what comes in pairs has to wait. */
	while (pathprof_trace_read(cursor, &event, 1, &error) == 1)
		print_event(text, &event);
	pathprof_trace_cursor_free(cursor);
	pathprof_trace_free(trace);
	trace_writer_release(&w);
	return text;
}

#define GIVES(expected, ...)                                                                       \
	do {                                                                                       \
		static const uint32_t words_[] = {__VA_ARGS__};                                    \
		const char *got_ = events_of(words_, sizeof(words_) / sizeof(words_[0]));          \
		CU_ASSERT_STRING_EQUAL(got_, expected);                                            \
		if (strcmp(got_, expected) != 0)                                                   \
			printf("line %d: got %s\n", __LINE__, got_);                               \
	} while (0)

/* ---------------------------------------------------------------- rules */

static void test_branches(void)
{
	GIVES("cond 100e>2000 4; ", B_COND, B_CALL);
	GIVES("cond- 100e>1010 4; jmp 101b>1000 3; ", B_COND, B_BACK, B_COND);
	GIVES("call 200b>3000 5; ret 3007>2010 2; icall 201e>3000 3; ", B_CALL, B_RET, B_ICALL,
	      B_RET);
	GIVES("ijmp 202e>1000 6; ", B_IJMP, B_COND);
}

static void test_targets(void)
{
	static const uint32_t words[] = {B_COND, B_BACK, B_COND, B_CALL, B_RET, B_ICALL, B_RET};
	static const uint64_t targets[] = {0x2000, 0x1000, 0x2000, 0x3000, 0x2010, 0x3000};
	struct pathprof_trace_event events[14];

	/* The oracle is held against figures written down by hand. */
	CU_ASSERT_EQUAL(oracle_trace(words, 7, events), 6);
	for (size_t i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(events[i].branch.target, targets[i]);
}

static void test_plain(void)
{
	GIVES("", B_SYSCALL, B_PLAIN, B_REP, B_OTHER);
	GIVES("jump 4032>1000; cond 100e>2000 17; ", B_SYSCALL, B_PLAIN, B_REP, B_OTHER, B_COND,
	      B_CALL);
}

static void test_jumps(void)
{
	GIVES("jump 100e>3000; ", B_COND, B_RET);
	GIVES("jump 101b>2000; call 200b>3000 8; ", B_BACK, B_CALL, B_RET);
	GIVES("jump 401c>1000; cond 100e>2000 11; ", B_PLAIN, B_COND, B_CALL);
}

static void test_left(void)
{
	GIVES("jump 0>2000; ", B_COND, LEFT, B_CALL);
	GIVES("cond 100e>2000 2; ", B_COND, LEFT, B_COND_TAIL, B_CALL);
}

static void test_cut(void)
{
	GIVES("cond 100e>2000 4; ", CUT, B_COND, B_CALL);
	GIVES("jump 0>2000; call 200b>3000 5; ", B_COND, CUT, B_CALL, B_RET);
}

static void test_signal_between(void)
{
	GIVES("signal 100e>5000; ret 500f>5100 6; sigreturn 5107>2000; cond 100e>2000 3; "
	      "call 200b>3000 5; ",
	      B_COND, B_HANDLER, B_RESTORER, SIGRETURN, B_CALL, B_RET);
	GIVES("signal 100e>5000; ret 500f>5100 6; sigreturn 5107>1010; cond- 100e>1010 3; ", B_COND,
	      B_HANDLER, B_RESTORER, SIGRETURN, B_BACK);
	GIVES("signal 3007>5000; ret 500f>5100 4; sigreturn 5107>2010; ret 3007>2010 3; ", B_RET,
	      B_HANDLER, B_RESTORER, SIGRETURN, B_ICALL);
}

static void test_signal_in_block(void)
{
	GIVES("signal 0>5000; ret 500f>5100 3; sigreturn 5107>1008; cond 100e>2000 4; ", B_COND,
	      LEFT, B_HANDLER, B_RESTORER, SIGRETURN, B_COND_TAIL, B_CALL);
}

static void test_signal_after_syscall(void)
{
	GIVES("signal 400e>5000; ret 500f>5100 5; sigreturn 5107>4010; ", B_SYSCALL, B_HANDLER,
	      B_RESTORER, SIGRETURN, B_PLAIN);
}

static void test_signal_nested(void)
{
	GIVES("signal 100e>5000; signal 500f>5200; ret 520f>5100 6; sigreturn 5107>5100; "
	      "ret 500f>5100 3; sigreturn 5107>2000; cond 100e>2000 3; ",
	      B_COND, B_HANDLER, B_HANDLER_2, B_RESTORER, SIGRETURN, B_RESTORER, SIGRETURN, B_CALL);
}

static void test_signal_waiting(void)
{
	GIVES("signal 100e>5000; ret 500f>5100 6; sigreturn 5107>5200; signal 0>5200; "
	      "ret 520f>5100 3; sigreturn 5107>2000; cond 100e>2000 3; ",
	      B_COND, B_HANDLER, B_RESTORER, SIGRETURN, B_HANDLER_2, B_RESTORER, SIGRETURN, B_CALL);
}

static void test_signal_elsewhere(void)
{
	GIVES("signal 100e>5000; ret 500f>5100 6; sigreturn 5107>3000; jump 100e>3000; ", B_COND,
	      B_HANDLER, B_RESTORER, SIGRETURN, B_RET);
	GIVES("signal 0>5000; ret 500f>5100 3; sigreturn 5107>3000; jump 0>3000; ", B_COND, LEFT,
	      B_HANDLER, B_RESTORER, SIGRETURN, B_RET);
}

static void test_signal_longjmp(void)
{
	/* The handler's own frame is gone; a later signal finds its own. */
	GIVES("signal 100e>5000; ret 500f>2020 6; ijmp 202e>2000 6; signal 200b>5000; "
	      "ret 500f>5100 7; sigreturn 5107>3000; call 200b>3000 3; ",
	      B_COND, B_HANDLER, B_IJMP, B_CALL, B_HANDLER, B_RESTORER, SIGRETURN, B_RET);
}

static void test_accesses(void)
{
	GIVES("load 1004 700001234=900000042/8; store 1008 1000=0/4; cond 100e>2000 4; ", B_COND,
	      PATHPROF_TRACE_ACCESS | PATHPROF_TRACE_ACCESS_VALUE | 3 << 13 | 4, 0x1234, 7, 0x42, 9,
	      PATHPROF_TRACE_ACCESS | PATHPROF_TRACE_ACCESS_STORE | 2 << 13 | 8, 0x1000, 0, B_CALL);
}

/* A stream that begins in a handler: what that ran is no part of the program's path. */
static void test_paths_of_a_cut_handler(void)
{
	static const struct pathprof_trace_event events[] = {
		{.type = PATHPROF_TRACE_EVENT_BRANCH,
		 .branch = {0x5000, 0x5100, 0x5100, PERF_BR_CALL, 1}},
		{.type = PATHPROF_TRACE_EVENT_BRANCH,
		 .branch = {0x510e, 0x5120, 0x5120, PERF_BR_COND, 1}},
		{.type = PATHPROF_TRACE_EVENT_SIGRETURN, .branch = {.next = 0x1000}},
		{.type = PATHPROF_TRACE_EVENT_BRANCH,
		 .branch = {0x100e, 0x1000, 0x1000, PERF_BR_COND, 1}},
	};
	struct lab_paths_feed feed = {
		.settings = {.mapping = PATHPROF_MAPPING_BL, .max_length = 32}};
	struct pathprof_path_popped path;

	lab_paths_begin(&feed);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		CU_ASSERT_FALSE(lab_paths_event(&feed, &events[i], &path));
	lab_paths_end(&feed);
}

/* ---------------------------------------------------------------- against the oracle */

static size_t draw_access(uint64_t *random, uint32_t *words)
{
	uint64_t r = stream_random(random);
	bool with_value = r & 1;

	words[0] = PATHPROF_TRACE_ACCESS | (uint32_t)(r >> 8 & 0x1ffff) |
		   (with_value ? PATHPROF_TRACE_ACCESS_VALUE : 0);
	for (size_t i = 1; i < (with_value ? 5 : 3); i++)
		words[i] = (uint32_t)stream_random(random);
	return with_value ? 5 : 3;
}

static size_t draw_words(uint64_t *random, uint32_t *words, size_t max)
{
	static const uint32_t marks[] = {LEFT, SIGRETURN, SIGRETURN, SIGRETURN, CUT};
	size_t cnt = 0;

	while (cnt + 5 <= max) {
		uint64_t r = stream_random(random), what = r % 16;

		if (what == 0 && r >> 8 & 1)
			words[cnt++] = marks[(r >> 16) % 5];
		else if (what == 1)
			cnt += draw_access(random, words + cnt);
		else if (what == 2)
			words[cnt++] = r >> 8 & 1 ? B_HANDLER : B_HANDLER_2;
		else
			words[cnt++] = 1 + (uint32_t)(r >> 8) % (B_PROGRAM_END - 1);
	}
	return cnt;
}

static bool same_event(const struct pathprof_trace_event *a, const struct pathprof_trace_event *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Reads all of a stream in batches of any size. Returns the differences to what is expected. */
static size_t differences(const struct pathprof_trace *trace, uint32_t stream,
			  const struct pathprof_trace_event *expected, size_t expected_cnt,
			  uint64_t *random)
{
	struct pathprof_trace_cursor *cursor;
	struct pathprof_trace_event events[100];
	struct pathprof_error error;
	size_t at = 0, different = 0;
	ssize_t got;

	CU_ASSERT_EQUAL_FATAL(pathprof_trace_cursor_new(&cursor, trace, stream, &error), 0);
	while ((got = pathprof_trace_read(cursor, events, 1 + stream_random(random) % 100,
					  &error)) > 0)
		for (ssize_t i = 0; i < got; i++, at++)
			different += at >= expected_cnt || !same_event(&events[i], &expected[at]);
	CU_ASSERT_EQUAL(got, 0);
	pathprof_trace_cursor_free(cursor);
	return different + (at < expected_cnt ? expected_cnt - at : 0);
}

/* Differences of a trace of two streams in random chunks. plant: change a word in the file only. */
static size_t run_random(uint64_t seed, bool plant)
{
	static struct pathprof_trace_event events[2][2 * WORDS];
	static uint32_t words[2][WORDS];
	size_t cnt[2], event_cnt[2], at[2] = {0, 0}, different = 0;
	struct pathprof_trace *trace;
	struct pathprof_error error;
	struct trace_writer w;

	trace_writer_init(&w);
	trace_writer_program(&w, 2);
	for (int s = 0; s < 2; s++) {
		cnt[s] = draw_words(&seed, words[s], WORDS);
		event_cnt[s] = oracle_trace(words[s], cnt[s], events[s]);
	}
	for (size_t i = WORDS / 2; plant && i < cnt[1]; i++)
		if (words[1][i] == B_RET) {
			words[1][i] = LEFT;
			break;
		}
	while (at[0] < cnt[0] || at[1] < cnt[1]) {
		int s = (int)(stream_random(&seed) % 2);
		size_t len = 1 + stream_random(&seed) % 300;

		if (len > cnt[s] - at[s])
			len = cnt[s] - at[s];
		if (len)
			trace_writer_words(&w, (uint32_t)s, words[s] + at[s], len);
		at[s] += len;
	}
	trace_writer_end(&w);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_trace_open(&trace, trace_writer_save(&w, w.len_bytes), &error), 0);
	for (uint32_t s = 0; s < 2; s++)
		different += differences(trace, s, events[s], event_cnt[s], &seed);
	pathprof_trace_free(trace);
	trace_writer_release(&w);
	return different;
}

static void test_random(void)
{
	for (uint64_t seed = 1; seed <= 40; seed++)
		CU_ASSERT_EQUAL(run_random(seed, false), 0);
}

static void test_random_planted(void)
{
	CU_ASSERT(run_random(3, true) > 0);
}

/* ---------------------------------------------------------------- what it says of itself */

static void test_info(void)
{
	const struct pathprof_trace_info *info;
	const struct pathprof_trace_module_info *module;
	struct pathprof_trace *trace;
	struct pathprof_error error;
	struct trace_writer w;
	const uint32_t words[] = {B_COND, B_BACK};
	const char *name;

	trace_writer_init(&w);
	trace_writer_program(&w, 3);
	trace_writer_words(&w, 1, words, 2);
	trace_writer_words(&w, 1, words, 1);
	trace_writer_end(&w);
	name = trace_writer_save(&w, w.len_bytes);
	CU_ASSERT(pathprof_trace_is(name));
	CU_ASSERT_FALSE(pathprof_trace_is("/proc/self/exe"));
	CU_ASSERT_FALSE(pathprof_trace_is("/nowhere"));
	CU_ASSERT_EQUAL_FATAL(pathprof_trace_open(&trace, name, &error), 0);
	info = pathprof_trace_info(trace);
	CU_ASSERT(info->whole);
	CU_ASSERT_STRING_EQUAL(info->command[0], "made");
	CU_ASSERT_STRING_EQUAL(info->command[1], "up");
	CU_ASSERT_PTR_NULL(info->command[2]);
	CU_ASSERT_EQUAL(info->stream_cnt, 3);
	CU_ASSERT_EQUAL(info->block_cnt, B_PROGRAM_END - 1);
	CU_ASSERT_EQUAL(info->file_bytes, w.len_bytes);
	CU_ASSERT_EQUAL(pathprof_trace_stream(trace, 1)->word_cnt, 3);
	CU_ASSERT_EQUAL(pathprof_trace_stream(trace, 2)->pid, 77);
	CU_ASSERT_PTR_NULL(pathprof_trace_stream(trace, 3));
	CU_ASSERT_PTR_NULL(pathprof_trace_module(trace, 1));
	module = pathprof_trace_module(trace, 0);
	CU_ASSERT_STRING_EQUAL(module->name, "/bin/mad");
	CU_ASSERT_EQUAL(module->build_id.len_bytes, 3);
	CU_ASSERT_PTR_EQUAL(pathprof_trace_locate(trace, 0, 0x1000), module);
	CU_ASSERT_PTR_NULL(pathprof_trace_locate(trace, 0, 0x6000));
	CU_ASSERT_PTR_NULL(pathprof_trace_locate(trace, 1, 0x1000));
	pathprof_trace_free(trace);
	trace_writer_release(&w);
}

#define MODULES 60

/* Later modules win; a process falls back on the one it was forked from. */
static const char *slow_locate(const struct pathprof_trace *trace, uint32_t process, uint64_t at)
{
	for (;; process = 0) {
		for (uint32_t i = pathprof_trace_info(trace)->module_cnt; i-- > 0;) {
			const struct pathprof_trace_module_info *m =
				pathprof_trace_module(trace, i);

			if (m->process == process && at >= m->start && at < m->end)
				return m->name;
		}
		if (process == 0)
			return NULL;
	}
}

static void test_locate(void)
{
	static const struct pathprof_trace_process processes[] = {{.process = 0, .pid = 5},
								  {.process = 1, .pid = 6}};
	struct pathprof_trace_module module = {.name_len = 0};
	uint8_t modules[MODULES * sizeof(module)];
	struct pathprof_trace *trace;
	struct pathprof_error error;
	uint64_t random = 7, different = 0, found = 0;
	struct trace_writer w;

	trace_writer_init(&w);
	trace_writer_chunk(&w, PATHPROF_TRACE_PROCESSES, processes, sizeof(processes));
	for (uint32_t i = 0; i < MODULES; i++) {
		module.module = i;
		module.process = (uint32_t)stream_random(&random) % 2;
		module.start = stream_random(&random) % 1000;
		module.end = module.start + 1 + stream_random(&random) % (i % 2 ? 30 : 150);
		memcpy(modules + i * sizeof(module), &module, sizeof(module));
	}
	trace_writer_chunk(&w, PATHPROF_TRACE_MODULES, modules, sizeof(modules));
	CU_ASSERT_EQUAL_FATAL(
		pathprof_trace_open(&trace, trace_writer_save(&w, w.len_bytes), &error), 0);
	CU_ASSERT_FALSE(pathprof_trace_info(trace)->whole);
	for (uint64_t at = 0; at < 2 * 1200; at++) {
		const struct pathprof_trace_module_info *m =
			pathprof_trace_locate(trace, at % 2, at / 2);
		const char *expected = slow_locate(trace, at % 2, at / 2);

		different += (m ? m->name : NULL) != expected;
		found += m != NULL;
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(found > 500 && found < 2 * 1200);
	pathprof_trace_free(trace);
	trace_writer_release(&w);
}

static const struct unit_test tests[] = {
	{"a branch is what its block and the next say", test_branches},
	{"targets are the static ones, of indirect branches what ran next", test_targets},
	{"blocks without a branch only add instructions", test_plain},
	{"what no branch explains is a jump", test_jumps},
	{"a block that was left has no branch", test_left},
	{"after a cut nothing goes on", test_cut},
	{"a branch before a signal is told after the handler", test_signal_between},
	{"a signal inside a block resumes inside it", test_signal_in_block},
	{"a signal after a system call holds no branch back", test_signal_after_syscall},
	{"a handler may be interrupted", test_signal_nested},
	{"a signal may wait for a handler's return", test_signal_waiting},
	{"a handler that returns elsewhere is a jump", test_signal_elsewhere},
	{"a handler that leaves by longjmp does not confuse the next", test_signal_longjmp},
	{"accesses come in order, with their values", test_accesses},
	{"a handler that a stream begins in keeps its path to itself", test_paths_of_a_cut_handler},
	{"random words in random chunks as the oracle has them", test_random},
	{"a planted mark is found", test_random_planted},
	{"says what it is of", test_info},
	{"finds the latest module at an address, the parent's too", test_locate},
};
UNIT_SUITE(trace, tests)
