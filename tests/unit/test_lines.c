// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source lines and inline trees on copies of this executable: without .debug_aranges, as clang
 * leaves files, and without debug information. Other compilers' files are held against
 * llvm-symbolizer by tests/scenario/export_tools.sh.
 */
#include "pathprof/inlines.h"
#include "test_code.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Code of several units: this one, and the library's. */
static const void *const places[] = {
	(const void *)unit_register,
	(const void *)pathprof_inlines_open,
	(const void *)pathprof_code_open,
};
#define PLACES     (sizeof(places) / sizeof(places[0]))
#define BYTES_EACH 200

static int copy_with(const char *option, char *path, size_t size)
{
	char command[1024];

	snprintf(path, size, "%s/copy", unit_tmpdir());
	snprintf(command, sizeof(command), "objcopy %s /proc/%d/exe %s 2>&1", option, (int)getpid(),
		 path);
	return system(command); /* NOLINT(cert-env33-c): names made here */
}

/* How many places of it have a line; those that another file has otherwise are counted. */
static unsigned int compare_lines(struct pathprof_code *code, struct pathprof_code *other,
				  unsigned int *differ)
{
	unsigned int cnt = 0;

	for (size_t i = 0; i < PLACES * BYTES_EACH; i++) {
		uint64_t offset = offset_of(code, places[i / BYTES_EACH]) + i % BYTES_EACH;
		const char *file = "", *other_file = "";
		int line = 0, other_line = 0;
		int rc = pathprof_code_line(code, offset, &file, &line);

		*differ += pathprof_code_line(other, offset, &other_file, &other_line) != rc ||
			   line != other_line || strcmp(file, other_file) != 0;
		cnt += !rc;
	}
	return cnt;
}

static void test_without_aranges(void)
{
	struct pathprof_code *whole, *code;
	unsigned int differ = 0;
	char path[256];

	if (copy_with("--remove-section=.debug_aranges", path, sizeof(path))) {
		unit_skip("no objcopy");
		return;
	}
	whole = open_code(SELF);
	code = open_code(path);
	CU_ASSERT(compare_lines(whole, code, &differ) > PLACES * BYTES_EACH / 2);
	CU_ASSERT_EQUAL(differ, 0);
	pathprof_code_free(code);
	pathprof_code_free(whole);
}

/* The planted fault: without its line tables the same copy has other lines, none. */
static void test_without_tables(void)
{
	struct pathprof_code *whole, *code;
	unsigned int differ = 0, cnt;
	char path[256];

	if (copy_with("--remove-section=.debug_line", path, sizeof(path))) {
		unit_skip("no objcopy");
		return;
	}
	whole = open_code(SELF);
	code = open_code(path);
	cnt = compare_lines(whole, code, &differ);
	CU_ASSERT_EQUAL(differ, cnt);
	pathprof_code_free(code);
	pathprof_code_free(whole);
}

static void test_without_debug(void)
{
	struct pathprof_inlines *inlines = NULL;
	struct pathprof_error error = {""};
	struct pathprof_code *code;
	const char *file = NULL;
	char path[256];
	int line = 0;

	if (copy_with("--strip-debug", path, sizeof(path))) {
		unit_skip("no objcopy");
		return;
	}
	code = open_code(path);
	CU_ASSERT_EQUAL(pathprof_code_line(code, offset_of(code, places[0]), &file, &line),
			-ENOENT);
	CU_ASSERT_PTR_NULL(file);
	CU_ASSERT_EQUAL(pathprof_inlines_open(&inlines, code, &error), -ENOENT);
	CU_ASSERT_PTR_NULL(inlines);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "-g"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, path));
	pathprof_code_free(code);
}

/* Lines and the outermost frame's function agree with the symbols, byte by byte. */
static void test_frames_agree(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct pathprof_source_frame frames[16];
	struct pathprof_inlines *inlines;
	unsigned int known = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_open(&inlines, code, NULL), 0);
	for (size_t i = 0; i < PLACES * BYTES_EACH; i++) {
		uint64_t offset = offset_of(code, places[i / BYTES_EACH]) + i % BYTES_EACH, start;
		int cnt = pathprof_inlines_at(inlines, offset, frames, 16), line = 0;
		const char *file = NULL, *name = NULL;

		if (cnt <= 0 || pathprof_code_function(code, offset, &name, &start) || !name)
			continue;
		CU_ASSERT(is(frames[cnt - 1].linkage_name, name));
		if (!pathprof_code_line(code, offset, &file, &line)) {
			CU_ASSERT(is(frames[0].file, file));
			CU_ASSERT_EQUAL(frames[0].line, line);
		}
		known++;
	}
	CU_ASSERT(known > PLACES * BYTES_EACH / 2);
	pathprof_inlines_free(inlines);
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"lines without a table of units' addresses are the same", test_without_aranges},
	{"missing line tables are noticed by that comparison", test_without_tables},
	{"no debug information is said with what to do", test_without_debug},
	{"frames agree with symbols and lines", test_frames_agree},
};
UNIT_SUITE(lines, tests)
