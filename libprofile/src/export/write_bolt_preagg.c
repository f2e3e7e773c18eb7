// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's pre-aggregated profile, read by `perf2bolt --pa`.
 *
 *     E NAME                       an event
 *     T FROM START LAST COUNT      a branch and the range behind it
 *     B FROM TO COUNT MISPREDICTS  a branch
 *     F START LAST COUNT           a range; f: of a branch from outside, r: behind a call
 *
 * Counts that traces hold are subtracted from branches and ranges, so nothing is counted twice.
 * If sampling error makes the traces of a branch exceed the branch's own count, they are scaled
 * down to it. The option for older releases writes the same counts in lines B, F and f alone, from
 * which perf2bolt makes the same profile; ranges after a call are f there, which BOLT takes for a
 * return from elsewhere.
 *
 * LLVM 16 to 19 know B, F and f only; 22 knows all lines.
 *
 * Source: LLVM, bolt/include/bolt/Profile/DataAggregator.h.
 */
#include "../branch/pp_bolt_names.h"
#include "pp_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/* A location as BOLT reads it. */
static void put_location(const struct pp_export *x, uint64_t offset)
{
	fprintf(x->file, offset == PATHPROF_OUTSIDE ? " X:%" PRIx64 : " %" PRIx64,
		pp_export_address(x, offset));
}

static uint64_t less(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* told: how often traces held each branch; NULL: there are none. */
static void put_branches(const struct pp_export *x, const uint64_t *told)
{
	const struct pathprof_branch_profile *p = x->profile;

	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		const struct pathprof_branch_count *b = &p->branches[i];
		uint64_t count = told ? less(b->count, told[i]) : b->count;

		if (!count && !b->mispredicted)
			continue;
		fputc('B', x->file);
		put_location(x, b->from);
		put_location(x, b->to);
		fprintf(x->file, " %" PRIu64 " %" PRIu64 "\n", count, b->mispredicted);
	}
}

static void put_ranges(const struct pp_export *x, const uint64_t *in_traces)
{
	const struct pathprof_branch_profile *p = x->profile;
	char call = in_traces ? 'r' : 'f';

	for (uint32_t i = 0; i < p->range_cnt; i++) {
		const struct pathprof_range_count *r = &p->ranges[i];
		uint64_t count = in_traces ? less(r->count, in_traces[i]) : r->count;

		/* LLVM 19 and before take a range in the linker's stubs for a mismatch. */
		if (!count || (!in_traces && pp_is_stub(x->graph, r->start)))
			continue;
		fputc(r->after_call ? call : 'F', x->file);
		put_location(x, r->start);
		put_location(x, r->last);
		fprintf(x->file, " %" PRIu64 "\n", count);
	}
}

/* The index of a trace's range. Ranges are sorted, and every trace has one. */
static uint32_t range_of(const struct pathprof_branch_profile *p,
			 const struct pathprof_trace_count *t)
{
	const struct pathprof_range_count *r = p->ranges;

	return pp_first(i, 0, p->range_cnt,
			r[i].start > t->start || (r[i].start == t->start && r[i].last >= t->last));
}

static void put_trace(const struct pp_export *x, const struct pathprof_trace_count *t,
		      uint64_t count)
{
	fputc('T', x->file);
	put_location(x, t->from);
	put_location(x, t->start);
	put_location(x, t->last);
	fprintf(x->file, " %" PRIu64 "\n", count);
}

/* Writes the traces of a branch, from *at on. Returns how often they hold the branch. */
static uint64_t put_traces_of(const struct pp_export *x, const struct pathprof_branch_count *b,
			      uint32_t *at, uint64_t *in_ranges)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint64_t sum = 0, told = 0;
	uint32_t end;

	while (*at < p->trace_cnt &&
	       (p->traces[*at].from < b->from ||
		(p->traces[*at].from == b->from && p->traces[*at].start < b->to)))
		++*at;
	for (end = *at;
	     end < p->trace_cnt && p->traces[end].from == b->from && p->traces[end].start == b->to;
	     end++)
		sum = pp_count_sum(sum, p->traces[end].count);
	for (; *at < end; ++*at) {
		uint64_t count = p->traces[*at].count;

		if (sum > b->count)
			count = (uint64_t)((unsigned __int128)count * b->count / sum);
		if (!count)
			continue;
		put_trace(x, &p->traces[*at], count);
		in_ranges[range_of(p, &p->traces[*at])] += count;
		told += count;
	}
	return told;
}

/* The events' names where the counts were read; else their names by origin. */
static void put_events(const struct pp_export *x)
{
	const char *events = x->profile->origin.events;

	for (size_t len; events; events = events[len] ? events + len + 1 : NULL) {
		len = strcspn(events, " ");
		fprintf(x->file, "E %.*s\n", (int)len, events);
	}
	if (x->profile->origin.events)
		return;
	/* BOLT would make several events of a name with a comma, in its YAML. */
	fputs("E ", x->file);
	pp_export_origin(x, x->file, "", ";");
	fputc('\n', x->file);
}

static int write_traces(const struct pp_export *x)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint64_t *in_ranges = calloc((size_t)p->range_cnt + 1, sizeof(*in_ranges));
	uint64_t *told = calloc((size_t)p->branch_cnt + 1, sizeof(*told));
	uint32_t at = 0;

	if (!in_ranges || !told) {
		free(told);
		free(in_ranges);
		return pathprof_fail(x->error, -ENOMEM, "bolt-preagg: out of memory");
	}
	put_events(x);
	for (uint32_t i = 0; i < p->branch_cnt; i++)
		told[i] = put_traces_of(x, &p->branches[i], &at, in_ranges);
	put_branches(x, told);
	put_ranges(x, in_ranges);
	free(told);
	free(in_ranges);
	return 0;
}

int pp_write_bolt_preagg(const struct pp_export *x)
{
	if (!x->options.bolt_branches)
		return write_traces(x);
	put_branches(x, NULL);
	put_ranges(x, NULL);
	return 0;
}
