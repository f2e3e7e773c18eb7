// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Folded stacks, a line each, as flame graphs are drawn from:
 *
 *     prog@0123456789ab;_start;main;inlined_into_main 1234
 *
 * A stack is the binary with its build-id, the function's callers where they are known, the
 * function, and what was inlined into it, by the names that linkers know (c++filt reads these).
 * The number is the CPU time in nanoseconds where a clock ran, else that of instructions that ran.
 * There are no comment lines, which readers would complain of; the binary's frame is all of the
 * origin that there is.
 *
 * Workload: once an export; lines are sorted and the same ones added up.
 */
#include "pp_export.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pp_callers.h"
#include "pp_source_pieces.h"

struct line {
	char *stack;
	uint64_t count;
};

struct lines {
	struct line *lines;
	size_t cnt, room;
	struct pp_callers callers;
	bool timed;
	char root[NAME_MAX + PATHPROF_BUILD_ID_TEXT_LEN];
};

static void put_callers(FILE *file, const struct lines *lines, uint32_t number)
{
	const struct pathprof_export_chain *chain;

	if (number == PATHPROF_NO_CHAIN)
		return;
	chain = &lines->callers.x->options.callers->chains[number];
	for (uint32_t i = 0; i < chain->name_cnt; i++) {
		fputc(';', file);
		pathprof_export_frame(file, chain->names[i]);
	}
}

static char *stack_of(const struct lines *lines, const struct pp_piece *piece, uint32_t chain)
{
	char *stack = NULL;
	size_t size;
	FILE *file = open_memstream(&stack, &size);

	if (!file)
		return NULL;
	pathprof_export_frame(file, lines->root);
	put_callers(file, lines, chain);
	for (uint32_t i = piece->frame_cnt; i-- > 0;) {
		fputc(';', file);
		pathprof_export_frame(file, piece->frames[i].linkage_name);
	}
	if (fclose(file)) {
		free(stack);
		return NULL;
	}
	return stack;
}

static int add_line(void *context, const struct pp_piece *piece, uint32_t chain)
{
	struct lines *lines = context;
	uint64_t count = lines->timed ? piece->time_ns : piece->instructions;
	char *stack;

	if (!count)
		return 0;
	if (pp_grow(&lines->lines, lines->cnt, &lines->room) < 0)
		return -ENOMEM;
	stack = stack_of(lines, piece, chain);
	if (!stack)
		return -ENOMEM;
	lines->lines[lines->cnt++] = (struct line){stack, count};
	return 0;
}

static int add_piece(void *context, const struct pp_piece *piece)
{
	struct lines *lines = context;

	return pp_callers_split(&lines->callers, piece, add_line, lines);
}

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->stack, ((const struct line *)b)->stack);
}

static void put_lines(const struct pp_export *x, struct lines *lines)
{
	if (lines->cnt)
		qsort(lines->lines, lines->cnt, sizeof(lines->lines[0]), by_stack);
	for (size_t i = 0; i < lines->cnt;) {
		const struct line *first = &lines->lines[i];
		uint64_t count = 0;

		for (; i < lines->cnt && !by_stack(first, &lines->lines[i]); i++)
			count = pp_count_sum(count, lines->lines[i].count);
		fprintf(x->file, "%s %" PRIu64 "\n", first->stack, count);
	}
}

static void name_root(const struct pp_export *x, struct lines *lines)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	snprintf(lines->root, sizeof(lines->root), "%s@%.12s", pp_export_binary(x),
		 pathprof_build_id_text(&x->graph->build_id, id));
}

int pp_write_folded(const struct pp_export *x)
{
	struct lines lines = {.timed = x->profile->time_cnt && !x->options.runs};
	int r;

	name_root(x, &lines);
	r = pp_callers_open(&lines.callers, x);
	if (!r)
		r = pp_source_pieces_each(x, add_piece, &lines);
	pp_callers_close(&lines.callers);
	if (r)
		r = pathprof_fail(x->error, r, "folded: %s", strerror(-r));
	else
		put_lines(x, &lines);
	for (size_t i = 0; i < lines.cnt; i++)
		free(lines.lines[i].stack);
	free(lines.lines);
	return r;
}
