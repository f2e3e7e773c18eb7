// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Landing pads: exception tables made by hand in each encoding, unsound ones, and those of the C
 * library against a second decoder that knows only what that library's compiler writes.
 */
#include "../../libprofile/src/code/pp_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_writer.h"
#include "test_code.h"
#include "unit.h"

static void put(struct elf_writer *w, const void *bytes, size_t len)
{
	memcpy(w->table + w->table_len, bytes, len);
	w->table_len += len;
}

/* Function at 0x100, 0x80 long, with the table given; its pads. */
static size_t read_pads(const void *table, size_t len, struct pp_landing_pad *ret_pads, size_t room)
{
	struct pp_landing_pad *pads = NULL;
	struct elf_writer w;
	size_t cnt = 0;

	elf_writer_init(&w);
	put(&w, "....", 4);
	put(&w, table, len);
	elf_writer_frame(&w, 0x100, 0x80, 4, "", 0);
	struct pathprof_code *code = elf_writer_open(&w);
	CU_ASSERT_EQUAL_FATAL(pp_landing_pads_read(&pads, &cnt, code), 0);
	for (size_t i = 0; i < cnt && i < room; i++)
		ret_pads[i] = pads[i];
	free(pads);
	pathprof_code_free(code);
	return cnt;
}

static bool is_pad(const struct pp_landing_pad *pad, unsigned int start, unsigned int end,
		   unsigned int at)
{
	return pad->start == WRITER_TEXT + start && pad->end == WRITER_TEXT + end &&
	       pad->pad == WRITER_TEXT + at;
}

/* No base of its own, no types; call sites as ULEB128, the later one first. */
static const uint8_t leb_table[] = {0xff, 0xff, 0x01, 12, 0x20, 8,    0x70, 0,
				    0x10, 4,    0x60, 1,  0x30, 0x10, 0,    0};

static void test_leb(void)
{
	struct pp_landing_pad pads[4] = {{0}};

	CU_ASSERT_EQUAL_FATAL(read_pads(leb_table, sizeof(leb_table), pads, 4), 2);
	CU_ASSERT(is_pad(&pads[0], 0x110, 0x114, 0x160));
	CU_ASSERT(is_pad(&pads[1], 0x120, 0x128, 0x170));
}

static void test_other_encodings(void)
{
	/* Pads relative to an absolute address, a type table, sites of 4 bytes. */
	static const uint8_t wide[] = {0x03, 0x00, 0x12, 0x40, 0x00, 0x9b, 0xa0, 0x01,
				       0x03, 13,   0x10, 0,    0,    0,    0x02, 0,
				       0,    0,    0x05, 0,    0,    0,    0};
	/* Sites of 2 bytes, and of 8. */
	static const uint8_t narrow[] = {0xff, 0xff, 0x02, 7, 0x08, 0, 0x01, 0, 0x09, 0, 0};
	static const uint8_t large[] = {0xff, 0xff, 0x04, 25, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
					0,    0,    0,    0,  0, 9, 0, 0, 0, 0, 0, 0, 0, 0};
	struct pp_landing_pad pads[2] = {{0}};

	CU_ASSERT_EQUAL_FATAL(read_pads(wide, sizeof(wide), pads, 2), 1);
	CU_ASSERT(is_pad(&pads[0], 0x110, 0x112, 0x205));
	CU_ASSERT_EQUAL_FATAL(read_pads(narrow, sizeof(narrow), pads, 2), 1);
	CU_ASSERT(is_pad(&pads[0], 0x108, 0x109, 0x109));
	CU_ASSERT_EQUAL_FATAL(read_pads(large, sizeof(large), pads, 2), 1);
	CU_ASSERT(is_pad(&pads[0], 0x108, 0x109, 0x109));
}

static void test_unsound(void)
{
	/* Beyond its function; of no length; a pad that is no code. */
	static const uint8_t beyond[] = {0xff, 0xff, 0x01, 4, 0x70, 0x11, 0x20, 0};
	static const uint8_t nothing[] = {0xff, 0xff, 0x01, 4, 0x70, 0, 0x20, 0};
	static const uint8_t far[] = {0xff, 0xff, 0x01, 6, 0x70, 1, 0xff, 0xff, 0x7f, 0};
	/* An encoding there is not; more sites than bytes; a number without an end. */
	static const uint8_t unknown[] = {0xff, 0xff, 0x05, 4, 0x10, 1, 0x20, 0};
	static const uint8_t longer[] = {0xff, 0xff, 0x01, 5, 0x10, 1, 0x20, 0};
	static const uint8_t endless[] = {0xff, 0xff, 0x01, 4, 0x10, 1, 0x80, 0x80};
	static const struct {
		const uint8_t *table;
		size_t len;
	} tables[] = {{beyond, sizeof(beyond)},    {nothing, sizeof(nothing)},
		      {far, sizeof(far)},          {unknown, sizeof(unknown)},
		      {longer, sizeof(longer)},    {endless, sizeof(endless)},
		      {(const uint8_t *)"", 0},    {(const uint8_t *)"\xff\xff\x01", 3},
		      {(const uint8_t *)"\x50", 1}};
	struct pp_landing_pad pad = {0};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		CU_ASSERT_EQUAL(read_pads(tables[i].table, tables[i].len, &pad, 1), 0);
}

/* The entries before the damage are kept. */
static void test_cut_off(void)
{
	uint8_t table[sizeof(leb_table)];
	struct pp_landing_pad pad = {0};

	memcpy(table, leb_table, sizeof(table));
	table[3] = 5;
	CU_ASSERT_EQUAL(read_pads(table, sizeof(table), &pad, 1), 1);
	CU_ASSERT(is_pad(&pad, 0x120, 0x128, 0x170));
}

/* Many records of one table, as no compiler writes them, do not multiply what is in it. */
static void test_shared_table(void)
{
	struct pp_landing_pad *pads = NULL;
	struct elf_writer w;
	size_t cnt = 0;

	elf_writer_init(&w);
	put(&w, leb_table, sizeof(leb_table));
	for (int i = 0; i < 100; i++)
		elf_writer_frame(&w, 0x100, 0x80, 0, "", 0);
	struct pathprof_code *code = elf_writer_open(&w);
	CU_ASSERT_EQUAL_FATAL(pp_landing_pads_read(&pads, &cnt, code), 0);
	CU_ASSERT(cnt >= 2 && cnt <= 4);
	free(pads);
	pathprof_code_free(code);
}

static void test_none(void)
{
	struct pp_landing_pad *pads = NULL;
	struct elf_writer w;
	size_t cnt = 7;

	elf_writer_init(&w);
	struct pathprof_code *code = elf_writer_open(&w);
	CU_ASSERT_EQUAL(pp_landing_pads_read(&pads, &cnt, code), 0);
	CU_ASSERT_EQUAL(cnt, 0);
	free(pads);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- a real file */

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

static uint64_t take_uleb(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

struct oracle {
	uint64_t sum;
	size_t cnt;
};

/* The compiler writes tables without a base, with sites as ULEB128. False: another form. */
static bool oracle_table(struct oracle *o, const uint8_t *at, const uint8_t *end, uint64_t start)
{
	if (end - at < 4 || *at++ != 0xff)
		return false;
	if (*at++ != 0xff)
		take_uleb(&at, end);
	if (*at++ != 0x01)
		return false;
	uint64_t len = take_uleb(&at, end);
	const uint8_t *sites_end = at + len;
	while (at < sites_end && at < end) {
		uint64_t from = take_uleb(&at, end), bytes = take_uleb(&at, end);
		uint64_t pad = take_uleb(&at, end);

		take_uleb(&at, end);
		o->cnt += pad && bytes;
		o->sum += pad && bytes ? (start + from) * 3 + (start + pad) * 5 + bytes : 0;
	}
	return true;
}

static uint64_t sum_of(const struct pp_landing_pad *pad)
{
	return pad->start * 3 + pad->pad * 5 + (pad->end - pad->start);
}

static struct oracle ask_oracle(struct pathprof_code *code)
{
	const struct pp_frame *frames;
	struct oracle want = {0};
	struct pp_section section;
	struct pp_cursor bytes;

	CU_ASSERT_FATAL(pp_section_named(code, ".gcc_except_table", &section));
	CU_ASSERT_FATAL(pp_section_open(&section, &bytes));
	for (size_t i = pp_frames_all(code, &frames); i-- > 0;)
		if (frames[i].exceptions)
			CU_ASSERT(oracle_table(&want,
					       bytes.base + (frames[i].exceptions - bytes.vaddr),
					       bytes.base + bytes.end, frames[i].start));
	return want;
}

/* The planted fault: a pad a byte off. */
static void test_libc(void)
{
	struct pp_landing_pad *pads = NULL;
	struct oracle have = {0}, want;
	struct pathprof_code *code;

	if (access(LIBC, R_OK)) {
		unit_skip("no " LIBC);
		return;
	}
	code = open_code(LIBC);
	want = ask_oracle(code);
	CU_ASSERT_EQUAL_FATAL(pp_landing_pads_read(&pads, &have.cnt, code), 0);
	for (size_t i = 0; i < have.cnt; i++) {
		CU_ASSERT(!i || pads[i].start >= pads[i - 1].end);
		have.sum += sum_of(&pads[i]);
	}
	CU_ASSERT(want.cnt > 50);
	CU_ASSERT_EQUAL(have.cnt, want.cnt);
	CU_ASSERT_EQUAL(have.sum, want.sum);
	have.sum -= sum_of(&pads[0]);
	pads[0].pad++;
	CU_ASSERT_NOT_EQUAL(have.sum + sum_of(&pads[0]), want.sum);
	free(pads);
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"call sites come sorted, those without a pad are left out", test_leb},
	{"every encoding of tables is read", test_other_encodings},
	{"unsound call sites are left out", test_unsound},
	{"what came before damage counts", test_cut_off},
	{"a table named by many records is not read for ever", test_shared_table},
	{"a file without tables has no pads", test_none},
	{"the pads of the C library are those of a second decoder", test_libc},
};
UNIT_SUITE(landing_pads, tests)
