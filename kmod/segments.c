// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hardware windows through the chain. The branches of each segment in the hot path table are kept
 * beside it until it leaves: only what becomes a PATH record needs a DEFINE, and most of what
 * enters the table never does.
 *
 * Workload: up to some thousand windows a second and CPU, of 32 entries and 20 to 26 segments, of
 * which 95 to 99 in 100 are in the table. The loop is compiled twice, once for the configuration
 * that is used unless another is asked for.
 */
#include "segments.h"

#include "lbr.h"
#include "ring.h"
#include "stats.h"
#include "tuples.h"

/* Cycles go into the table by 32, rounded at random, or each segment would be worth a message. */
#define CYCLES_SHIFT 5

static const struct pp_hpt_config usual_hpt = {.bits = 9, .ways = 4, .policy = PP_HPT_TAIL};

/* The settings of a walk over a window; the usual ones are constants to the compiler. */
struct walk {
	struct pp_tuple_plan tuples;
	struct pp_compress_config compress;
	struct pp_hpt_config hpt;
	u32 metric;
};

bool pp_segments_are_usual(const struct pp_pipeline_config *config)
{
	return config->metric == PATHPROF_METRIC_RUNS && !~config->kinds &&
	       config->profiles == (PATHPROF_PROFILE_EDGES | PATHPROF_PROFILE_CALLS) &&
	       config->chain.compress.sampler == PP_SAMPLER_PERIODIC &&
	       !memcmp(&config->chain.hpt, &usual_hpt, sizeof(usual_hpt));
}

/* ----------------------------------------------------------------- defining */

static bool write_define(const struct pp_segment_branches *branches, u64 start, u64 desc)
{
	u32 len_bytes = PP_DESC_LENGTH(desc) * sizeof(branches->entry[0]);
	struct pathprof_segment *segment;

	segment = pp_ring_reserve(PATHPROF_RECORD_DEFINE, sizeof(*segment) + len_bytes);
	if (!segment)
		return false;
	*segment = (struct pathprof_segment){
		.start = start, .desc = desc, .branch_cnt = PP_DESC_LENGTH(desc)};
	memcpy(segment + 1, branches->entry, len_bytes);
	pp_ring_commit(sizeof(*segment) + len_bytes);
	return true;
}

/* A message of the hot path table; its branches lie in the slot that it had. */
static void write_path(struct pp_tables *t, u32 slot, const struct pp_hpt_entry *message)
{
	u32 shift = pp_pipeline_config.metric == PATHPROF_METRIC_CYCLES ? CYCLES_SHIFT : 0;
	u64 desc = message->desc & ~PP_HPT_VALID;

	if (!pp_defined_remember(&t->defined, message->start, desc) &&
	    !write_define(&t->branches[slot], message->start, desc)) {
		pp_defined_forget(&t->defined, message->start, desc);
		pp_stats_inc(PATHPROF_STAT_LOST_DEFINE);
		return;
	}
	pp_stage_add(&t->paths, PATHPROF_RECORD_PATH, message->start, desc,
		     message->count << shift);
}

void pp_segments_drain(struct pp_tables *t)
{
	const struct pp_hpt_config *config = &pp_pipeline_config.chain.hpt;
	u32 slots = config->ways << config->bits, slot;

	for (slot = 0; slot < slots; slot++) {
		struct pp_hpt_entry *entry = &t->chain.hpt.entry[slot];

		if (!(entry->desc & PP_HPT_VALID))
			continue;
		if (config->policy != PP_HPT_TAIL || pp_hpt_leave(&t->chain.hpt, entry))
			write_path(t, slot, entry);
	}
	memset(t->chain.hpt.entry, 0, slots * sizeof(t->chain.hpt.entry[0]));
}

/* ----------------------------------------------------------------- counting */

static u64 weigh(struct pp_tables *t, u32 metric, u64 events)
{
	switch (metric) {
	case PATHPROF_METRIC_RUNS:
		return 1;
	case PATHPROF_METRIC_CYCLES:
		events += pp_random_next(&t->random) >> (64 - CYCLES_SHIFT);
		return events >> CYCLES_SHIFT;
	default:
		return events;
	}
}

static __always_inline u64 events_of(u32 metric, const struct perf_branch_entry *entry)
{
	if (metric == PATHPROF_METRIC_CYCLES)
		return entry->cycles;
	return metric == PATHPROF_METRIC_MISPREDICT ? entry->mispred : 0;
}

/*
 * Enters a segment that is not in the table. The segment that it replaces is written out before
 * its branches are overwritten. last: the entry that ended the new one; earlier ones lie behind.
 */
static noinline void enter(struct pp_tables *t, u64 start, u64 desc, u64 weight,
			   const struct perf_branch_entry *last)
{
	const struct pp_hpt_config *config = &pp_pipeline_config.chain.hpt;
	u32 set = pp_hpt_set(start, desc, config->bits) * config->ways;
	u32 length = PP_DESC_LENGTH(desc), slot, leaves, i;
	struct pp_hpt_entry left;

	leaves = pp_hpt_step(&t->chain.hpt, config, start, desc, weight, &left);
	slot = set +
	       pp_hpt_find(&t->chain.hpt.entry[set], config->ways, start, desc | PP_HPT_VALID);
	if (leaves)
		write_path(t, slot, &left);
	for (i = 0; i < length; i++)
		pp_lbr_copy_bare(last + (length - 1 - i), &t->branches[slot].entry[i]);
}

static __always_inline void count_segment(struct pp_tables *t, const struct pp_hpt_config *config,
					  u64 start, u64 desc, u64 weight,
					  const struct perf_branch_entry *last)
{
	u32 set = pp_hpt_set(start, desc, config->bits) * config->ways, way;
	struct pp_hpt_entry *entry = &t->chain.hpt.entry[set];

#pragma GCC unroll 4
	for (way = 0; way < config->ways; way++) {
		if (entry[way].desc == (desc | PP_HPT_VALID) && entry[way].start == start) {
			entry[way].count += weight;
			return;
		}
	}
	if (weight)
		enter(t, start, desc, weight, last);
}

/* With RAW the window's record has counted them. */
static noinline void count_refused(u32 why)
{
	if (!pp_pipeline_config.raw)
		pp_stats_inc(why);
}

/* Walks from the oldest entry to the newest; perf has the newest first. */
static __always_inline void walk_over(struct pp_tables *t, const struct walk *walk,
				      const struct perf_branch_entry *oldest,
				      const struct perf_branch_entry *newest)
{
	const struct perf_branch_entry *entry;
	struct pp_segment_state state = {0};
	struct pp_segment segment;
	u32 ended = 0, why;

	for (entry = oldest; entry >= newest; entry--) {
		struct pp_taken taken = {entry->from, entry->to, entry->type,
					 events_of(walk->metric, entry)};

		why = pp_lbr_refuses(entry);
		if (unlikely(why)) {
			count_refused(why);
			pp_segment_cut(&state);
			continue;
		}
		pp_tuple_step(t, &walk->compress, &walk->tuples, taken.from, taken.to, taken.kind);
		if (!pp_segment_step(&state, &taken, &segment))
			continue;
		count_segment(t, &walk->hpt, segment.start | walk->tuples.tag, segment.desc,
			      weigh(t, walk->metric, segment.events), entry);
		ended++;
	}
	pp_stats_add(PATHPROF_STAT_SEGMENTS, ended);
}

void pp_segments_window(struct pp_tables *t, const struct perf_branch_stack *stack, u32 cnt,
			u32 newest, u32 context)
{
	const struct perf_branch_entry *entries = stack->entries;
	struct walk walk = {.compress = pp_pipeline_config.chain.compress};

	pp_tuple_plan_init(&walk.tuples, &t->chain.compress.hash, pp_pipeline_config.kinds,
			   pp_pipeline_config.profiles, context);
	if (likely(pp_pipeline_config.usual)) {
		walk.compress.sampler = PP_SAMPLER_PERIODIC;
		walk.tuples.edges = ~0u;
		walk.tuples.calls = PP_TUPLE_CALLS;
		walk.hpt = usual_hpt;
		walk.metric = PATHPROF_METRIC_RUNS;
		walk_over(t, &walk, entries + cnt - 1, entries + newest);
	} else {
		walk.hpt = pp_pipeline_config.chain.hpt;
		walk.metric = pp_pipeline_config.metric;
		walk_over(t, &walk, entries + cnt - 1, entries + newest);
	}
}
