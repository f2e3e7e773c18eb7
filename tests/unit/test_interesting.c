// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of interesting paths: what was written is read, added up and found; nothing else is. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/interesting.h"

static const char *path_of(const char *text)
{
	static char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/interesting", unit_tmpdir());
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
	return path;
}

static void test_written(void)
{
	static const struct pathprof_interesting_path paths[] = {
		{"f", "", 5, 0, 3},        {"f", "a.c", 5, 1, 4},
		{"f", "", 5, 9, 100},      {"f", "", UINT64_MAX, UINT64_MAX, 1},
		{"g h", "b c.c", 7, 2, 0}, {"f", "", 5, 0, 200}};
	struct pathprof_interesting *set;
	const struct pathprof_interesting_path *found;
	char *text;
	size_t bytes, cnt;
	FILE *file = open_memstream(&text, &bytes);

	pathprof_interesting_print_head(file);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		pathprof_interesting_print(file, &paths[i]);
	fclose(file);
	CU_ASSERT_EQUAL_FATAL(pathprof_interesting_read(&set, path_of(text), NULL), 0);
	free(text);
	found = pathprof_interesting_find(set, "f", "", 5, &cnt);
	CU_ASSERT_EQUAL_FATAL(cnt, 2);
	CU_ASSERT(found[0].id == 0 && found[0].count == 203);
	CU_ASSERT(found[1].id == 9 && found[1].count == 100);
	found = pathprof_interesting_find(set, "f", "", UINT64_MAX, &cnt);
	CU_ASSERT(cnt == 1 && found->id == UINT64_MAX);
	found = pathprof_interesting_find(set, "g h", "b c.c", 7, &cnt);
	CU_ASSERT(cnt == 1 && found->id == 2);
	pathprof_interesting_find(set, "f", "", 6, &cnt);
	CU_ASSERT_EQUAL(cnt, 0);
	CU_ASSERT(pathprof_interesting_names(set, "f", "a.c"));
	CU_ASSERT(!pathprof_interesting_names(set, "f", "b.c"));
	CU_ASSERT(!pathprof_interesting_names(set, "z", ""));
	pathprof_interesting_free(set);
}

#define HEAD "pathprof-interesting 1\n"

static void test_refused(void)
{
	static const char *const texts[] = {"",
					    "\n",
					    "pathprof-interesting 2\n",
					    "f\t\t5\t1\t2\n",
					    HEAD "f\n",
					    HEAD "\n",
					    HEAD "f\t\t5\t1\n",
					    HEAD "f\t\t5\t1\t2\t3\n",
					    HEAD "\t\t5\t1\t2\n",
					    HEAD "f\t\tg\t1\t2\n",
					    HEAD "f\t\t5\t-1\t2\n",
					    HEAD "f\t\t5\t1\t99999999999999999999\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pathprof_interesting *set;
		struct pathprof_error error = {""};

		CU_ASSERT_EQUAL(pathprof_interesting_read(&set, path_of(texts[i]), &error),
				-EBADMSG);
		CU_ASSERT(strstr(error.text, "interesting") != NULL);
	}
}

static void test_empty(void)
{
	struct pathprof_interesting *set;
	size_t cnt = 5;

	CU_ASSERT_EQUAL_FATAL(pathprof_interesting_read(&set, path_of(HEAD HEAD), NULL), 0);
	CU_ASSERT(pathprof_interesting_find(set, "f", "", 5, &cnt) == NULL && cnt == 0);
	CU_ASSERT(!pathprof_interesting_names(set, "f", ""));
	pathprof_interesting_free(set);
	CU_ASSERT_EQUAL(pathprof_interesting_read(&set, "/nonexistent/file", NULL), -ENOENT);
}

/* Every part of a graph tells in its shape. */
static void test_shape(void)
{
	static const struct pathprof_flow_arc arcs[] = {
		{0, 1, false}, {0, 2, false}, {1, 2, false}};
	uint64_t shape = pathprof_interesting_shape(3, arcs, 3);

	CU_ASSERT_EQUAL(pathprof_interesting_shape(3, arcs, 3), shape);
	CU_ASSERT_NOT_EQUAL(pathprof_interesting_shape(4, arcs, 3), shape);
	CU_ASSERT_NOT_EQUAL(pathprof_interesting_shape(3, arcs, 2), shape);
	for (size_t i = 0; i < 3; i++) {
		struct pathprof_flow_arc other[3];

		memcpy(other, arcs, sizeof(arcs));
		other[i].cut = true;
		CU_ASSERT_NOT_EQUAL(pathprof_interesting_shape(3, other, 3), shape);
		other[i].cut = false;
		other[i].to++;
		CU_ASSERT_NOT_EQUAL(pathprof_interesting_shape(3, other, 3), shape);
	}
}

static const struct unit_test tests[] = {
	{"what was written is read, added up and found", test_written},
	{"what is no such file is refused", test_refused},
	{"a file without paths has none", test_empty},
	{"every part of a graph tells in its shape", test_shape},
};
UNIT_SUITE(interesting, tests)
