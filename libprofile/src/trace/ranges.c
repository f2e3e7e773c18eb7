// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which module does an address lie in? Modules overlap and later ones win, so they are cut into
 * ranges that do not overlap, once, and looked up by bisection.
 *
 * Workload: tens of modules a process, looked up for every address a report shows.
 *
 * Built by a sweep over the modules' ends: between two ends the latest module that is open counts.
 * Open ones are in a heap, greatest order first; those that ended leave it when they come up.
 */
#include "pp_trace.h"

#include <errno.h>
#include <stdlib.h>

static const struct pp_trace_module *module_at(const void *index, const struct pathprof_trace *t)
{
	return &t->modules[*(const uint32_t *)index];
}

static int by_process_and_start(const void *x, const void *y, void *trace)
{
	const struct pathprof_trace_module_info *a = &module_at(x, trace)->info,
						*b = &module_at(y, trace)->info;

	if (a->process != b->process)
		return a->process > b->process ? 1 : -1;
	return (a->start > b->start) - (a->start < b->start);
}

/* A heap of modules by their place in the file, the latest on top. */
struct heap {
	uint32_t *module;
	size_t cnt;
};

static void heap_swap(struct heap *h, size_t a, size_t b)
{
	uint32_t kept = h->module[a];

	h->module[a] = h->module[b];
	h->module[b] = kept;
}

static void heap_add(struct heap *h, uint32_t module)
{
	size_t at = h->cnt++;

	h->module[at] = module;
	for (; at && h->module[(at - 1) / 2] < h->module[at]; at = (at - 1) / 2)
		heap_swap(h, at, (at - 1) / 2);
}

static void heap_drop(struct heap *h)
{
	size_t at = 0, child;

	h->module[0] = h->module[--h->cnt];
	while ((child = 2 * at + 1) < h->cnt) {
		if (child + 1 < h->cnt && h->module[child + 1] > h->module[child])
			child++;
		if (h->module[at] >= h->module[child])
			return;
		heap_swap(h, at, child);
		at = child;
	}
}

static void add_range(struct pathprof_trace *t, uint32_t module, uint64_t start, uint64_t end)
{
	struct pp_trace_range *last = t->range_cnt ? &t->ranges[t->range_cnt - 1] : NULL;
	uint32_t process = t->modules[module].info.process;

	if (last && last->module == module && last->end == start) {
		last->end = end;
		return;
	}
	t->ranges[t->range_cnt++] = (struct pp_trace_range){
		.start = start, .end = end, .process = process, .module = module};
}

/* Ranges of the open modules from *at up to limit, or until none is open. */
static void sweep_to(struct pathprof_trace *t, struct heap *open, uint64_t *at, uint64_t limit)
{
	while (open->cnt && *at < limit) {
		uint64_t end = t->modules[open->module[0]].info.end;

		if (end <= *at) {
			heap_drop(open);
			continue;
		}
		if (end > limit)
			end = limit;
		add_range(t, open->module[0], *at, end);
		*at = end;
	}
}

static void sweep(struct pathprof_trace *t, const uint32_t *sorted, struct heap *open)
{
	uint32_t process = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < t->module_cnt; i++) {
		const struct pathprof_trace_module_info *m = &t->modules[sorted[i]].info;

		if (i && m->process != process) {
			sweep_to(t, open, &at, UINT64_MAX);
			open->cnt = 0;
		} else {
			sweep_to(t, open, &at, m->start);
		}
		process = m->process;
		at = m->start;
		heap_add(open, sorted[i]);
	}
	sweep_to(t, open, &at, UINT64_MAX);
}

int pp_trace_build_ranges(struct pathprof_trace *trace, struct pathprof_error *error)
{
	uint32_t *sorted = calloc(trace->module_cnt + 1, sizeof(*sorted));
	struct heap open = {.module = calloc(trace->module_cnt + 1, sizeof(uint32_t))};
	int r = 0;

	if (sorted && open.module) {
		for (size_t i = 0; i < trace->module_cnt; i++)
			sorted[i] = (uint32_t)i;
		qsort_r(sorted, trace->module_cnt, sizeof(*sorted), by_process_and_start, trace);
		/* Each module opens a range and closes one. */
		trace->ranges = calloc(2 * trace->module_cnt + 1, sizeof(*trace->ranges));
	}
	if (sorted && open.module && trace->ranges)
		sweep(trace, sorted, &open);
	else
		r = pp_trace_no_memory(error);
	free(sorted);
	free(open.module);
	return r;
}

static int compare_range(const void *key, const void *element)
{
	const struct pp_trace_range *k = key, *r = element;

	if (k->process != r->process)
		return k->process > r->process ? 1 : -1;
	return (k->start >= r->end) - (k->start < r->start);
}

const struct pathprof_trace_module_info *pathprof_trace_locate(const struct pathprof_trace *trace,
							       uint32_t process, uint64_t address)
{
	const struct pathprof_trace_process *p = pp_trace_process(trace, process);

	while (trace->range_cnt) {
		const struct pp_trace_range key = {.start = address, .process = process},
					    *found = bsearch(&key, trace->ranges, trace->range_cnt,
							     sizeof(key), compare_range);

		if (found)
			return &trace->modules[found->module].info;
		/* Looks among the parent's mappings, made before the fork. Parents come before
		 * their children, so this ends. */
		if (!p || p->parent >= p->process)
			return NULL;
		process = p->parent;
		p = pp_trace_process(trace, process);
	}
	return NULL;
}
