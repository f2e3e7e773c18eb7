// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines and branches that ran, and whether tests ran them: see untested_report.h. Source:
 * geninfo(1). */
#include "untested_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "base/table.h"

#define LINES_MAX        (1u << 26)
#define INSTRUCTION_SIZE 256

/* A line with an instruction that ran. The members before is_tested are its key. */
struct line {
	const char *file; /* the code's; equal names may lie in several places */
	uint64_t number;
	bool is_tested;
};

/* A branch that ran, and the ways it went, by untested_direction: not taken, taken. */
struct branch {
	uint64_t end; /* end of its block, hence behind the branch */
	uint64_t binary;
	const char *file;
	uint64_t number;
	bool has_run[2], is_tested[2];
};

struct lcov {
	const struct untested_report *report;
	struct pp_keyed lines, branches;
};

static int add_line(struct lcov *lcov, const char *file, int number, bool is_tested)
{
	struct line key = {.file = file, .number = (uint64_t)number};
	uint32_t index;
	int r = pp_keyed_at(&lcov->lines, &key, &index);

	if (r == 0)
		((struct line *)pp_keyed_item(&lcov->lines, index))->is_tested |= is_tested;
	return r;
}

static int add_branch(struct lcov *lcov, const struct untested_ran *ran, const char *file,
		      int number)
{
	struct branch key = {.end = ran->block.end, .binary = ran->binary}, *branch;
	uint32_t index;
	int r = pp_keyed_at(&lcov->branches, &key, &index);

	if (r < 0)
		return r;
	branch = pp_keyed_item(&lcov->branches, index);
	branch->file = file;
	branch->number = (uint64_t)number;
	branch->has_run[ran->block.taken != 0] = true;
	branch->is_tested[ran->block.taken != 0] |= ran->is_tested_way;
	return 0;
}

/*
 * Adds the lines of the block's instructions, or nothing for code without lines. A block that tests
 * entered in its middle has tested instructions behind untested ones.
 */
static int take_block(void *context, const struct untested_ran *ran)
{
	struct lcov *lcov = context;
	const struct untested_binary *binary = &lcov->report->untested->binaries[ran->binary];
	struct pathprof_code *code =
		symbols_code(lcov->report->symbols, &binary->id, binary->name, NULL);
	const char *file = NULL;
	unsigned int len;
	int number = 0, r = 0;

	for (uint64_t at = ran->block.start; code && at < ran->block.end && r == 0; at += len) {
		char text[INSTRUCTION_SIZE];

		if (pathprof_code_instruction(code, at, text, sizeof(text), &len) < 0)
			return 0;
		number = 0;
		if (pathprof_code_line(code, at, &file, &number) == 0 && number > 0)
			r = add_line(lcov, file, number, at >= ran->tested_from);
	}
	if (r == 0 && ran->is_conditional && number > 0)
		r = add_branch(lcov, ran, file, number);
	return r;
}

/* ---------------------------------------------------------------- the tracefile */

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_branches(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (!order)
		order = (x->number > y->number) - (x->number < y->number);
	return order ? order : (x->end > y->end) - (x->end < y->end);
}

/* Prints the rows of one file from at on. *ret_next is the first of the next file. */
static void print_lines(const struct line *lines, uint32_t cnt, uint32_t at, uint32_t *ret_next)
{
	const char *file = lines[at].file;
	uint32_t found = 0, hit = 0;

	while (at < cnt && strcmp(lines[at].file, file) == 0) {
		uint64_t number = lines[at].number;
		bool is_tested = false;

		for (; at < cnt && lines[at].number == number && strcmp(lines[at].file, file) == 0;
		     at++)
			is_tested |= lines[at].is_tested;
		printf("DA:%" PRIu64 ",%d\n", number, is_tested);
		found++;
		hit += is_tested;
	}
	printf("LF:%" PRIu32 "\nLH:%" PRIu32 "\n", found, hit);
	*ret_next = at;
}

/* The branches of the file, which begin at *at; ways that did not run are left out. */
static void print_branches(const struct branch *branches, uint32_t cnt, const char *file,
			   uint32_t *at)
{
	uint32_t found = 0, hit = 0;

	for (uint32_t block = 0; *at < cnt && strcmp(branches[*at].file, file) == 0; ++*at, block++)
		for (int way = 0; way < 2; way++) {
			if (!branches[*at].has_run[way])
				continue;
			printf("BRDA:%" PRIu64 ",%" PRIu32 ",%d,%d\n", branches[*at].number, block,
			       way, branches[*at].is_tested[way]);
			found++;
			hit += branches[*at].is_tested[way];
		}
	printf("BRF:%" PRIu32 "\nBRH:%" PRIu32 "\n", found, hit);
}

static void print_files(struct lcov *lcov)
{
	struct line *lines = (struct line *)(void *)lcov->lines.items;
	struct branch *branches = (struct branch *)(void *)lcov->branches.items;
	uint32_t branch = 0, at = 0;

	if (lcov->lines.cnt)
		qsort(lines, lcov->lines.cnt, sizeof(*lines), compare_lines);
	if (lcov->branches.cnt)
		qsort(branches, lcov->branches.cnt, sizeof(*branches), compare_branches);
	while (at < lcov->lines.cnt) {
		const char *file = lines[at].file;

		printf("TN:\nSF:%s\n", file);
		print_branches(branches, lcov->branches.cnt, file, &branch);
		print_lines(lines, lcov->lines.cnt, at, &at);
		printf("end_of_record\n");
	}
}

int untested_lcov(const struct untested_report *report)
{
	struct lcov lcov = {.report = report};
	int r;

	pp_keyed_init(&lcov.lines, sizeof(struct line), offsetof(struct line, is_tested), LINES_MAX,
		      0);
	pp_keyed_init(&lcov.branches, sizeof(struct branch), offsetof(struct branch, file),
		      LINES_MAX, 0);
	r = untested_each_block(report->untested, take_block, &lcov);
	if (r == 0 && !lcov.lines.cnt)
		r = -ENODATA;
	if (r == 0)
		print_files(&lcov);
	pp_keyed_release(&lcov.lines);
	pp_keyed_release(&lcov.branches);
	if (r == -ENODATA)
		return ctl_fail(
			"untested: no line of what ran is known: the binaries have no debug "
			"information (build with -g, or install it)");
	return r < 0 ? ctl_fail("untested: out of memory") : CTL_OK;
}
