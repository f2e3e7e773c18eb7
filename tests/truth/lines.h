/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text in which trace_truth and trace_dump say what one thread did, so that the two can be
 * held against each other byte for byte. Only what touches one module: addresses are offsets in
 * its file, whatever lies elsewhere is `-`, for there the emulated and the native CPU may go
 * different ways. A line a branch,
 *
 *     FROM KIND TARGET TAKEN NEXT INSNS
 *
 * INSNS being the instructions since the branch before, `-` unless that one stayed in the module
 * and nothing but branches came between. The entry of a handler, its return and any other leap:
 * `- signal - - NEXT -`, `sigreturn`, `jump`.
 *
 * Workload: a million lines.
 */
#ifndef TRUTH_LINES_H
#define TRUTH_LINES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LINES_OUTSIDE UINT64_MAX

struct lines {
	FILE *out;
	bool inside; /* the last event was a branch that stayed in the module */
	unsigned long long branch_cnt;
};

/* Addresses as offsets in the module's file, LINES_OUTSIDE elsewhere. */
struct line {
	uint64_t from, target, next;
	uint32_t kind, taken, insn_cnt;
};

static inline const char *lines_kind(uint32_t kind)
{
	static const char *const names[] = {"?", "cond", "jmp", "ijmp", "call", "icall", "ret"};

	return names[kind < sizeof(names) / sizeof(*names) ? kind : 0];
}

static inline void lines_offset(FILE *out, uint64_t offset, char end)
{
	if (offset == LINES_OUTSIDE)
		fprintf(out, "-%c", end);
	else
		fprintf(out, "%" PRIx64 "%c", offset, end);
}

static inline void lines_branch(struct lines *lines, const struct line *line)
{
	bool inside = lines->inside && line->from != LINES_OUTSIDE;

	lines->inside = line->from != LINES_OUTSIDE && line->next != LINES_OUTSIDE;
	if (line->from == LINES_OUTSIDE && line->next == LINES_OUTSIDE)
		return;
	lines_offset(lines->out, line->from, ' ');
	fprintf(lines->out, "%s ", lines_kind(line->kind));
	lines_offset(lines->out, line->from == LINES_OUTSIDE ? LINES_OUTSIDE : line->target, ' ');
	fprintf(lines->out, "%u ", line->taken);
	lines_offset(lines->out, line->next, ' ');
	if (inside)
		fprintf(lines->out, "%u\n", line->insn_cnt);
	else
		fprintf(lines->out, "-\n");
	lines->branch_cnt++;
}

static inline void lines_leap(struct lines *lines, const char *name, uint64_t next)
{
	lines->inside = false;
	if (next != LINES_OUTSIDE)
		fprintf(lines->out, "- %s - - %" PRIx64 " -\n", name, next);
}

#endif
