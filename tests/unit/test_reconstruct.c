// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reconstruction against programs whose every instruction is known (oracle_program.h): windows of
 * what they execute, not-taken branches taken away, must come back the same. Refusals by hand, one
 * by one.
 */
#include "pathprof/reconstruct.h"
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/path/pp_way.h"
#include "oracle_program.h"

#define BASE ORACLE_PROGRAM_BASE

/* One file, mapped whole or in pieces of so many bytes. */
struct world {
	struct pathprof_code *code;
	struct pathprof_reconstructor *r;
	uint64_t byte_cnt, piece;
	bool reversed; /* the file has its pieces from the last to the first */
	bool gone;
	unsigned int asked;
};

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct world *w = context;
	uint64_t start = 0, end = w->byte_cnt;

	w->asked++;
	if (w->gone || address < BASE || address >= BASE + w->byte_cnt)
		return -ENOENT;
	if (w->piece) {
		start = (address - BASE) / w->piece * w->piece;
		end = start + w->piece < end ? start + w->piece : end;
	}
	*ret_place = (struct pathprof_mapping_place){.code = w->code,
						     .start = BASE + start,
						     .end = BASE + end,
						     .offset = ORACLE_FILE_OFFSET + start};
	if (w->reversed)
		ret_place->offset = ORACLE_FILE_OFFSET + w->byte_cnt - end;
	return 0;
}

static void open_world(struct world *w, const void *bytes, size_t byte_cnt)
{
	*w = (struct world){.code = oracle_file(bytes, byte_cnt), .byte_cnt = byte_cnt};
	CU_ASSERT_EQUAL_FATAL(pathprof_reconstructor_new(&w->r, locate, w), 0);
}

static void close_world(struct world *w)
{
	pathprof_reconstructor_free(w->r);
	pathprof_code_free(w->code);
}

/* ---------------------------------------------------------------- whole programs */

struct window {
	struct pathprof_branch exact[PATHPROF_BURST_MAX], read[PATHPROF_BURST_MAX];
	struct pathprof_taken taken[PATHPROF_BURST_MAX];
	uint32_t exact_cnt, read_cnt, taken_cnt;
};

/* The next so many taken branches, and what was not between them. */
static void run_window(struct oracle_program *p, struct window *w, uint32_t taken_cnt)
{
	struct pathprof_branch b;

	w->exact_cnt = w->taken_cnt = 0;
	while (w->taken_cnt < taken_cnt) {
		oracle_program_step(p, &b);
		if (!b.taken && !w->taken_cnt)
			continue; /* hardware does not show these */
		CU_ASSERT_FATAL(w->exact_cnt < PATHPROF_BURST_MAX);
		w->exact[w->exact_cnt++] = b;
		if (b.taken)
			w->taken[w->taken_cnt++] = (struct pathprof_taken){b.from, b.next};
	}
}

static int reconstruct(struct world *w, struct window *window)
{
	uint32_t at;

	window->read_cnt = 0;
	return pathprof_reconstruct(w->r, window->taken, window->taken_cnt, window->read,
				    &window->read_cnt, &at);
}

static bool came_back(const struct window *w)
{
	return w->read_cnt == w->exact_cnt &&
	       !memcmp(w->read, w->exact, w->exact_cnt * sizeof(w->exact[0]));
}

/* How many of so many windows came back the same. */
static uint32_t count_same(struct world *w, struct oracle_program *p, uint32_t windows)
{
	static struct window window;
	uint32_t same = 0;

	for (uint32_t i = 0; i < windows; i++) {
		run_window(p, &window, 1 + oracle_draw(&p->random, 40));
		same += reconstruct(w, &window) == 0 && came_back(&window);
	}
	return same;
}

static void test_programs(void)
{
	static struct oracle_program p;
	struct world w;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		oracle_program_make(&p, 50 + (uint32_t)seed * 60, 1 + seed % 10, seed);
		open_world(&w, p.bytes, p.byte_cnt);
		CU_ASSERT_EQUAL(count_same(&w, &p, 200), 200);
		pathprof_reconstructor_forget(w.r);
		CU_ASSERT_EQUAL(count_same(&w, &p, 50), 50);
		close_world(&w);
	}
}

static void reverse_pieces(struct oracle_program *p, uint32_t piece)
{
	static uint8_t reversed[sizeof(p->bytes)];

	while (p->byte_cnt % piece)
		p->bytes[p->byte_cnt++] = 0x90;
	for (uint32_t at = 0; at < p->byte_cnt; at += piece)
		memcpy(reversed + p->byte_cnt - piece - at, p->bytes + at, piece);
	memcpy(p->bytes, reversed, p->byte_cnt);
}

/* Pieces of 1 and 7 bytes: most instructions begin in one mapping and end in another. */
static void test_pieces(void)
{
	static const uint32_t pieces[] = {1, 7, 64, 4096};
	static struct oracle_program p;
	struct world w;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		oracle_program_make(&p, 2000, 4, 77);
		reverse_pieces(&p, pieces[i]);
		open_world(&w, p.bytes, p.byte_cnt);
		w.piece = pieces[i];
		w.reversed = true;
		CU_ASSERT_EQUAL(count_same(&w, &p, 200), 200);
		close_world(&w);
	}
}

/* Code that was read is kept: known windows need no further reads. */
static void test_kept(void)
{
	static struct oracle_program p;
	static struct window window;
	struct world w;
	unsigned int asked;

	oracle_program_make(&p, 500, 4, 5);
	open_world(&w, p.bytes, p.byte_cnt);
	run_window(&p, &window, 32);
	CU_ASSERT_EQUAL(reconstruct(&w, &window), 0);
	asked = w.asked;
	w.gone = true;
	CU_ASSERT_EQUAL(reconstruct(&w, &window), 0);
	CU_ASSERT(came_back(&window));
	CU_ASSERT_EQUAL(w.asked, asked);
	pathprof_reconstructor_forget(w.r);
	CU_ASSERT_EQUAL(reconstruct(&w, &window), PATHPROF_REFUSED_UNKNOWN_CODE);
	w.gone = false;
	CU_ASSERT_EQUAL(reconstruct(&w, &window), 0);
	CU_ASSERT(came_back(&window));
	close_world(&w);
}

/*
 * The check has teeth: a window whose first taken forward branch over nothing but straight code is
 * lost fits its code, as if that branch had not been taken; only the comparison finds it.
 */
static void test_lost_record_is_found(void)
{
	static const uint8_t bytes[] = {0xff, 0xe0, 0x74, 0x01, 0x90, 0x90, 0xc3};
	struct window window = {.exact_cnt = 3, .taken_cnt = 2};
	struct world w;

	window.exact[0] = (struct pathprof_branch){BASE, BASE + 2, BASE + 2, PERF_BR_IND, 1};
	window.exact[1] = (struct pathprof_branch){BASE + 2, BASE + 5, BASE + 5, PERF_BR_COND, 1};
	window.exact[2] = (struct pathprof_branch){BASE + 6, BASE, BASE, PERF_BR_RET, 1};
	window.taken[0] = (struct pathprof_taken){BASE, BASE + 2};
	window.taken[1] = (struct pathprof_taken){BASE + 6, BASE};
	open_world(&w, bytes, sizeof(bytes));
	CU_ASSERT_EQUAL(reconstruct(&w, &window), 0);
	CU_ASSERT_EQUAL(window.read_cnt, 3);
	CU_ASSERT(!came_back(&window));
	window.exact[1].taken = 0;
	window.exact[1].next = BASE + 4;
	CU_ASSERT(came_back(&window));
	close_world(&w);
}

/* ---------------------------------------------------------------- refusals */

static const uint8_t hand[] = {
	0xff, 0xe0,          /*  0: jmp rax */
	0x90,                /*  2: nop */
	0x74, 0x02,          /*  3: jz 7 */
	0x90,                /*  5: nop */
	0xeb, 0xf8,          /*  6: jmp 0 */
	0xc3,                /*  8: ret */
	0x06,                /*  9: no instruction */
	0xff, 0xd0,          /* 10: call rax */
	0x0f, 0x0b,          /* 12: ud2 */
	0xc3,                /* 14: ret */
	0xcb,                /* 15: far ret */
	0xc3,                /* 16: ret */
	0xf4,                /* 17: hlt */
	0xff, 0x6c, 0, 0,    /* 18: far jmp */
	0xc3,                /* 22: ret */
	0xe8, 0,    0, 0, 0, /* 23: call 28 */
	0xff,                /* 28: cut off */
};

struct refused {
	int refusal;
	uint32_t at, cnt;
	struct pathprof_taken taken[3];
};

static const struct refused refused[] = {
	{PATHPROF_REFUSED_EMPTY, 0, 0, {{0, 0}}},
	{PATHPROF_REFUSED_UNKNOWN_CODE, 0, 1, {{100, 0}}},
	{PATHPROF_REFUSED_UNKNOWN_CODE, 1, 2, {{0, 100}, {101, 0}}},
	{PATHPROF_REFUSED_NO_BRANCH, 0, 1, {{2, 0}}},         /* a nop */
	{PATHPROF_REFUSED_NO_BRANCH, 1, 2, {{0, 2}, {4, 0}}}, /* within the jz */
	{PATHPROF_REFUSED_NO_BRANCH, 1, 2, {{0, 2}, {5, 0}}}, /* a nop again */
	{PATHPROF_REFUSED_NO_BRANCH, 0, 1, {{9, 0}}},         /* no instruction */
	{PATHPROF_REFUSED_NO_BRANCH, 0, 1, {{15, 0}}},        /* far: none of ours */
	{PATHPROF_REFUSED_NO_BRANCH, 0, 1, {{28, 0}}},        /* cut off */
	{PATHPROF_REFUSED_TARGET, 1, 2, {{0, 2}, {3, 5}}},    /* leads to 7 */
	{PATHPROF_REFUSED_TARGET, 0, 1, {{6, 1}}},            /* leads to 0 */
	{PATHPROF_REFUSED_TARGET, 0, 1, {{23, 0}}},           /* leads to 28 */
	{PATHPROF_REFUSED_OVERLAP, 1, 2, {{0, 2}, {8, 0}}},   /* jmp 0 lies between */
	{PATHPROF_REFUSED_OVERLAP, 1, 2, {{0, 10}, {14, 0}}}, /* call rax does */
	{PATHPROF_REFUSED_OVERLAP, 1, 2, {{0, 15}, {16, 0}}}, /* far ret does */
	{PATHPROF_REFUSED_OVERLAP, 1, 2, {{0, 18}, {22, 0}}}, /* far jmp does */
	{PATHPROF_REFUSED_OVERLAP, 1, 2, {{0, 8}, {6, 0}}},   /* lies before */
	{PATHPROF_REFUSED_UNDECODABLE, 1, 2, {{0, 9}, {14, 0}}},
	{PATHPROF_REFUSED_UNDECODABLE, 1, 2, {{0, 12}, {14, 0}}},
	{PATHPROF_REFUSED_UNDECODABLE, 1, 2, {{0, 17}, {22, 0}}},
	{PATHPROF_REFUSED_UNDECODABLE, 1, 2, {{0, 28}, {30, 0}}},
	{PATHPROF_REFUSED_TOO_LONG, 1, 2, {{0, 2}, {70000, 0}}},
	{PATHPROF_REFUSED_OVERLAP, 2, 3, {{0, 2}, {6, 0}, {6, 0}}}, /* twice the same */
};

static void check_refused(struct world *w, const struct refused *c)
{
	struct pathprof_branch branches[2], untouched[2];
	struct pathprof_taken taken[3];
	uint32_t cnt = 4711, at = 4711;

	memset(branches, 0x55, sizeof(branches));
	memcpy(untouched, branches, sizeof(branches));
	for (uint32_t i = 0; i < c->cnt; i++)
		taken[i] = (struct pathprof_taken){BASE + c->taken[i].from, BASE + c->taken[i].to};
	CU_ASSERT_EQUAL(pathprof_reconstruct(w->r, taken, c->cnt, branches, &cnt, &at), c->refusal);
	CU_ASSERT_EQUAL(at, c->at);
	CU_ASSERT_EQUAL(cnt, 4711);
	CU_ASSERT_EQUAL(memcmp(branches, untouched, sizeof(branches)), 0);
}

/* The second time most of it is known, and the answer is the same. */
static void test_refusals(void)
{
	struct world w;

	open_world(&w, hand, sizeof(hand));
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
			check_refused(&w, &refused[i]);
	close_world(&w);
}

static void test_ends_of_memory(void)
{
	static const struct pathprof_taken windows[][2] = {
		{{BASE, UINT64_MAX - 1}, {UINT64_MAX, 0}},
		{{BASE, 0}, {UINT64_MAX, 0}},
		{{BASE, UINT64_MAX}, {0, 0}},
		{{BASE, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}},
	};
	struct pathprof_branch branches[4];
	uint32_t cnt, at;
	struct world w;

	open_world(&w, hand, sizeof(hand));
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		CU_ASSERT(pathprof_reconstruct(w.r, windows[i], 2, branches, &cnt, &at) > 0);
	close_world(&w);
}

/* jmp rax, then so many instructions of two bytes, then ret. */
static void open_row(struct world *w, uint8_t opcode, uint32_t cnt)
{
	uint8_t *bytes = malloc(2 * (size_t)cnt + 3);

	if (!bytes)
		abort();
	bytes[0] = 0xff;
	bytes[1] = 0xe0;
	for (uint32_t i = 0; i < cnt; i++) {
		bytes[2 + 2 * i] = opcode;
		bytes[3 + 2 * i] = opcode == 0x74 ? 0 : 0xc0;
	}
	bytes[2 + 2 * (size_t)cnt] = 0xc3;
	open_world(w, bytes, 2 * (size_t)cnt + 3);
	free(bytes);
}

static int through_row(struct world *w, uint32_t cnt, uint32_t *ret_cnt)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	struct pathprof_taken taken[] = {{BASE, BASE + 2}, {BASE + 2 + 2 * (uint64_t)cnt, BASE}};
	uint32_t at;
	int refusal = pathprof_reconstruct(w->r, taken, 2, branches, ret_cnt, &at);

	pathprof_reconstructor_forget(w->r);
	return refusal;
}

static void test_too_long(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t cnt;
		int refusal;
	} rows[] = {
		{0x31, 0, 0},
		{0x31, PP_WAY_BYTES_MAX / 2, 0},
		{0x31, PP_WAY_BYTES_MAX / 2 + 1, PATHPROF_REFUSED_TOO_LONG},
		{0x74, PATHPROF_BURST_MAX - 2, 0},
		{0x74, PATHPROF_BURST_MAX - 1, PATHPROF_REFUSED_TOO_LONG},
		{0x74, PATHPROF_BURST_MAX, PATHPROF_REFUSED_TOO_LONG},
		{0x74, PATHPROF_BURST_MAX + 1, PATHPROF_REFUSED_TOO_LONG},
	};
	struct world w;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t cnt = 0, want = rows[i].opcode == 0x74 ? rows[i].cnt + 2 : 2;

		open_row(&w, rows[i].opcode, rows[i].cnt);
		CU_ASSERT_EQUAL(through_row(&w, rows[i].cnt, &cnt), rows[i].refusal);
		CU_ASSERT_EQUAL(cnt, rows[i].refusal ? 0 : want);
		close_world(&w);
	}
}

static void test_longest_window(void)
{
	static struct pathprof_taken taken[PATHPROF_BURST_MAX + 1];
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t cnt = 0, at = 0;
	struct world w;

	for (size_t i = 0; i <= PATHPROF_BURST_MAX; i++)
		taken[i] = (struct pathprof_taken){BASE, BASE};
	open_world(&w, hand, sizeof(hand));
	CU_ASSERT_EQUAL(pathprof_reconstruct(w.r, taken, PATHPROF_BURST_MAX, branches, &cnt, &at),
			0);
	CU_ASSERT_EQUAL(cnt, PATHPROF_BURST_MAX);
	CU_ASSERT_EQUAL(
		pathprof_reconstruct(w.r, taken, PATHPROF_BURST_MAX + 1, branches, &cnt, &at),
		PATHPROF_REFUSED_TOO_LONG);
	CU_ASSERT_EQUAL(at, PATHPROF_BURST_MAX);
	close_world(&w);
}

static void test_names(void)
{
	for (int i = 1; i < PATHPROF_REFUSED_CNT; i++)
		for (int j = 1; j <= i; j++)
			CU_ASSERT_EQUAL(!strcmp(pathprof_refusal_name((enum pathprof_refusal)i),
						pathprof_refusal_name((enum pathprof_refusal)j)),
					i == j);
	CU_ASSERT_STRING_EQUAL(pathprof_refusal_name((enum pathprof_refusal)1000), "unknown");
}

/* ---------------------------------------------------------------- more ways than are kept */

#define ROWS 70000u

/* ROWS times: so many conditional branches to what is behind them, and a return. */
static void open_rows(struct world *w, uint32_t conditionals)
{
	size_t row = 2 * (size_t)conditionals + 1;
	uint8_t *bytes = calloc(ROWS, row);

	if (!bytes)
		abort();
	for (size_t i = 0; i < ROWS * row; i++)
		bytes[i] = i % row == row - 1 ? 0xc3 : i % row % 2 ? 0x00 : 0x74;
	open_world(w, bytes, ROWS * row);
	free(bytes);
}

/* Rows [first, first + 64), one after the other. */
static bool run_rows(struct world *w, uint32_t conditionals, uint32_t first)
{
	static struct window window;
	uint64_t row = 2 * (uint64_t)conditionals + 1;
	struct pathprof_branch b;

	window.taken_cnt = window.exact_cnt = 0;
	for (uint64_t i = first; i < first + 64; i++) {
		uint64_t at = BASE + i * row;

		for (uint32_t n = 0; window.taken_cnt && n < conditionals; n++) {
			b = (struct pathprof_branch){.from = at + 2 * (uint64_t)n,
						     .kind = PERF_BR_COND};
			b.target = b.next = b.from + 2;
			window.exact[window.exact_cnt++] = b;
		}
		b = (struct pathprof_branch){at + row - 1, at + row, at + row, PERF_BR_RET, 1};
		window.exact[window.exact_cnt++] = b;
		window.taken[window.taken_cnt++] = (struct pathprof_taken){b.from, b.next};
	}
	return reconstruct(w, &window) == 0 && came_back(&window);
}

static void test_more_than_is_kept(void)
{
	static const uint32_t conditionals[] = {0, 1, 3};

	for (size_t c = 0; c < sizeof(conditionals) / sizeof(conditionals[0]); c++) {
		uint32_t wrong = 0;
		struct world w;

		open_rows(&w, conditionals[c]);
		for (uint32_t first = 0; first + 64 <= ROWS; first += 50)
			wrong += !run_rows(&w, conditionals[c], first);
		CU_ASSERT_EQUAL(wrong, 0);
		CU_ASSERT(run_rows(&w, conditionals[c], 0));
		close_world(&w);
	}
}

static const struct unit_test tests[] = {
	{"made-up programs come back branch for branch", test_programs},
	{"instructions may lie across mappings", test_pieces},
	{"what was read is kept until forgotten; unknown code is not", test_kept},
	{"a lost record that fits is found by the comparison", test_lost_record_is_found},
	{"each refusal has its reason and place, and writes nothing", test_refusals},
	{"addresses at the ends of memory are refused", test_ends_of_memory},
	{"ways and windows up to their bounds, not beyond", test_too_long},
	{"the longest window", test_longest_window},
	{"refusals have names of their own", test_names},
	{"more ways than are kept", test_more_than_is_kept},
};
UNIT_SUITE(reconstruct, tests)
