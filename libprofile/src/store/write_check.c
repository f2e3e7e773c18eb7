// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Whether a closed window may be written: see pp_window_write.h. Profiles come from outside as
 * well. */
#include "pp_window_write.h"

#include <errno.h>
#include <string.h>

#define WEIGHT_MAX      1e300 /* as schema/sqlite/0001_init.sql */
#define PATH_LENGTH_MAX 32

int pp_window_refuse(const struct pp_window_write *w, int code, const char *what)
{
	return pathprof_fail(w->error, code, "%s: window not written: %s", w->store->file, what);
}

static int check_header(const struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	const struct pathprof_totals *t = &p->totals;

	if (p->begin_ns < 0 || p->end_ns < p->begin_ns)
		return pp_window_refuse(
			w, -EINVAL,
			"it is not closed, begins before 1970 or ends before it begins");
	if (p->basis != PATHPROF_BASIS_TIME && p->basis != PATHPROF_BASIS_BRANCHES)
		return pp_window_refuse(w, -EINVAL, "no basis");
	if (t->bursts > PP_COUNT_MAX || t->branches > PP_COUNT_MAX || t->taken > PP_COUNT_MAX ||
	    t->steps > PP_COUNT_MAX || t->paths > PP_COUNT_MAX || t->stopped_ns > PP_COUNT_MAX ||
	    t->source_cpu_ns > PP_COUNT_MAX || t->insns > PP_COUNT_MAX ||
	    t->pathless > PP_COUNT_MAX || t->clock_samples > PP_COUNT_MAX)
		return pp_window_refuse(w, -EOVERFLOW, "a total is 2^63 or more");
	return 0;
}

static int check_names(const struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;

	for (uint32_t i = 0; i < p->binary_cnt; i++)
		if (p->binaries[i].id.len_bytes > PATHPROF_BUILD_ID_MAX ||
		    p->binaries[i].id.kind > PATHPROF_ID_JIT)
			return pp_window_refuse(w, -EINVAL, "a binary's identity is malformed");
	for (uint32_t i = 0; i < p->process_cnt; i++) {
		if (p->processes[i].binary >= p->binary_cnt &&
		    p->processes[i].binary != PATHPROF_NO_INDEX)
			return pp_window_refuse(w, -EINVAL, "a process refers to no binary");
		if (p->processes[i].start_time > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW, "a start time is 2^63 or more");
	}
	return 0;
}

static int check_counts(const struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;

	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *c = &p->paths[i];

		if (c->process >= p->process_cnt || c->binary >= p->binary_cnt ||
		    c->length > PATH_LENGTH_MAX || !(c->weight >= 0 && c->weight <= WEIGHT_MAX) ||
		    !(c->insns >= 0 && c->insns <= WEIGHT_MAX))
			return pp_window_refuse(w, -EINVAL, "a path is malformed");
		if (c->samples > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW, "a path's samples are 2^63 or more");
	}
	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *c = &p->edges[i];

		if (c->process >= p->process_cnt || c->from_binary >= p->binary_cnt ||
		    c->to_binary >= p->binary_cnt)
			return pp_window_refuse(w, -EINVAL, "an edge is malformed");
		if (c->count > PP_COUNT_MAX || c->mispredicted > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW, "an edge's count is 2^63 or more");
	}
	return 0;
}

static bool clock_is_sound(const struct pathprof_profile *p, const struct pathprof_clock_count *c)
{
	if (c->process >= p->process_cnt)
		return false;
	if (c->binary != PATHPROF_NO_INDEX)
		return c->binary < p->binary_cnt;
	return c->place == PATHPROF_PLACE_UNKNOWN || c->place == PATHPROF_PLACE_KERNEL;
}

static int check_clocks(const struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;

	for (uint32_t i = 0; i < p->clock_cnt; i++) {
		if (!clock_is_sound(p, &p->clocks[i]))
			return pp_window_refuse(w, -EINVAL,
						"a place of clock samples is malformed");
		if (p->clocks[i].samples > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW,
						"a place's clock samples are 2^63 or more");
	}
	return 0;
}

static int check_contexts(const struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;

	for (uint32_t i = 1; i < p->context_cnt; i++)
		if (p->contexts[i].parent >= i || (p->contexts[i].binary >= p->binary_cnt &&
						   p->contexts[i].binary != PATHPROF_NO_INDEX))
			return pp_window_refuse(w, -EINVAL, "a caller is malformed");
	for (uint32_t i = 0; i < p->context_count_cnt; i++) {
		const struct pathprof_caller_count *c = &p->context_counts[i];

		if (c->path >= p->path_cnt || !c->context || c->context >= p->context_cnt ||
		    !(c->weight >= 0 && c->weight <= WEIGHT_MAX))
			return pp_window_refuse(w, -EINVAL, "a count of callers is malformed");
		if (c->samples > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW,
						"samples of callers are 2^63 or more");
	}
	return 0;
}

static bool segment_is_sound(const struct pathprof_profile *p,
			     const struct pathprof_segment_count *s)
{
	const struct pathprof_path_count *c = &s->second;

	return c->process < p->process_cnt && c->binary < p->binary_cnt &&
	       s->first.binary < p->binary_cnt && c->length <= PATH_LENGTH_MAX &&
	       s->first.length <= PATH_LENGTH_MAX && c->weight >= 0 && c->weight <= WEIGHT_MAX &&
	       c->weight_squares >= 0 && c->weight_squares <= WEIGHT_MAX;
}

static int check_segments(const struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;

	for (uint32_t i = 0; i < p->segment_cnt; i++) {
		if (!segment_is_sound(p, &p->segments[i]))
			return pp_window_refuse(w, -EINVAL, "a segment is malformed");
		if (p->segments[i].second.samples > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW,
						"a segment's samples are 2^63 or more");
	}
	if (p->segments_lost > PP_COUNT_MAX)
		return pp_window_refuse(w, -EOVERFLOW, "segments without room are 2^63 or more");
	return 0;
}

int pp_window_check(const struct pp_window_write *w)
{
	int r = check_header(w);

	if (r == 0)
		r = check_names(w);
	if (r == 0)
		r = check_counts(w);
	if (r == 0)
		r = check_clocks(w);
	if (r == 0)
		r = check_contexts(w);
	if (r == 0)
		r = check_segments(w);
	return r;
}
