// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers, segments and their paths: see chain_counts.h. Segments stand in one array with their
 * paths in another, found by a hash of (address space, start, desc); when either array is full,
 * segments not counted since the last clearing are dropped, and both are packed. A segment that is
 * read again has its paths behind those of later segments: packing copies paths to a second array.
 */
#include "chain_counts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vector.h"
#include "pathprof/paths.h"

#define PATH_ROOM (2 * PP_CHAIN_COUNTS_SEGMENT_MAX)

/* The process that a number in the records of one ring stands for. */
struct context {
	uint64_t address_space, start_time, time_ns;
	uint32_t pid; /* 0: the number was never explained */
	bool ignored;
};

struct contexts {
	struct context *list; /* by number */
	uint32_t room;
};

struct segment {
	uint64_t address_space, start, desc;
	uint64_t time_ns;              /* of its definition, for resolving its addresses */
	uint32_t path_first, path_cnt; /* no paths: it did not fit its code */
	uint32_t taken_cnt;
	bool used; /* counted since the last clearing */
};

struct path {
	uint64_t start;
	uint32_t length, outcomes;
};

struct pp_chain_counts {
	struct pp_rebuild *rebuild;
	struct contexts *contexts; /* by CPU */
	uint32_t cpu_cnt;
	double depth;
	struct pp_table table; /* of segments, with room for all */
	struct segment segments[PP_CHAIN_COUNTS_SEGMENT_MAX];
	struct path rooms[2][PATH_ROOM];
	uint32_t room; /* which of them has the paths */
	uint32_t segment_cnt, path_cnt;
	uint32_t counted; /* definitions since the last clearing */
	struct pp_chain_counts_stats stats;
	struct pathprof_branch branches[PATHPROF_BURST_MAX + 1];
};

int pp_chain_counts_new(struct pp_chain_counts **ret_counts, uint32_t cpu_cnt,
			struct pp_rebuild *rebuild)
{
	struct pp_chain_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	counts->contexts = calloc(cpu_cnt, sizeof(*counts->contexts));
	if (!counts->contexts ||
	    pp_table_enlarge(&counts->table, PP_CHAIN_COUNTS_SEGMENT_MAX) < 0) {
		free(counts->contexts);
		free(counts);
		return -ENOMEM;
	}
	counts->cpu_cnt = cpu_cnt;
	counts->rebuild = rebuild;
	*ret_counts = counts;
	return 0;
}

void pp_chain_counts_forget_contexts(struct pp_chain_counts *counts)
{
	for (uint32_t cpu = 0; cpu < counts->cpu_cnt; cpu++) {
		free(counts->contexts[cpu].list);
		counts->contexts[cpu] = (struct contexts){0};
	}
}

void pp_chain_counts_free(struct pp_chain_counts *counts)
{
	if (!counts)
		return;
	pp_chain_counts_forget_contexts(counts);
	free(counts->contexts);
	pp_table_release(&counts->table);
	free(counts);
}

void pp_chain_counts_set_depth(struct pp_chain_counts *counts, double taken_per_window)
{
	counts->depth = taken_per_window;
}

void pp_chain_counts_stats(const struct pp_chain_counts *counts,
			   struct pp_chain_counts_stats *ret_stats)
{
	*ret_stats = counts->stats;
}

/* ---------------------------------------------------------------- numbers */

/* Numbers are given out one after the other, so room doubles seldom. */
static int make_room(struct contexts *contexts, uint32_t number)
{
	uint32_t room = contexts->room;

	if (pp_reserve(&contexts->list, (size_t)number + 1, &contexts->room) < 0)
		return -ENOMEM;
	memset(contexts->list + room, 0, (contexts->room - room) * sizeof(*contexts->list));
	return 0;
}

void pp_chain_counts_context(struct pp_chain_counts *counts, uint32_t cpu,
			     const struct pathprof_context *context, uint64_t time_ns, bool ignored)
{
	struct contexts *contexts;

	if (cpu >= counts->cpu_cnt || context->context > UINT16_MAX)
		return;
	contexts = &counts->contexts[cpu];
	if (make_room(contexts, context->context) < 0)
		return;
	contexts->list[context->context] = (struct context){
		.address_space = context->address_space,
		.start_time = context->start_time,
		.time_ns = time_ns,
		.pid = context->pid,
		.ignored = ignored,
	};
}

/* NULL: a number never explained. */
static const struct context *context_of(const struct pp_chain_counts *counts, uint32_t cpu,
					uint64_t tagged)
{
	uint32_t number = PATHPROF_CONTEXT(tagged);
	const struct contexts *contexts;

	if (cpu >= counts->cpu_cnt)
		return NULL;
	contexts = &counts->contexts[cpu];
	if (number >= contexts->room || !contexts->list[number].pid)
		return NULL;
	return &contexts->list[number];
}

/* ---------------------------------------------------------------- the table of segments */

static uint64_t hash_of(uint64_t address_space, uint64_t start, uint64_t desc)
{
	uint64_t hash = (address_space ^ start * UINT64_C(0x9e3779b97f4a7c15)) + desc;

	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return hash >> 32;
}

static bool is_segment(const struct segment *s, uint64_t address_space, uint64_t start,
		       uint64_t desc)
{
	return s->start == start && s->desc == desc && s->address_space == address_space;
}

static uint32_t find_segment(const struct pp_chain_counts *counts, uint64_t address_space,
			     uint64_t start, uint64_t desc)
{
	return pp_table_find(&counts->table, hash_of(address_space, start, desc), i,
			     is_segment(&counts->segments[i], address_space, start, desc));
}

static uint64_t hash_segment(const struct pp_chain_counts *counts, uint32_t index)
{
	const struct segment *s = &counts->segments[index];

	return hash_of(s->address_space, s->start, s->desc);
}

/* Enters a segment into the table, where it must not be yet. */
static void link_segment(struct pp_chain_counts *counts, uint32_t index)
{
	pp_table_add(&counts->table, hash_segment(counts, index), i, hash_segment(counts, i));
}

/* Keeps the segments that were counted since the last clearing, in their order. */
static void clear_unused(struct pp_chain_counts *counts)
{
	const struct path *paths = counts->rooms[counts->room];
	struct path *kept = counts->rooms[!counts->room];
	uint32_t segment_cnt = 0, path_cnt = 0;

	pp_table_clear(&counts->table);
	for (uint32_t i = 0; i < counts->segment_cnt; i++) {
		struct segment s = counts->segments[i];

		if (!s.used)
			continue;
		memcpy(&kept[path_cnt], &paths[s.path_first], s.path_cnt * sizeof(*kept));
		s.path_first = path_cnt;
		s.used = false;
		path_cnt += s.path_cnt;
		counts->segments[segment_cnt] = s;
		link_segment(counts, segment_cnt++);
	}
	counts->room = !counts->room;
	counts->segment_cnt = segment_cnt;
	counts->path_cnt = path_cnt;
}

static bool is_full(const struct pp_chain_counts *counts)
{
	return counts->segment_cnt == PP_CHAIN_COUNTS_SEGMENT_MAX ||
	       counts->path_cnt + PATHPROF_BURST_MAX > PATH_ROOM;
}

/*
 * A table full of segments in use is not cleared for every new definition, but once in as many
 * definitions as would fill a quarter of it.
 */
static bool has_room(struct pp_chain_counts *counts)
{
	counts->counted++;
	if (!is_full(counts))
		return true;
	if (counts->counted < PP_CHAIN_COUNTS_SEGMENT_MAX / 4)
		return false;
	counts->counted = 0;
	clear_unused(counts);
	return !is_full(counts);
}

/* ---------------------------------------------------------------- segments to paths */

static void keep_path(void *context, const struct pathprof_path_seen *path)
{
	struct pp_chain_counts *counts = context;

	counts->rooms[counts->room][counts->path_cnt++] =
		(struct path){path->start, path->length, path->outcomes};
}

/*
 * Appends the segment's paths to the others. The branch that led to its start, whatever it was, is
 * put before it as a call, because a call begins a path.
 */
static void read_paths(struct pp_chain_counts *counts, struct segment *s,
		       const struct context *context, const struct pathprof_lbr_entry *entries)
{
	struct pathprof_taken taken[PP_CHAIN_SEGMENT_MAX];
	const struct pp_rebuild_window window = {
		.who = {context->pid, context->start_time, s->time_ns},
		.start = &s->start,
		.taken = taken,
		.taken_cnt = s->taken_cnt,
	};
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < s->taken_cnt; i++)
		taken[i] = (struct pathprof_taken){PATHPROF_CONTEXT_ADDRESS(entries[i].from),
						   PATHPROF_CONTEXT_ADDRESS(entries[i].to)};
	s->path_first = counts->path_cnt;
	s->path_cnt = 0;
	if (pp_rebuild_window(counts->rebuild, &window, counts->branches + 1, &cnt) ||
	    cnt >= PATHPROF_BURST_MAX)
		return;
	counts->branches[0] = (struct pathprof_branch){
		.target = s->start, .next = s->start, .kind = PERF_BR_CALL, .taken = 1};
	pathprof_paths_of_burst(counts->branches, cnt + 1, PATHPROF_MAPPING_WPP, keep_path, counts);
	s->path_cnt = counts->path_cnt - s->path_first;
	counts->stats.defined++;
}

void pp_chain_counts_define(struct pp_chain_counts *counts, uint32_t cpu,
			    const struct pathprof_segment *segment,
			    const struct pathprof_lbr_entry *entries, uint64_t time_ns)
{
	const struct context *context = context_of(counts, cpu, segment->start);
	uint64_t start = PATHPROF_CONTEXT_ADDRESS(segment->start);
	uint32_t index;
	struct segment *s;

	if (!context || context->ignored)
		return;
	index = find_segment(counts, context->address_space, start, segment->desc);
	/* The definition was sent again. A segment that did not fit its code may do so by now. */
	if (index != PP_TABLE_NONE && counts->segments[index].path_cnt)
		return;
	if (!has_room(counts)) {
		counts->stats.full++;
		return;
	}
	/* Making room moves the segments. */
	index = find_segment(counts, context->address_space, start, segment->desc);
	if (index == PP_TABLE_NONE) {
		index = counts->segment_cnt++;
		counts->segments[index] = (struct segment){
			.address_space = context->address_space,
			.start = start,
			.desc = segment->desc,
		};
		link_segment(counts, index);
	}
	s = &counts->segments[index];
	s->used = true;
	s->time_ns = time_ns;
	s->taken_cnt = segment->branch_cnt;
	read_paths(counts, s, context, entries);
}

/* ---------------------------------------------------------------- counts */

/* The number of runs that one seen run stands for. */
static double weight_of(const struct pp_chain_counts *counts, uint32_t taken_cnt)
{
	double places = counts->depth - taken_cnt;

	/* at least the one place where it was seen */
	return counts->depth > 0 ? counts->depth / (places > 1 ? places : 1) : 1;
}

static void add_paths(const struct pp_chain_counts *counts, const struct segment *s,
		      const struct context *context, uint64_t cnt,
		      const struct pp_source_sink *sink)
{
	const struct pp_counted who = {context->pid, context->start_time, s->time_ns};

	for (uint32_t i = 0; i < s->path_cnt; i++) {
		const struct path *path = &counts->rooms[counts->room][s->path_first + i];
		const struct pathprof_path_seen seen = {
			.start = path->start,
			.length = path->length,
			.outcomes = path->outcomes,
			.span = s->taken_cnt,
			.weight = weight_of(counts, s->taken_cnt),
		};

		sink->path(sink->context, &who, &seen, cnt);
	}
}

void pp_chain_counts_path(struct pp_chain_counts *counts, uint32_t cpu,
			  const struct pathprof_path_record *path,
			  const struct pp_source_sink *sink)
{
	const struct context *context = context_of(counts, cpu, path->start);
	uint32_t index;

	if (context && context->ignored)
		return;
	index = context ? find_segment(counts, context->address_space,
				       PATHPROF_CONTEXT_ADDRESS(path->start), path->desc)
			: PP_TABLE_NONE;
	if (index == PP_TABLE_NONE) {
		counts->stats.unknown += path->count;
		return;
	}
	counts->segments[index].used = true;
	if (!counts->segments[index].path_cnt)
		counts->stats.refused += path->count;
	add_paths(counts, &counts->segments[index], context, path->count, sink);
}

/* Calls are edges too, and come as such: those of PATHPROF_PROFILE_CALLS would count twice. */
void pp_chain_counts_tuple(struct pp_chain_counts *counts, uint32_t cpu,
			   const struct pathprof_tuple_count *tuple,
			   const struct pp_source_sink *sink)
{
	const struct context *context = context_of(counts, cpu, tuple->pc);
	struct pp_counted who;

	if (PATHPROF_TUPLE_PROFILE(tuple->word) != PATHPROF_PROFILE_EDGES ||
	    (context && context->ignored))
		return;
	if (!context) {
		counts->stats.unknown += tuple->count;
		return;
	}
	who = (struct pp_counted){context->pid, context->start_time, context->time_ns};
	sink->edge(sink->context, &who, PATHPROF_CONTEXT_ADDRESS(tuple->pc),
		   PATHPROF_CONTEXT_ADDRESS(tuple->word), tuple->count);
}
