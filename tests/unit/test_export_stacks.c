// SPDX-License-Identifier: GPL-2.0-or-later
/* Exports of stacks by names alone: folded lines, pprof, and what a frame may hold. */
#include "export_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void test_stacks(void)
{
	static const struct pathprof_export_stack list[] = {{"a;main;f", 3}, {"[kernel];g", 1}};
	const struct pathprof_export_stacks stacks = {
		.stacks = list, .stack_cnt = 2, .figure = "time"};
	struct pathprof_error error;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(pathprof_export_stacks(PATHPROF_FORMAT_FOLDED, &stacks, file, &error), 0);
	CU_ASSERT_EQUAL(pathprof_export_stacks(PATHPROF_FORMAT_CSV, &stacks, file, &error),
			-EOPNOTSUPP);
	fclose(file);
	CU_ASSERT_STRING_EQUAL(text, "a;main;f 3\n[kernel];g 1\n");
	free(text);
	file = fopen("/dev/full", "w");
	setvbuf(file, NULL, _IONBF, 0);
	CU_ASSERT_EQUAL(pathprof_export_stacks(PATHPROF_FORMAT_PPROF, &stacks, file, &error), -EIO);
	fclose(file);
}

/* The function's file, and its mapping's file and build-id; mapped NULL: it has no mapping. */
static void check_location(const PpPprof__Profile *p, size_t number, const char *file,
			   const char *mapped, const char *id)
{
	const PpPprof__Location *l = p->location[number];
	const PpPprof__Mapping *m;

	CU_ASSERT_EQUAL_FATAL(l->line[0]->function_id, number + 1);
	CU_ASSERT_STRING_EQUAL(p->string_table[p->function[number]->filename], file);
	CU_ASSERT_FATAL(l->mapping_id <= p->n_mapping);
	if (!mapped) {
		CU_ASSERT_EQUAL(l->mapping_id, 0);
		return;
	}
	CU_ASSERT_FATAL(l->mapping_id > 1);
	m = p->mapping[l->mapping_id - 1];
	CU_ASSERT_EQUAL(m->id, l->mapping_id);
	CU_ASSERT_STRING_EQUAL(p->string_table[m->filename], mapped);
	CU_ASSERT_STRING_EQUAL(p->string_table[m->build_id], id);
}

/* Functions of one name in two programs, in two builds of one, in the kernel and in no binary. */
static void test_stacks_of_binaries(void)
{
	static const struct pathprof_export_stack list[] = {{"main\t/bin/a\t01", 1},
							    {"main\t/bin/b\t02", 2},
							    {"main\t/bin/b\t03", 4},
							    {"main\t[kernel]\t", 8},
							    {"main", 16},
							    {"main\t/bin/a\t01;g\t/bin/a\t01", 32}};
	const struct pathprof_export_stacks stacks = {
		.stacks = list, .stack_cnt = 6, .figure = "time"};
	struct pathprof_error error;
	PpPprof__Profile *p;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(pathprof_export_stacks(PATHPROF_FORMAT_PPROF, &stacks, file, &error), 0);
	fclose(file);
	p = export_world_pprof(text, size);
	CU_ASSERT_EQUAL_FATAL(p->n_location, 6);
	CU_ASSERT_EQUAL_FATAL(p->n_function, 6);
	CU_ASSERT_EQUAL_FATAL(p->n_mapping, 5);
	CU_ASSERT_STRING_EQUAL(p->string_table[p->mapping[0]->filename], "");
	for (size_t i = 0; i < 5; i++)
		CU_ASSERT_STRING_EQUAL(p->string_table[p->function[i]->name], "main");
	CU_ASSERT_STRING_EQUAL(p->string_table[p->function[5]->name], "g");
	check_location(p, 0, "[/bin/a]", "/bin/a", "01");
	check_location(p, 1, "[/bin/b]", "/bin/b", "02");
	check_location(p, 2, "[/bin/b]", "/bin/b", "03");
	check_location(p, 3, "[kernel]", "[kernel]", "");
	check_location(p, 4, "", NULL, NULL);
	check_location(p, 5, "[/bin/a]", "/bin/a", "01");
	CU_ASSERT_EQUAL_FATAL(p->sample[5]->n_location_id, 2);
	CU_ASSERT_EQUAL(p->sample[5]->location_id[0], 6);
	CU_ASSERT_EQUAL(p->sample[5]->location_id[1], 1);
	pp_pprof__profile__free_unpacked(p, NULL);
}

/* Characters that a terminal obeys go, U+009B in UTF-8 too, and what is not UTF-8; other letters
 * stay. */
static void test_frames_of_others(void)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	pathprof_export_frame(file, "a;b c\033\177\302\23331m\303\244\302");
	fclose(file);
	CU_ASSERT_STRING_EQUAL(text, "a:b c____31m\303\244\357\277\275");
	free(text);
}

static const struct unit_test tests[] = {
	{"stacks of any binaries, and a file that cannot be written", test_stacks},
	{"pprof keeps functions of one name apart by their binaries", test_stacks_of_binaries},
	{"a frame holds no control characters", test_frames_of_others},
};
UNIT_SUITE(export_stacks, tests)
