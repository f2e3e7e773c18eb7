// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Adding up a binary's branches; see the headers for workload and ownership.
 *
 * Entries are appended. Where the array is full it is sorted and the same ones are made one; only
 * when that leaves it more than half full it grows. So memory follows the number of different
 * entries, and an addition costs the sorting's log n.
 */
#include "pp_branch_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pp_fall_ranges.h"

#define FIRST_ROOM  1024
#define ENTRIES_MAX ((size_t)UINT32_MAX)

/* ---------------------------------------------------------------- entries */

static int by_place(const void *a, const void *b)
{
	const struct pp_branch_entry *left = a, *right = b;

	for (int i = 0; i < 3; i++)
		if (left->at[i] != right->at[i])
			return left->at[i] < right->at[i] ? -1 : 1;
	return 0;
}

static void join(struct pp_branch_entry *into, const struct pp_branch_entry *from)
{
	into->count = pp_count_sum(into->count, from->count);
	into->mispredicted = pp_count_sum(into->mispredicted, from->mispredicted);
	into->weight += from->weight;
	into->mispredicted_weight += from->mispredicted_weight;
}

static void sum_up(struct pp_branch_entries *entries)
{
	size_t kept = 0;

	if (entries->sorted == entries->cnt)
		return;
	qsort(entries->items, entries->cnt, sizeof(entries->items[0]), by_place);
	for (size_t i = 1; i < entries->cnt; i++) {
		if (!by_place(&entries->items[kept], &entries->items[i]))
			join(&entries->items[kept], &entries->items[i]);
		else
			entries->items[++kept] = entries->items[i];
	}
	entries->cnt = kept + 1;
	entries->sorted = entries->cnt;
}

static int make_room(struct pp_branch_entries *entries)
{
	sum_up(entries);
	if (entries->cnt <= entries->room / 2 && entries->room)
		return 0;
	if (entries->cnt >= ENTRIES_MAX)
		return -E2BIG;
	return pp_reserve(&entries->items, entries->room ? 2 * entries->room : FIRST_ROOM,
			  &entries->room);
}

int pp_branch_add(struct pathprof_branch_profile *p, enum pp_branch_entry_kind kind,
		  const struct pp_branch_entry *entry)
{
	struct pp_branch_entries *entries = &p->draft->entries[kind];

	if (entries->cnt == entries->room) {
		int r = make_room(entries);

		if (r)
			return r;
	}
	entries->items[entries->cnt++] = *entry;
	p->settled = false;
	return 0;
}

int pathprof_branch_profile_add_branch(struct pathprof_branch_profile *p, uint64_t from,
				       uint64_t to, uint64_t count, uint64_t mispredicted)
{
	return pp_branch_add(p, PP_ENTRY_BRANCH,
			     &(struct pp_branch_entry){.at = {from, to},
						       .count = count,
						       .mispredicted = mispredicted});
}

int pathprof_branch_profile_add_range(struct pathprof_branch_profile *p, uint64_t start,
				      uint64_t last, bool after_call, double weight)
{
	return pp_branch_add(
		p, PP_ENTRY_RANGE,
		&(struct pp_branch_entry){.at = {start, last, after_call}, .weight = weight});
}

int pathprof_branch_profile_add_trace(struct pathprof_branch_profile *p, uint64_t from,
				      uint64_t start, uint64_t last, double weight)
{
	int r = pathprof_branch_profile_add_range(p, start, last, false, weight);

	return r ? r
		 : pp_branch_add(
			   p, PP_ENTRY_TRACE,
			   &(struct pp_branch_entry){.at = {from, start, last}, .weight = weight});
}

int pathprof_branch_profile_add_time(struct pathprof_branch_profile *p, uint64_t place, double ns)
{
	return pp_branch_add(p, PP_ENTRY_TIME,
			     &(struct pp_branch_entry){.at = {place}, .weight = ns});
}

/* ---------------------------------------------------------------- life */

int pathprof_branch_profile_init(struct pathprof_branch_profile *p,
				 const struct pathprof_build_id *id)
{
	struct pp_branch_draft *draft = calloc(1, sizeof(*draft));

	if (!draft)
		return -ENOMEM;
	*p = (struct pathprof_branch_profile){.origin = {.build_id = *id, .scale = 1},
					      .draft = draft};
	return 0;
}

static void drop_arrays(struct pathprof_branch_profile *p)
{
	free(p->branches);
	free(p->ranges);
	free(p->traces);
	free(p->times);
	p->branches = NULL;
	p->ranges = NULL;
	p->traces = NULL;
	p->times = NULL;
	p->branch_cnt = p->range_cnt = p->trace_cnt = p->time_cnt = 0;
	p->settled = false;
}

void pathprof_branch_profile_release(struct pathprof_branch_profile *p)
{
	if (!p)
		return;
	drop_arrays(p);
	for (int i = 0; p->draft && i < PP_ENTRY_KIND_CNT; i++)
		free(p->draft->entries[i].items);
	if (p->draft) {
		pp_bolt_names_release(&p->draft->names);
		pp_texts_release(&p->draft->places);
		free(p->draft->place_starts);
	}
	free(p->draft);
	free(p->origin.binary);
	free(p->origin.host);
	free(p->origin.sources);
	free(p->origin.events);
	*p = (struct pathprof_branch_profile){0};
}

static int replace(char **text, const char *with)
{
	char *copy;

	if (!with)
		return 0;
	copy = strdup(with);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int pathprof_branch_profile_name(struct pathprof_branch_profile *p, const char *binary,
				 const char *host, const char *sources)
{
	int r = replace(&p->origin.binary, binary);

	if (!r)
		r = replace(&p->origin.host, host);
	return r ? r : replace(&p->origin.sources, sources);
}

int pp_branch_check_id(const struct pathprof_branch_profile *p, const struct pathprof_build_id *id,
		       const char *what, struct pathprof_error *error)
{
	char want[PATHPROF_BUILD_ID_TEXT_LEN], have[PATHPROF_BUILD_ID_TEXT_LEN];

	if (p->origin.build_id.kind == PATHPROF_ID_NONE ||
	    pathprof_build_id_equal(&p->origin.build_id, id))
		return 0;
	return pathprof_fail(error, -ESTALE,
			     "%s is of another binary (%s) than the profile (%s); find that one",
			     what, pathprof_build_id_text(id, have),
			     pathprof_build_id_text(&p->origin.build_id, want));
}

/* ---------------------------------------------------------------- settling */

static uint64_t whole(double weight)
{
	if (!(weight > 0))
		return 0;
	weight = round(weight);
	return weight >= 0x1p64 ? UINT64_MAX : (uint64_t)weight;
}

/* An entry that was seen at all stays 1. */
static uint64_t rounded(const struct pp_branch_entry *entry)
{
	uint64_t count = pp_count_sum(entry->count, whole(entry->weight));

	return count || entry->weight <= 0 ? count : 1;
}

static uint64_t mispredicted(const struct pp_branch_entry *entry)
{
	return pp_count_sum(entry->mispredicted, whole(entry->mispredicted_weight));
}

static void fill(struct pathprof_branch_profile *p)
{
	const struct pp_branch_entries *of = p->draft->entries;
	const struct pp_branch_entry *e;

	for (e = of[PP_ENTRY_BRANCH].items; p->branch_cnt < of[PP_ENTRY_BRANCH].cnt; e++)
		p->branches[p->branch_cnt++] = (struct pathprof_branch_count){
			e->at[0], e->at[1], rounded(e), mispredicted(e)};
	for (e = of[PP_ENTRY_RANGE].items; p->range_cnt < of[PP_ENTRY_RANGE].cnt; e++)
		p->ranges[p->range_cnt++] = (struct pathprof_range_count){
			e->at[0], e->at[1], e->at[2] != 0, rounded(e)};
	for (e = of[PP_ENTRY_TRACE].items; p->trace_cnt < of[PP_ENTRY_TRACE].cnt; e++)
		p->traces[p->trace_cnt++] =
			(struct pathprof_trace_count){e->at[0], e->at[1], e->at[2], rounded(e)};
	for (e = of[PP_ENTRY_TIME].items; p->time_cnt < of[PP_ENTRY_TIME].cnt; e++)
		p->times[p->time_cnt++] = (struct pathprof_time_count){e->at[0], rounded(e)};
}

/* Whether the instruction at offset may lead where no code of the binary is. */
static bool may_leave(const struct pathprof_graph *graph, uint64_t offset)
{
	uint32_t b = pathprof_graph_block_at(graph, offset);
	uint32_t kind = b == PATHPROF_GRAPH_NONE ? 0 : graph->blocks[b].kind;

	return kind && graph->blocks[b].last == offset &&
	       (kind == PERF_BR_RET || kind == PERF_BR_IND || kind == PERF_BR_IND_CALL);
}

/* AutoFDO has no branches to the outside: they are what is sampled of a branch beyond the others.
 */
static int add_leaving(struct pathprof_branch_profile *p, const struct pp_branch_entry *sample)
{
	const struct pp_branch_entries *branches = &p->draft->entries[PP_ENTRY_BRANCH];
	uint64_t from = sample->at[0], sum = 0;

	for (size_t i = pp_branch_first(branches, from);
	     i < branches->sorted && branches->items[i].at[0] == from; i++)
		sum = pp_count_sum(sum, branches->items[i].count);
	if (sample->count <= sum || !may_leave(p->draft->graph, from))
		return 0;
	p->origin.taken = pp_count_sum(p->origin.taken, sample->count - sum);
	return pathprof_branch_profile_add_branch(p, from, PATHPROF_OUTSIDE, sample->count - sum,
						  0);
}

/* Entries of a kind that the profile lacks are turned into kinds that it has. */
static int work_in(struct pathprof_branch_profile *p)
{
	struct pp_branch_entries *falls = &p->draft->entries[PP_ENTRY_FALL];
	struct pp_branch_entries *samples = &p->draft->entries[PP_ENTRY_SAMPLE];
	int r = 0;

	sum_up(samples);
	sum_up(&p->draft->entries[PP_ENTRY_BRANCH]);
	for (size_t i = samples->cnt; i-- > 0 && !r && p->draft->graph;)
		r = add_leaving(p, &samples->items[i]);
	samples->cnt = samples->sorted = 0;
	sum_up(&p->draft->entries[PP_ENTRY_BRANCH]);
	sum_up(falls);
	if (!r && falls->cnt)
		r = pp_fall_ranges_add(p, p->draft->graph, falls);
	falls->cnt = falls->sorted = 0;
	return r;
}

int pathprof_branch_profile_settle(struct pathprof_branch_profile *p)
{
	const struct pp_branch_entries *of = p->draft->entries;
	int r;

	if (p->settled)
		return 0;
	r = work_in(p);
	if (r)
		return r;
	for (int i = 0; i < PP_ENTRY_PROFILE_CNT; i++) {
		sum_up(&p->draft->entries[i]);
		if (of[i].cnt > ENTRIES_MAX)
			return -E2BIG;
	}
	drop_arrays(p);
	p->branches = calloc(of[PP_ENTRY_BRANCH].cnt + 1, sizeof(p->branches[0]));
	p->ranges = calloc(of[PP_ENTRY_RANGE].cnt + 1, sizeof(p->ranges[0]));
	p->traces = calloc(of[PP_ENTRY_TRACE].cnt + 1, sizeof(p->traces[0]));
	p->times = calloc(of[PP_ENTRY_TIME].cnt + 1, sizeof(p->times[0]));
	if (!p->branches || !p->ranges || !p->traces || !p->times) {
		drop_arrays(p);
		return -ENOMEM;
	}
	fill(p);
	p->settled = true;
	return 0;
}

/* ---------------------------------------------------------------- origin */

static bool has_piece(const char *text, const char *piece, size_t len, const char *separator)
{
	while (text) {
		if (strcspn(text, separator) == len && strncmp(text, piece, len) == 0)
			return true;
		text = strpbrk(text, separator);
		text = text ? text + 1 : NULL;
	}
	return false;
}

static int add_piece(char **text, const char *piece, size_t len, const char *separator)
{
	size_t old_len = *text ? strlen(*text) : 0;
	char *joined = malloc(old_len + len + 2);

	if (!joined)
		return -ENOMEM;
	sprintf(joined, "%s%s%.*s", *text ? *text : "", old_len ? separator : "", (int)len, piece);
	free(*text);
	*text = joined;
	return 0;
}

/* Adds the pieces of `with` that are none of the text's yet. */
static int merge_text(char **text, const char *with, const char *separator)
{
	int r = 0;

	while (with && *with && r == 0) {
		size_t len = strcspn(with, separator);

		if (!has_piece(*text, with, len, separator))
			r = add_piece(text, with, len, separator);
		with += len + (with[len] != 0);
	}
	return r;
}

int pp_branch_add_event(struct pathprof_branch_profile *p, const char *name)
{
	return merge_text(&p->origin.events, name, " ");
}

int pp_branch_merge_origin(struct pathprof_branch_profile *p,
			   const struct pathprof_branch_origin *from, bool first)
{
	struct pathprof_branch_origin *o = &p->origin;
	int r = merge_text(&o->host, from->host, "+");

	if (!r)
		r = merge_text(&o->sources, from->sources, "+");
	if (!r)
		r = merge_text(&o->events, from->events, " ");
	if (!r && !o->binary)
		r = replace(&o->binary, from->binary);
	if (r)
		return r;
	if (o->build_id.kind == PATHPROF_ID_NONE)
		o->build_id = from->build_id;
	o->basis = first || o->basis == from->basis ? from->basis : 0;
	o->horizon = first || o->horizon == from->horizon ? from->horizon : 0;
	if (from->begin_ns && (!o->begin_ns || from->begin_ns < o->begin_ns))
		o->begin_ns = from->begin_ns;
	if (from->end_ns > o->end_ns)
		o->end_ns = from->end_ns;
	o->windows += from->windows;
	o->samples = pp_count_sum(o->samples, from->samples);
	o->taken = pp_count_sum(o->taken, from->taken);
	o->refused = pp_count_sum(o->refused, from->refused);
	o->weight += from->weight;
	o->weighed |= from->weighed;
	return 0;
}
