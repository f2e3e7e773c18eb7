// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Counted branches to edges and paths: see pp_import_aggregate.h. */
#include "pp_import_aggregate.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "pathprof/branch_profile.h"
#include "pathprof/code.h"

struct pp_import_aggregate {
	enum pathprof_format format;
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	uint64_t elsewhere; /* branches with both ends in no code of the program */
	uint64_t left_cnt;  /* counts that do not fit the code, each once */
	struct pathprof_branch branches[PATHPROF_BURST_MAX + 1];
};

/* A path on its way out. */
struct emission {
	const struct pp_import_aggregate_sink *sink;
	uint64_t cnt;
};

int pp_import_aggregate_new(struct pp_import_aggregate **ret_aggregate, enum pathprof_format format,
			    const struct pathprof_import_binary *binary,
			    struct pathprof_error *error)
{
	struct pp_import_aggregate *aggregate = calloc(1, sizeof(*aggregate));
	int r;

	if (!aggregate)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	aggregate->format = format;
	r = pathprof_code_open(&aggregate->code, binary->path, &binary->id, error);
	if (r == 0)
		r = pathprof_graph_build(&aggregate->graph, aggregate->code, NULL, NULL, error);
	if (r == 0) {
		r = pathprof_branch_profile_init(&aggregate->profile, &binary->id);
		if (r < 0)
			pathprof_fail(error, r, "out of memory");
	}
	if (r < 0) {
		pp_import_aggregate_free(aggregate);
		return r;
	}
	*ret_aggregate = aggregate;
	return 0;
}

void pp_import_aggregate_free(struct pp_import_aggregate *aggregate)
{
	if (!aggregate)
		return;
	pathprof_branch_profile_release(&aggregate->profile);
	pathprof_graph_free(aggregate->graph);
	pathprof_code_free(aggregate->code);
	free(aggregate);
}

static bool is_elsewhere(const struct pp_import_aggregate *aggregate,
			 const struct pathprof_recorded_place *place)
{
	const struct pathprof_build_id *own = &aggregate->profile.origin.build_id;

	return place->outside ||
	       (place->id.kind != PATHPROF_ID_NONE && own->kind != PATHPROF_ID_NONE &&
		!pathprof_build_id_is_of(&place->id, own));
}

/* The profile has no entry for these. */
static void count_elsewhere(struct pp_import_aggregate *aggregate,
			    const struct pathprof_recorded_count *count)
{
	bool is_branch =
		count->kind == PATHPROF_RECORDED_BRANCH || count->kind == PATHPROF_RECORDED_TRACE;

	if (is_branch && is_elsewhere(aggregate, &count->from) &&
	    is_elsewhere(aggregate, &count->to))
		aggregate->elsewhere += count->count;
}

int pp_import_aggregate_add(struct pp_import_aggregate *aggregate,
			    const struct pathprof_recorded_count *count,
			    struct pathprof_error *error)
{
	uint64_t refused = aggregate->profile.origin.refused;
	int r = pathprof_branch_profile_add_count(
		&aggregate->profile, aggregate->code, aggregate->graph,
		pathprof_format_addresses(aggregate->format), count, error);

	if (r < 0)
		return r;
	if (aggregate->profile.origin.refused != refused)
		aggregate->left_cnt++;
	else
		count_elsewhere(aggregate, count);
	return 0;
}

/* ---------------------------------------------------------------- edges */

static int image_of(const struct pp_import_aggregate_sink *sink, uint64_t offset, uint64_t *ret_at)
{
	return offset == PATHPROF_OUTSIDE
		       ? -ENOENT
		       : pp_import_images_address(sink->window->images, 0, offset, ret_at);
}

static int add_edges(const struct pp_import_aggregate *aggregate,
		     const struct pp_import_aggregate_sink *sink)
{
	const struct pathprof_branch_profile *p = &aggregate->profile;
	int r = 0;

	for (uint32_t i = 0; i < p->branch_cnt && r == 0; i++) {
		const struct pathprof_branch_count *b = &p->branches[i];
		uint64_t from = PP_IMAGE_NOWHERE, to = PP_IMAGE_NOWHERE;

		(void)image_of(sink, b->from, &from);
		(void)image_of(sink, b->to, &to);
		pp_import_window_add_edge(sink->window, sink->process, from, to, b->count,
					  b->mispredicted);
		sink->stats->ledger.used += b->count;
		r = sink->next(sink->context);
	}
	return r;
}

/* ---------------------------------------------------------------- ranges */

/* Adds a counted range in the form of struct pathprof_range_row. */
static int keep_range(const struct pp_import_aggregate_sink *sink, uint64_t from, uint64_t start,
		      uint64_t last, uint64_t count)
{
	if (count && image_of(sink, start, &start) == 0 && image_of(sink, last, &last) == 0)
		pp_import_window_add_range(sink->window, from, start, last,
					   count < INT64_MAX ? count : INT64_MAX);
	return sink->next(sink->context);
}

static int keep_ranges(const struct pp_import_aggregate *aggregate,
		       const struct pp_import_aggregate_sink *sink)
{
	const struct pathprof_branch_profile *p = &aggregate->profile;
	int r = 0;

	for (uint32_t i = 0; i < p->range_cnt && r == 0; i++)
		r = keep_range(sink, p->ranges[i].after_call ? PP_IMAGE_RETURN : PP_IMAGE_NOWHERE,
			       p->ranges[i].start, p->ranges[i].last, p->ranges[i].count);
	for (uint32_t i = 0; i < p->trace_cnt && r == 0; i++) {
		uint64_t from;

		if (image_of(sink, p->traces[i].from, &from) == 0)
			r = keep_range(sink, from, p->traces[i].start, p->traces[i].last,
				       p->traces[i].count);
	}
	return r;
}

/* ---------------------------------------------------------------- paths */

static void emit(void *context, const struct pathprof_path_seen *path)
{
	const struct emission *emission = context;
	struct pathprof_path_seen seen = *path;

	seen.weight = 1;
	pp_import_window_add_path(emission->sink->window, emission->sink->process, &seen,
				  emission->cnt);
	emission->sink->stats->paths += emission->cnt;
}

/* The first known target of a branch recorded at `from`; other: none was recorded. */
static uint64_t target_of(const struct pathprof_branch_profile *p, uint64_t from, uint64_t other)
{
	uint32_t low = pp_first(i, 0, p->branch_cnt, p->branches[i].from >= from);

	for (; low < p->branch_cnt && p->branches[low].from == from; low++)
		if (p->branches[low].to != PATHPROF_OUTSIDE)
			return p->branches[low].to;
	return other;
}

/*
 * Reads [start, last] and the branch at its end into branches[1..]; the first place is left for
 * what led there. 0 and how many there are, or an enum pathprof_refusal.
 */
static int read_run(struct pp_import_aggregate *aggregate,
		    const struct pp_import_aggregate_sink *sink, uint64_t start, uint64_t last,
		    uint32_t *ret_cnt)
{
	struct pathprof_taken taken;
	uint64_t begin;
	uint32_t at;
	int refusal;

	if (image_of(sink, start, &begin) < 0 || image_of(sink, last, &taken.from) < 0 ||
	    image_of(sink, target_of(&aggregate->profile, last, start), &taken.to) < 0)
		return PATHPROF_REFUSED_UNKNOWN_CODE;
	refusal =
		pathprof_reconstruct_from(pp_import_images_reconstructor(sink->window->images),
					  begin, &taken, 1, aggregate->branches + 1, ret_cnt, &at);
	if (!refusal && *ret_cnt == PATHPROF_BURST_MAX)
		refusal = PATHPROF_REFUSED_TOO_LONG;
	return refusal;
}

/* Makes up the branch before the run: a call to its start, which begins a path. */
static void lead_in(struct pp_import_aggregate *aggregate, uint64_t start)
{
	aggregate->branches[0] = (struct pathprof_branch){
		.target = start, .next = start, .kind = PERF_BR_CALL, .taken = 1};
}

static void add_run(struct pp_import_aggregate *aggregate,
		    const struct pp_import_aggregate_sink *sink, uint64_t start, uint64_t last,
		    uint64_t begun)
{
	struct emission emission = {sink, begun};
	uint64_t begin;
	uint32_t cnt;
	int refusal;

	if (!begun)
		return;
	refusal = read_run(aggregate, sink, start, last, &cnt);
	sink->stats->windows += begun;
	if (refusal || image_of(sink, start, &begin) < 0) {
		sink->stats->refused[refusal ? refusal : PATHPROF_REFUSED_UNKNOWN_CODE] += begun;
		return;
	}
	lead_in(aggregate, begin);
	pathprof_paths_of_burst(aggregate->branches, cnt + 1, sink->mapping, emit, &emission);
}

/* Whether a path begins where the branch at `from` led: calls, indirect jumps, and backward. */
static bool begins(struct pp_import_aggregate *aggregate,
		   const struct pp_import_aggregate_sink *sink, uint64_t from, uint64_t to)
{
	uint32_t cnt;

	if (from == PATHPROF_OUTSIDE)
		return false;
	if (read_run(aggregate, sink, from, from, &cnt))
		return false;
	switch (aggregate->branches[cnt].kind) {
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
	case PERF_BR_IND:
		return true;
	case PERF_BR_COND:
	case PERF_BR_UNCOND:
		return to <= from;
	default:
		return false;
	}
}

/* The part of all that was counted as leading to `to` by branches that begin a path there. */
struct arrivals {
	uint64_t to, all, begun;
};

static int compare(const void *a, const void *b)
{
	const struct arrivals *x = a, *y = b;

	return (x->to > y->to) - (x->to < y->to);
}

/* One for each place, sorted. NULL: out of memory. */
static struct arrivals *find_arrivals(struct pp_import_aggregate *aggregate,
				      const struct pp_import_aggregate_sink *sink,
				      uint32_t *ret_cnt)
{
	const struct pathprof_branch_profile *p = &aggregate->profile;
	struct arrivals *list = calloc(p->branch_cnt ? p->branch_cnt : 1, sizeof(*list));
	uint32_t cnt = 0;

	if (!list)
		return NULL;
	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		const struct pathprof_branch_count *b = &p->branches[i];

		list[i] = (struct arrivals){b->to, b->count,
					    begins(aggregate, sink, b->from, b->to) ? b->count : 0};
	}
	qsort(list, p->branch_cnt, sizeof(*list), compare);
	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		if (cnt && list[cnt - 1].to == list[i].to) {
			list[cnt - 1].all += list[i].all;
			list[cnt - 1].begun += list[i].begun;
		} else {
			list[cnt++] = list[i];
		}
	}
	*ret_cnt = cnt;
	return list;
}

/* How many of `count` runs from start on began a path. */
static uint64_t begun_of(const struct arrivals *list, uint32_t cnt, uint64_t start, uint64_t count)
{
	const struct arrivals key = {.to = start};
	const struct arrivals *found = bsearch(&key, list, cnt, sizeof(*list), compare);

	if (!found || !found->all)
		return 0;
	return (uint64_t)((double)count * ((double)found->begun / (double)found->all) + 0.5);
}

/* Ranges include those of traces, which tell more exactly what became of that part. */
struct traced {
	uint64_t start, last, count;
};

static int compare_traced(const void *a, const void *b)
{
	const struct traced *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->last > y->last) - (x->last < y->last);
}

static int add_traces(struct pp_import_aggregate *aggregate,
		      const struct pp_import_aggregate_sink *sink, struct traced *traced)
{
	const struct pathprof_branch_profile *p = &aggregate->profile;
	int r = 0;

	for (uint32_t i = 0; i < p->trace_cnt && r == 0; i++) {
		const struct pathprof_trace_count *t = &p->traces[i];

		traced[i] = (struct traced){t->start, t->last, t->count};
		if (begins(aggregate, sink, t->from, t->start))
			add_run(aggregate, sink, t->start, t->last, t->count);
		r = sink->next(sink->context);
	}
	qsort(traced, p->trace_cnt, sizeof(*traced), compare_traced);
	return r;
}

/* Both are sorted alike. */
static int add_ranges(struct pp_import_aggregate *aggregate,
		      const struct pp_import_aggregate_sink *sink, const struct traced *traced,
		      const struct arrivals *arrivals, uint32_t arrival_cnt)
{
	const struct pathprof_branch_profile *p = &aggregate->profile;
	uint32_t at = 0;
	int r = 0;

	for (uint32_t i = 0; i < p->range_cnt && r == 0; i++) {
		const struct pathprof_range_count *range = &p->ranges[i];
		const struct traced key = {.start = range->start, .last = range->last};
		uint64_t count = range->count;

		while (at < p->trace_cnt && compare_traced(&traced[at], &key) < 0)
			at++;
		for (; at < p->trace_cnt && compare_traced(&traced[at], &key) == 0; at++)
			count -= traced[at].count < count ? traced[at].count : count;
		add_run(aggregate, sink, range->start, range->last,
			begun_of(arrivals, arrival_cnt, range->start, count));
		r = sink->next(sink->context);
	}
	return r;
}

/* Branches are what the profile has: fdata's fall-throughs are none, and some formats imply some.
 */
static void count_left(const struct pp_import_aggregate *aggregate,
		       struct pathprof_import_stats *stats)
{
	stats->counts_left = aggregate->left_cnt;
	stats->ledger.left[PATHPROF_LEDGER_OUTSIDE] = aggregate->elsewhere;
	stats->ledger.branches = stats->ledger.used + aggregate->elsewhere;
}

int pp_import_aggregate_finish(struct pp_import_aggregate *aggregate,
			       const struct pp_import_aggregate_sink *sink,
			       struct pathprof_error *error)
{
	struct arrivals *arrivals;
	struct traced *traced;
	uint32_t arrival_cnt = 0;
	int r = pathprof_branch_profile_settle(&aggregate->profile);

	if (r < 0)
		return pathprof_fail(error, r, "counts: %s", strerror(-r));
	r = -ENOMEM;
	arrivals = find_arrivals(aggregate, sink, &arrival_cnt);
	traced = calloc(aggregate->profile.trace_cnt + (size_t)1, sizeof(*traced));
	if (arrivals && traced) {
		r = add_edges(aggregate, sink);
		if (r == 0)
			r = keep_ranges(aggregate, sink);
		if (r == 0)
			r = add_traces(aggregate, sink, traced);
		/* fdata has none itself: those worked out of its blocks are a guess */
		if (r == 0 && aggregate->format != PATHPROF_FORMAT_BOLT_FDATA)
			r = add_ranges(aggregate, sink, traced, arrivals, arrival_cnt);
	} else {
		pathprof_fail(error, r, "out of memory");
	}
	count_left(aggregate, sink->stats);
	free(arrivals);
	free(traced);
	return r;
}
