// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths, and whether a window can show them. */
#include "finder.h"

#include <linux/perf_event.h>
#include <string.h>

#include "../lab.h"

#define LENGTH_MAX 32

void lab_finder_init(struct lab_finder *f, enum pathprof_mapping mapping)
{
	struct pathprof_path_settings settings = {.mapping = mapping, .max_length = LENGTH_MAX};

	*f = (struct lab_finder){.taken_cnt = 0};
	if (pathprof_path_stack_new(&f->stack, &settings) < 0)
		lab_fail("paths: out of memory");
}

void lab_finder_release(struct lab_finder *f)
{
	pathprof_path_stack_free(f->stack);
	f->stack = NULL;
}

void lab_finder_clear(struct lab_finder *f)
{
	struct pathprof_path_popped forgotten;

	while (pathprof_path_stack_drain(f->stack, &forgotten))
		;
	f->cleared_at = f->taken_cnt;
	f->piece_cnt = 0;
}

/*
 * A path begins at what ran after the branch that pushed it. When that is not where the last taken
 * branch before it led, a not-taken one after it did: to come back to one place takes a taken
 * branch.
 */
static bool pushed_not_taken(const struct lab_finder *f, const struct pathprof_path_popped *path)
{
	if (path->span >= f->taken_cnt - f->cleared_at)
		return true;
	if (path->span >= LAB_FINDER_SPAN_MAX)
		return false;
	return f->next[(f->taken_cnt - path->span) % LAB_FINDER_SPAN_MAX] != path->start;
}

/* Only the top piece can be the path that was popped: pieces are nested as their procedures are. */
static struct lab_piece root_of(struct lab_finder *f, const struct pathprof_path_popped *path)
{
	uint64_t born = f->taken_cnt - path->span;
	const struct lab_piece *top = f->pieces + f->piece_cnt;

	if (f->piece_cnt && top[-1].start == path->start && top[-1].born == born)
		return f->pieces[--f->piece_cnt];
	return (struct lab_piece){.root = born, .root_not_taken = pushed_not_taken(f, path)};
}

/* Any other branch that ends a path begins one as well, whatever the path was. */
static bool is_cut(const struct pathprof_branch *branch, uint32_t length)
{
	return length == LENGTH_MAX && branch->target > branch->from &&
	       (branch->kind == PERF_BR_COND || branch->kind == PERF_BR_UNCOND);
}

static void remember(struct lab_finder *f, struct lab_piece piece, uint64_t start)
{
	if (f->piece_cnt == LAB_FINDER_PIECES)
		memmove(f->pieces, f->pieces + 1, --f->piece_cnt * sizeof(f->pieces[0]));
	piece.start = start;
	piece.born = f->taken_cnt;
	f->pieces[f->piece_cnt++] = piece;
}

bool lab_finder_step(struct lab_finder *f, const struct pathprof_branch *branch, uint64_t events,
		     struct lab_found *ret_found)
{
	struct pathprof_path_popped path;
	bool popped = pathprof_path_stack_step(f->stack, branch, events, &path);
	struct lab_piece root;

	if (branch->taken)
		f->next[++f->taken_cnt % LAB_FINDER_SPAN_MAX] = branch->next;
	if (!popped)
		return false;
	root = root_of(f, &path);
	if (is_cut(branch, path.length))
		remember(f, root, branch->next);
	*ret_found = (struct lab_found){.key = {path.start, path.length, path.outcomes},
					.events = path.events,
					.span = path.span,
					.reach = f->taken_cnt - root.root,
					.pushed_not_taken = root.root_not_taken,
					.popped_not_taken = !branch->taken};
	return true;
}
