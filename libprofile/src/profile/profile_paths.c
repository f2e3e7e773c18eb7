// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Paths of a profile, who called them, and segments: two paths, one behind the other. Entries are
 * found as profile.c says.
 */
#include "pp_profile.h"

#include "base/count.h"
#include "pp_path_sums.h"

#define PATH_LENGTH_MAX 32
/* The array doubles: segments never take more than a quarter of the memory. */
#define SEGMENTS_PART 8

/* ---------------------------------------------------------------- paths */

static uint64_t hash_path(uint64_t seed, const struct pathprof_path_count *p)
{
	uint64_t hash = pp_hash_mix(seed, (uint64_t)p->process << 32 | p->binary);

	return pp_hash_mix(pp_hash_mix(hash, p->start), (uint64_t)p->length << 32 | p->outcomes);
}

static bool same_path(const struct pathprof_path_count *a, const struct pathprof_path_count *b)
{
	return a->start == b->start && a->outcomes == b->outcomes && a->length == b->length &&
	       a->process == b->process && a->binary == b->binary;
}

static struct pathprof_path_count *find_path(const struct pathprof_profile *p, uint64_t hash,
					     const struct pathprof_path_count *path)
{
	uint32_t entry =
		pp_table_find(&p->index->paths.table, hash, i, same_path(&p->paths[i], path));

	return entry == PP_TABLE_NONE ? NULL : &p->paths[entry];
}

static struct pathprof_path_count *new_path(struct pathprof_profile *p, uint64_t hash,
					    const struct pathprof_path_count *path)
{
	struct pp_profile_entries *entries = &p->index->paths;
	struct pathprof_path_count *entry;

	if (!pp_profile_make_room(p->index, (void **)&p->paths, sizeof(*p->paths), entries))
		return NULL;
	entry = &p->paths[p->path_cnt];
	*entry = *path;
	if (pp_table_add(&entries->table, hash, i, hash_path(p->index->seed, &p->paths[i])) < 0)
		return NULL;
	p->path_cnt++;
	pp_path_sums_begin(entry);
	return entry;
}

/* ---------------------------------------------------------------- callers */

static uint64_t hash_context(uint64_t seed, const struct pathprof_caller *c)
{
	return pp_hash_mix(pp_hash_mix(seed, (uint64_t)c->parent << 32 | c->binary), c->function);
}

static bool same_context(const struct pathprof_caller *a, const struct pathprof_caller *b)
{
	return a->function == b->function && a->parent == b->parent && a->binary == b->binary;
}

static uint32_t new_context(struct pathprof_profile *p, const struct pathprof_caller *context)
{
	struct pp_profile_entries *entries = &p->index->contexts;
	uint64_t hash = hash_context(p->index->seed, context);

	if (!pp_profile_make_room(p->index, (void **)&p->contexts, sizeof(*p->contexts), entries))
		return 0;
	p->contexts[p->context_cnt] = *context;
	if (pp_table_add(&entries->table, hash, i, hash_context(p->index->seed, &p->contexts[i])) <
	    0)
		return 0;
	return p->context_cnt++;
}

uint32_t pathprof_profile_context(struct pathprof_profile *p, uint32_t parent, uint32_t binary,
				  uint64_t function)
{
	const struct pathprof_caller nobody = {0, PATHPROF_NO_INDEX, UINT64_MAX};
	const struct pathprof_caller context = {parent, binary, function};
	uint32_t entry;

	if ((parent && parent >= p->context_cnt) ||
	    (binary >= p->binary_cnt && binary != PATHPROF_NO_INDEX)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return 0;
	}
	entry = pp_table_find(&p->index->contexts.table, hash_context(p->index->seed, &context), i,
			      same_context(&p->contexts[i], &context));
	if (entry != PP_TABLE_NONE)
		return entry;
	if (!p->context_cnt)
		new_context(p, &nobody);
	entry = p->context_cnt ? new_context(p, &context) : 0;
	p->totals.drops[PATHPROF_DROP_TABLE_FULL] += !entry;
	return entry;
}

static uint64_t hash_context_count(uint64_t seed, const struct pathprof_caller_count *c)
{
	return pp_hash_mix(seed, (uint64_t)c->path << 32 | c->context);
}

static bool same_context_count(const struct pathprof_caller_count *a,
			       const struct pathprof_caller_count *b)
{
	return a->path == b->path && a->context == b->context;
}

static struct pathprof_caller_count *new_context_count(struct pathprof_profile *p, uint64_t hash,
						       const struct pathprof_caller_count *count)
{
	struct pp_profile_entries *entries = &p->index->context_counts;
	uint32_t number = p->context_count_cnt;

	if (!pp_profile_make_room(p->index, (void **)&p->context_counts, sizeof(*p->context_counts),
				  entries))
		return NULL;
	p->context_counts[number] = *count;
	if (pp_table_add(&entries->table, hash, i,
			 hash_context_count(p->index->seed, &p->context_counts[i])) < 0)
		return NULL;
	p->context_count_cnt++;
	return &p->context_counts[number];
}

static void add_context(struct pathprof_profile *p, uint32_t path,
			const struct pathprof_path_count *add, uint32_t context)
{
	struct pathprof_caller_count count = {.path = path, .context = context};
	uint64_t hash = hash_context_count(p->index->seed, &count);
	uint32_t number = pp_table_find(&p->index->context_counts.table, hash, i,
					same_context_count(&p->context_counts[i], &count));
	struct pathprof_caller_count *entry = number == PP_TABLE_NONE
						      ? new_context_count(p, hash, &count)
						      : &p->context_counts[number];

	if (!entry) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return;
	}
	entry->samples = pp_count_sum(entry->samples, add->samples);
	entry->weight += add->weight;
}

/* ---------------------------------------------------------------- adding */

static bool path_is_sound(const struct pathprof_profile *p, const struct pathprof_path_count *path)
{
	return path->process < p->process_cnt && path->binary < p->binary_cnt &&
	       path->length <= PATH_LENGTH_MAX && pp_profile_is_sum(path->weight) &&
	       pp_profile_is_sum(path->insns) && pp_profile_is_sum(path->weight_squares) &&
	       (!path->slice || path->slice_samples > 0);
}

void pathprof_profile_add_path(struct pathprof_profile *p, const struct pathprof_path_count *add)
{
	pathprof_profile_add_called_path(p, add, 0);
}

void pathprof_profile_add_called_path(struct pathprof_profile *p,
				      const struct pathprof_path_count *add, uint32_t context)
{
	/* No room for its process or binary, which was counted as a drop there. */
	if (add->process == PATHPROF_NO_INDEX || add->binary == PATHPROF_NO_INDEX)
		return;
	if (!path_is_sound(p, add) || (context && context >= p->context_cnt)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	uint64_t hash = hash_path(p->index->seed, add);
	struct pathprof_path_count *entry = find_path(p, hash, add);
	if (!entry)
		entry = new_path(p, hash, add);
	if (!entry) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return;
	}
	pp_path_sums_add(entry, add);
	if (context)
		add_context(p, (uint32_t)(entry - p->paths), add, context);
}

/* ---------------------------------------------------------------- segments */

static uint64_t hash_segment(uint64_t seed, const struct pathprof_segment_count *s)
{
	const struct pathprof_piece_key *first = &s->first;
	uint64_t hash = pp_hash_mix(hash_path(seed, &s->second), first->start);

	hash = pp_hash_mix(hash, (uint64_t)first->length << 32 | first->outcomes);
	return pp_hash_mix(hash, first->binary);
}

static bool same_segment(const struct pathprof_segment_count *a,
			 const struct pathprof_segment_count *b)
{
	return a->first.start == b->first.start && a->first.outcomes == b->first.outcomes &&
	       a->first.length == b->first.length && a->first.binary == b->first.binary &&
	       same_path(&a->second, &b->second);
}

static bool segments_have_room(const struct pathprof_profile *p)
{
	const size_t entry_bytes = sizeof(*p->segments) + 2 * sizeof(uint32_t);

	return p->segment_cnt < p->index->max_bytes / SEGMENTS_PART / entry_bytes;
}

static struct pathprof_segment_count *find_segment(const struct pathprof_profile *p, uint64_t hash,
						   const struct pathprof_segment_count *segment)
{
	uint32_t entry = pp_table_find(&p->index->segments.table, hash, i,
				       same_segment(&p->segments[i], segment));

	return entry == PP_TABLE_NONE ? NULL : &p->segments[entry];
}

static struct pathprof_segment_count *new_segment(struct pathprof_profile *p, uint64_t hash,
						  const struct pathprof_segment_count *segment)
{
	struct pp_profile_entries *entries = &p->index->segments;
	struct pathprof_segment_count *entry;

	if (!segments_have_room(p) ||
	    !pp_profile_make_room(p->index, (void **)&p->segments, sizeof(*p->segments), entries))
		return NULL;
	entry = &p->segments[p->segment_cnt];
	*entry = *segment;
	if (pp_table_add(&entries->table, hash, i, hash_segment(p->index->seed, &p->segments[i])) <
	    0)
		return NULL;
	p->segment_cnt++;
	pp_path_sums_begin(&entry->second);
	return entry;
}

void pathprof_profile_add_segment(struct pathprof_profile *p,
				  const struct pathprof_segment_count *add)
{
	struct pathprof_segment_count *entry;
	uint64_t hash;

	if (add->second.process == PATHPROF_NO_INDEX || add->second.binary == PATHPROF_NO_INDEX ||
	    add->first.binary == PATHPROF_NO_INDEX)
		return;
	if (!path_is_sound(p, &add->second) || add->first.binary >= p->binary_cnt ||
	    add->first.length > PATH_LENGTH_MAX) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	hash = hash_segment(p->index->seed, add);
	entry = find_segment(p, hash, add);
	if (!entry)
		entry = new_segment(p, hash, add);
	if (entry)
		pp_path_sums_add(&entry->second, &add->second);
	else
		p->segments_lost = pp_count_sum(p->segments_lost, add->second.samples);
}

/* ---------------------------------------------------------------- scaling */

static void scale_path(struct pathprof_path_count *path, double factor)
{
	path->weight *= factor;
	path->insns *= factor;
	path->weight_squares *= factor * factor;
	path->burst_weight *= factor;
	path->slice_weight *= factor;
}

void pathprof_profile_scale(struct pathprof_profile *p, const double *factors)
{
	for (uint32_t i = 0; i < p->path_cnt; i++)
		scale_path(&p->paths[i], factors[p->paths[i].process]);
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		p->edges[i].weight *= factors[p->edges[i].process];
	for (uint32_t i = 0; i < p->context_count_cnt; i++)
		p->context_counts[i].weight *= factors[p->paths[p->context_counts[i].path].process];
	for (uint32_t i = 0; i < p->segment_cnt; i++)
		scale_path(&p->segments[i].second, factors[p->segments[i].second.process]);
}
