// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Inline functions of C++ and instances of templates are compiled in each unit that uses them. The
 * linker keeps one copy, but what a unit inlined counts by its own. So a function's counts are the
 * sums over its copies: the names that a linker knows are each of one function.
 *
 * Workload: 10^4 functions, of which a name has up to some thousand. They are sorted by all that
 * has to be equal, so what lies in a file cannot make it take long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pp_counted.h"

typedef const struct pathprof_counted_function function;

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_arc(const struct pathprof_flow_arc *a, const struct pathprof_flow_arc *b)
{
	int order = by_number(a->from, b->from);

	order = order ? order : by_number(a->to, b->to);
	return order ? order : by_number(a->cut, b->cut);
}

/*
 * The line where it begins tells a function from another body that takes its place, as may happen
 * to a weak one. File names are not compared, since each unit names the file by its own way to it,
 * nor are other lines, since clang gives those of handlers differently.
 */
static uint32_t first_line(function *f)
{
	return f->node_cnt ? f->lines[0].line : 0;
}

/*
 * Functions that compare equal have the same paths under the same numbers. A unit's options may
 * give a function another body, which then has paths of its own. A copy that only serves to be
 * inlined has no counters of clang's profile: if those are described, it differs from the others by
 * profile_hash, and counts by itself.
 */
static int by_paths(function *a, function *b)
{
	int order = strcmp(a->name, b->name);

	order = order ? order : by_number(a->path_cnt, b->path_cnt);
	order = order ? order : by_number(a->node_cnt, b->node_cnt);
	order = order ? order : by_number(a->arc_cnt, b->arc_cnt);
	order = order ? order : by_number(first_line(a), first_line(b));
	order = order ? order : by_number(a->profile_hash, b->profile_hash);
	for (uint32_t i = 0; !order && i < a->arc_cnt; i++)
		order = by_arc(&a->arcs[i], &b->arcs[i]);
	return order;
}

static int by_paths_and_place(const void *x, const void *y)
{
	function *const *a = x, *const *b = y;
	int order = by_paths(*a, *b);

	return order ? order : by_number((uintptr_t)*a, (uintptr_t)*b);
}

/* The one behind it in the order is another copy of it. */
static void join(struct pathprof_counted *counted, function *f, function *behind)
{
	uint32_t own = (uint32_t)(f - counted->functions);
	uint32_t next = (uint32_t)(behind - counted->functions);

	counted->functions[own].next = next;
	counted->functions[next].first = f->first;
}

int pp_counted_join_copies(struct pathprof_counted *counted)
{
	function **shared = calloc((size_t)counted->function_cnt + 1, sizeof(function *));
	size_t cnt = 0;

	if (!shared)
		return -ENOMEM;
	for (uint32_t i = 0; i < counted->function_cnt; i++) {
		counted->functions[i].first = i;
		if (!counted->functions[i].is_local)
			shared[cnt++] = &counted->functions[i];
	}
	qsort(shared, cnt, sizeof(*shared), by_paths_and_place);
	for (size_t i = 1; i < cnt; i++)
		if (by_paths(shared[i - 1], shared[i]) == 0)
			join(counted, shared[i - 1], shared[i]);
	free(shared);
	return 0;
}
