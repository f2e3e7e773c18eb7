// SPDX-License-Identifier: GPL-2.0-or-later
/* perf map files against a naive oracle: the last line that covers an address. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/track/track_jit.h"
#include "unit.h"

static void add(struct pp_jit *jit, const char *text)
{
	size_t used_bytes = 0;

	CU_ASSERT_EQUAL(pp_jit_add(jit, text, strlen(text), &used_bytes), 0);
	CU_ASSERT_EQUAL(used_bytes, strlen(text));
}

static const char *name_at(struct pp_jit *jit, uint64_t address)
{
	static struct pp_jit_symbol symbol;

	return pp_jit_find(jit, address, &symbol) ? "" : symbol.name;
}

static void test_lines(void)
{
	struct pp_jit *jit;
	struct pp_jit_symbol symbol;

	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit), 0);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0, &symbol), -ENOENT);
	add(jit, "1000 20 first function\n0x2000 0x10 second\n");
	CU_ASSERT_EQUAL_FATAL(pp_jit_find(jit, 0x101f, &symbol), 0);
	CU_ASSERT_STRING_EQUAL(symbol.name, "first function");
	CU_ASSERT_EQUAL(symbol.start, 0x1000);
	CU_ASSERT_EQUAL(symbol.len_bytes, 0x20);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x2000), "second");
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0x1020, &symbol), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0xfff, &symbol), -ENOENT);
	pp_jit_free(jit);
}

static void test_hostile_lines(void)
{
	struct pp_jit *jit;
	struct pp_jit_symbol symbol;
	size_t used_bytes;
	static char line[5000];

	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit), 0);
	add(jit, "\n \nx\n10\n10 \n10 20\n10 20 \n10 0 empty\n-10 20 a\n"
		 "fffffffffffffff0 20 wraps\n00000000000000010 20 long\n10  20 two blanks\n"
		 "10 20\ttab\n0x 20 none\n");
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0x10, &symbol), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0xfffffffffffffff0, &symbol), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_add(jit, "10 1 \0\x1b[1m\n", 11, &used_bytes), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "??[1m");
	memset(line, 'n', 5000);
	line[0] = '3';
	line[1] = '0';
	line[2] = line[4] = ' ';
	line[3] = '1';
	line[4998] = '\n';
	CU_ASSERT_EQUAL(pp_jit_add(jit, line, 5000, &used_bytes), 0);
	CU_ASSERT_EQUAL(used_bytes, 4999);
	CU_ASSERT_EQUAL(strlen(name_at(jit, 0x30)), 1023);
	add(jit, "0 ffffffffffffffff all\n");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0xfffffffffffffffe), "all");
	pp_jit_free(jit);
}

static void test_symbols_are_bounded(void)
{
	const size_t len_bytes = (PP_JIT_SYMBOLS_MAX + (size_t)10) * 6;
	char *text = malloc(len_bytes);
	struct pp_jit *jit;
	size_t used_bytes;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	if (!text)
		return;
	for (size_t i = 0; i < len_bytes; i++)
		text[i] = "1 1 a\n"[i % 6];
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit), 0);
	CU_ASSERT_EQUAL(pp_jit_add(jit, text, len_bytes, &used_bytes), -ENOSPC);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 1), "a");
	pp_jit_free(jit);
	free(text);
}

/* ---------------------------------------------------------------- oracle */

#define LINE_CNT    60
#define ADDRESS_CNT 400

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* Adds LINE_CNT random lines; names[address] is the number of the last line that covers it. */
static void add_random(struct pp_jit *jit, uint64_t *random, int first, int *names)
{
	for (int i = first; i < first + LINE_CNT; i++) {
		uint32_t start = next_random(random) % (ADDRESS_CNT - 50);
		uint32_t len = 1 + next_random(random) % 50;
		char line[64];

		snprintf(line, sizeof(line), "%x %x %d\n", start, len, i);
		add(jit, line);
		for (uint32_t at = start; at < start + len; at++)
			names[at] = i;
	}
}

static unsigned int count_wrong(struct pp_jit *jit, const int *names)
{
	unsigned int wrong = 0;

	for (uint32_t at = 0; at < ADDRESS_CNT; at++) {
		const char *name = name_at(jit, at);

		wrong += (*name ? atoi(name) : -1) != names[at];
	}
	return wrong;
}

static void test_last_line_wins(void)
{
	uint64_t random = 1;
	unsigned int wrong = 0;

	for (int round = 0; round < 500; round++) {
		int names[ADDRESS_CNT];
		struct pp_jit *jit;

		memset(names, 0xff, sizeof(names));
		CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit), 0);
		add_random(jit, &random, 0, names);
		wrong += count_wrong(jit, names);
		add_random(jit, &random, LINE_CNT, names);
		wrong += count_wrong(jit, names);
		/* The fault: an oracle that forgot one address. */
		names[200] = names[200] < 0 ? 0 : -1;
		CU_ASSERT_EQUAL(count_wrong(jit, names), 1);
		pp_jit_free(jit);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* ---------------------------------------------------------------- files */

static char map_path[64];

static void write_map(const char *mode, const char *text)
{
	FILE *file = fopen(map_path, mode);

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void test_file_is_followed(void)
{
	struct pp_jit *jit;
	int r;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	unlink(map_path);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit), 0);
	r = pp_jit_refresh(jit, getpid(), 0);
	CU_ASSERT_EQUAL(r, -ENOENT);
	write_map("w", "10 10 one\n20 10 tw");
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "one");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x20), "");
	write_map("a", "o\n");
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x20), "two");
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), INT64_MAX), -ESTALE);
	write_map("w", "30 1 new\n");
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x30), "new");
	unlink(map_path);
	pp_jit_free(jit);
}

static void test_file_of_another_user(void)
{
	struct pp_jit *jit;

	if (geteuid() != 0) {
		unit_skip("needs root to give a file away");
		return;
	}
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	write_map("w", "10 10 forged\n");
	CU_ASSERT_EQUAL(chown(map_path, 65534, 65534), 0);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit), 0);
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), -EPERM);
	unlink(map_path);
	CU_ASSERT_EQUAL(mkfifo(map_path, 0600), 0);
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), -EINVAL);
	unlink(map_path);
	pp_jit_free(jit);
}

static const struct unit_test tests[] = {
	{"a symbol covers its addresses and no other", test_lines},
	{"what is no symbol line is passed over", test_hostile_lines},
	{"symbols are bounded", test_symbols_are_bounded},
	{"the last line that covers an address wins", test_last_line_wins},
	{"a file is followed as it grows, and read anew when replaced", test_file_is_followed},
	{"another user's file and a pipe are refused", test_file_of_another_user},
};
UNIT_SUITE(track_jit, tests)
