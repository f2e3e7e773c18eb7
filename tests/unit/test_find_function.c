// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions by name: in a file whose symbols share names and places, against a naive search of the
 * table that file was made from, and in this very executable.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "elf_writer.h"
#include "test_code.h"
#include "unit.h"

#define TEXT_OFFSET WRITER_PAGE /* of the code in the file */
#define GLOBAL      ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define WEAK        ELF64_ST_INFO(STB_WEAK, STT_FUNC)
#define LOCAL       ELF64_ST_INFO(STB_LOCAL, STT_FUNC)

static const struct {
	const char *name;
	unsigned int start, size;
	unsigned char info;
} named[] = {
	{"alone", 0x00, 0x10, LOCAL},
	/* One name in three files: the one that others may call is meant. */
	{"thrice", 0x10, 0x08, LOCAL},
	{"thrice", 0x20, 0x10, GLOBAL},
	{"thrice", 0x30, 0x18, WEAK},
	{"twice", 0x48, 0x08, LOCAL},
	{"twice", 0x50, 0x10, WEAK},
	/* Two places of one function. */
	{"alias", 0x60, 0x10, WEAK},
	{"of_alias", 0x60, 0x10, GLOBAL},
	/* Two versions: the default one is what the plain name calls. */
	{"copy@@NEW_2", 0x70, 0x10, GLOBAL},
	{"copy@OLD_1", 0x80, 0x10, GLOBAL},
	{"", 0x90, 0x10, GLOBAL},
	{"alon", 0xa0, 0x10, GLOBAL},
};
#define NAMED_CNT (sizeof(named) / sizeof(named[0]))

static struct pathprof_code *open_named(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	for (size_t i = 0; i < NAMED_CNT; i++)
		elf_writer_symbol(&w, named[i].name, named[i].start, named[i].size, named[i].info);
	return elf_writer_open(&w);
}

static int rank_of(unsigned char info)
{
	if (ELF64_ST_BIND(info) == STB_GLOBAL)
		return 2;
	return ELF64_ST_BIND(info) == STB_WEAK;
}

/* Whether that symbol is what a name calls: its default version counts, no other does. */
static bool is_called(const char *symbol, const char *name)
{
	return !strcmp(symbol, name) || (!strcmp(symbol, "copy@@NEW_2") && !strcmp(name, "copy"));
}

/* The place in the table that a name stands for; by_first: a fault. -1: none. */
static int expect_named(const char *name, bool by_first)
{
	int best = -1;

	for (size_t i = 0; i < NAMED_CNT; i++)
		if (name[0] && is_called(named[i].name, name) &&
		    (best < 0 || (!by_first && rank_of(named[i].info) > rank_of(named[best].info))))
			best = (int)i;
	return best;
}

static bool finds_named(struct pathprof_code *code, const char *name, bool by_first)
{
	uint64_t start = 1, end = 2;
	int want = expect_named(name, by_first);
	int rc = pathprof_code_find_function(code, name, &start, &end);

	if (want < 0)
		return rc == -ENOENT && start == 1 && end == 2;
	return rc == 0 && start == TEXT_OFFSET + named[want].start &&
	       end == start + named[want].size;
}

static void test_find_function(void)
{
	struct pathprof_code *code = open_named();
	uint64_t start = 0, end = 0;
	size_t planted = 0;

	for (size_t i = 0; i < NAMED_CNT; i++) {
		CU_ASSERT(finds_named(code, named[i].name, false));
		planted += !finds_named(code, named[i].name, true);
	}
	/* The three of "thrice" and the two of "twice". */
	CU_ASSERT_EQUAL(planted, 5);
	CU_ASSERT_EQUAL(pathprof_code_find_function(code, "thrice", &start, &end), 0);
	CU_ASSERT_EQUAL(start, TEXT_OFFSET + 0x20);
	CU_ASSERT_EQUAL(end, TEXT_OFFSET + 0x30);
	CU_ASSERT(finds_named(code, "copy", false));
	CU_ASSERT_EQUAL(pathprof_code_find_function(code, "copy", &start, &end), 0);
	CU_ASSERT_EQUAL(start, TEXT_OFFSET + 0x70);
	pathprof_code_free(code);
}

/* Names are compared whole: a version that is not the default is a part, and nothing has none. */
static void test_find_no_function(void)
{
	static const char *const names[] = {"",    "nowhere", "alone ",    "Alone", "alo",
					    "cop", "copy@",   "copy@@NEW", "@OLD",  "twice@@NEW_2"};
	struct pathprof_code *code = open_named();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT(finds_named(code, names[i], false));
	pathprof_code_free(code);
	code = open_code(make_elf("\xc3", 1));
	CU_ASSERT(finds_named(code, "nowhere", false));
	pathprof_code_free(code);
}

/* A function found by name is the one that is found by an offset in it. */
static void test_find_self(void)
{
	struct pathprof_code *code = open_code(SELF);
	uint64_t start = 0, end = 0, back = 1;
	const char *name = NULL;

	CU_ASSERT_EQUAL_FATAL(
		pathprof_code_find_function(code, "pathprof_code_find_function", &start, &end), 0);
	CU_ASSERT_EQUAL(start, offset_of(code, (const void *)pathprof_code_find_function));
	CU_ASSERT(end > start);
	CU_ASSERT_EQUAL(pathprof_code_function(code, end - 1, &name, &back), 0);
	CU_ASSERT_EQUAL(back, start);
	CU_ASSERT(is(name, "pathprof_code_find_function"));
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"a name is found where the best bound symbol has it", test_find_function},
	{"no function has another's name, a part of one, or none", test_find_no_function},
	{"what a name finds is told to be that function", test_find_self},
};
UNIT_SUITE(find_function, tests)
