// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths with what decides whether a window can show them. */
#include "finder.h"

#include "../lab.h"

void lab_finder_init(struct lab_finder *f, enum pathprof_mapping mapping)
{
	struct pathprof_path_settings settings = {.mapping = mapping, .max_length = 32};

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
}

/*
 * A path begins at what ran after the branch that pushed it. When that is not where the last taken
 * branch before it led, a not-taken one after it did: to come back to one place takes a taken
 * branch.
 */
static bool pushed_not_taken(const struct lab_finder *f, const struct pathprof_path_popped *path)
{
	if (path->span >= LAB_FINDER_SPAN_MAX)
		return false;
	if (path->span >= f->taken_cnt)
		return true;
	return f->next[(f->taken_cnt - path->span) % LAB_FINDER_SPAN_MAX] != path->start;
}

bool lab_finder_step(struct lab_finder *f, const struct pathprof_branch *branch, uint64_t events,
		     struct lab_found *ret_found)
{
	struct pathprof_path_popped path;
	bool popped = pathprof_path_stack_step(f->stack, branch, events, &path);

	if (branch->taken)
		f->next[++f->taken_cnt % LAB_FINDER_SPAN_MAX] = branch->next;
	if (!popped)
		return false;
	*ret_found = (struct lab_found){.key = {path.start, path.length, path.outcomes},
					.events = path.events,
					.span = path.span,
					.pushed_not_taken = pushed_not_taken(f, &path),
					.popped_not_taken = !branch->taken};
	return true;
}
