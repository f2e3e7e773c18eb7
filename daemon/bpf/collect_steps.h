/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The BPF collector's work on a window, in steps that a verifier can check one by one: each is a
 * global function that looks its state up itself and leaves what the next one needs in it
 * (docs/core.md, "Rules for BPF"). The BPF program includes this file, and so does the program that
 * tests compare it with; each defines before
 *
 *   struct pp_collect_state *pp_collect_mine(void)        this CPU's state, NULL: none
 *   const struct pp_collect_config pp_collect_config
 *   long pp_collect_output(void *record, __u64 size)      0: the reader will get it
 *   void pp_collect_describe(struct pathprof_context *)   who runs; space and number are set
 *
 * Workload: collect.h. Any context, NMI included; the caller is busy with this CPU's state. The
 * kernel module does the same work in segments.c.
 */
#ifndef PP_COLLECT_STEPS_H
#define PP_COLLECT_STEPS_H

#include "collect.h"

#define PP_COLLECT_STEP __attribute__((noinline))

#define PP_COLLECT_ADDRESS_BITS 47    /* of user space, without the fifth level of page tables */
#define PP_COLLECT_CONTEXT_MAX  65535 /* numbers a CPU gives out before they begin again */
#define PP_COLLECT_CYCLES_SHIFT 5     /* cycles go into the table by 32, rounded at random */
#define PP_COLLECT_WRONG_PATH   1     /* PERF_BR_SPEC_WRONG_PATH: fetched, never executed */

#define PP_COLLECT_CYCLES(flags)     ((flags) >> 4 & 0xffff)
#define PP_COLLECT_KIND(flags)       ((flags) >> 20 & 15)
#define PP_COLLECT_SPECULATED(flags) ((flags) >> 24 & 3)

int pp_collect_path(__u32 slot);
int pp_collect_message(__u32 profile, __u32 count);
int pp_collect_tuple(__u32 profile);
int pp_collect_settle(__u32 last, __u32 leaves);
int pp_collect_enter(__u32 unused);
int pp_collect_branch(__u32 i);
int pp_collect_branches(__u32 cnt, __u32 newest);
int pp_collect_window(__u32 cnt, __u64 address_space);
int pp_collect_drain_slot(__u32 slot);
int pp_collect_drain_slots(__u32 first);
int pp_collect_drain_rest(__u32 unused);

/* ------------------------------------------------------------------ records */

PP_INLINE void pp_collect_count(struct pp_collect_state *s, __u32 stat)
{
	s->stats.value[stat]++;
}

/* Returns 0 if the ring is full. The lost record uses up a number, so the reader notices. */
PP_INLINE __u32 pp_collect_write(struct pp_collect_state *s, struct pathprof_record *head,
				 __u32 type, __u64 size_bytes)
{
	head->size_bytes = (__u32)size_bytes;
	head->type = (__u16)type;
	head->flags = 0;
	head->cpu = s->cpu;
	head->seq = s->seq++;
	if (pp_collect_output(head, size_bytes)) {
		pp_collect_count(s, PATHPROF_STAT_LOST_FULL);
		return 0;
	}
	pp_collect_count(s, PATHPROF_STAT_RECORDS);
	s->stats.value[PATHPROF_STAT_BYTES] += size_bytes;
	return 1;
}

PP_INLINE void pp_collect_stage_write(struct pp_collect_state *s, struct pp_collect_stage *stage,
				      __u32 type)
{
	if (stage->cnt)
		pp_collect_write(s, &stage->head, type,
				 sizeof(stage->head) + stage->cnt * sizeof(stage->count[0]));
	stage->cnt = 0;
}

PP_INLINE void pp_collect_stage_add(struct pp_collect_state *s, struct pp_collect_stage *stage,
				    __u32 type, __u64 first, __u64 second, __u64 count)
{
	__u64 at = stage->cnt;
	struct pathprof_path_record *record = &stage->count[PP_MASK(at, 63)];

	if (at >= PP_COLLECT_STAGE_MAX)
		return;
	record->start = first;
	record->desc = second;
	record->count = count;
	stage->cnt = at + 1;
	if (at + 1 == PP_COLLECT_STAGE_MAX)
		pp_collect_stage_write(s, stage, type);
}

/* ----------------------------------------------------------------- contexts */

PP_INLINE __u32 pp_collect_new_number(struct pp_collect_state *s, struct pp_collect_context *c,
				      __u64 address_space)
{
	if (s->last_context >= PP_COLLECT_CONTEXT_MAX)
		return 0;
	s->naming.context.address_space = address_space;
	s->naming.context.context = s->last_context + 1;
	if (!s->given)
		pp_collect_describe(&s->naming.context);
	if (!pp_collect_write(s, &s->naming.head, PATHPROF_RECORD_CONTEXT, sizeof(s->naming)))
		return 0;
	s->last_context++;
	c->address_space = address_space;
	c->number = s->last_context;
	return s->last_context;
}

/* The number of an address space whose CONTEXT record was written; 0: it could not be written. */
PP_INLINE __u32 pp_collect_number(struct pp_collect_state *s, __u64 address_space)
{
	__u64 hash = address_space * 0x61C8864680B583EBULL >> (64 - PP_COLLECT_CONTEXT_BITS);
	struct pp_collect_context *c =
		&s->context[PP_MASK(hash, (1 << PP_COLLECT_CONTEXT_BITS) - 1)];

	if (!address_space)
		return 0;
	if (PP_LIKELY(c->address_space == address_space))
		return (__u32)c->number;
	return pp_collect_new_number(s, c, address_space);
}

/* ------------------------------------------------------------------- tuples */

/* Passes count, which the first level reports of walk.from and walk.to, to the second level. */
PP_COLLECT_STEP int pp_collect_message(__u32 profile, __u32 count)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u32 size = pp_collect_config.compress.assoc_size;
	struct pp_message evicted;
	struct pp_tuple tuple;

	if (!s)
		return 0;
	tuple.pc = s->walk.from | s->walk.plan.tag;
	tuple.word = s->walk.to | (__u64)profile << PP_CONTEXT_SHIFT;
	if (!size)
		pp_collect_stage_add(s, &s->tuples, PATHPROF_RECORD_TUPLE, tuple.pc, tuple.word,
				     count);
	else if (pp_assoc_step(&s->compress.assoc, size, &tuple, count, &evicted))
		pp_collect_stage_add(s, &s->tuples, PATHPROF_RECORD_TUPLE, evicted.tuple.pc,
				     evicted.tuple.word, evicted.count);
	return 0;
}

/* Samples walk.from and walk.to in one of the profiles. */
PP_COLLECT_STEP int pp_collect_tuple(__u32 profile)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u32 index, count;
	__u64 pc, word;

	if (!s)
		return 0;
	index = s->walk.near ^ (profile == PATHPROF_PROFILE_CALLS ? s->walk.plan.call_hash
								  : s->walk.plan.edge_hash);
	pc = s->walk.from | s->walk.plan.tag;
	word = s->walk.to | (__u64)profile << PP_CONTEXT_SHIFT;
	count = pp_tuple_sample(&s->compress, &pp_collect_config.compress, index, pc, word);
	if (count)
		pp_collect_message(profile, count);
	return 0;
}

/*
 * Does the work of pp_collect_tuple() without a call and a look-up in the common case: the period
 * of the substream is not over yet, and only its counter changes.
 */
PP_INLINE void pp_collect_sample(struct pp_collect_state *s, __u32 index, __u32 profile)
{
	__u32 *counter = &s->compress.split.counter[PP_MASK(index, PP_SPLIT_MAX - 1)];
	__u32 length = *counter + 1;

	if (PP_LIKELY(pp_collect_config.compress.sampler == PP_SAMPLER_PERIODIC &&
		      length < pp_collect_config.compress.rate))
		*counter = length;
	else
		pp_collect_tuple(profile);
}

PP_INLINE void pp_collect_tuples(struct pp_collect_state *s, const struct pp_taken *taken)
{
	const struct pp_tuple_plan *plan = &s->walk.plan;
	__u32 kind = (__u32)taken->kind, near;

	if (!((plan->edges | plan->calls) >> kind & 1))
		return;
	near = pp_tuple_near(&s->compress.hash, taken->from, taken->to);
	s->walk.from = taken->from;
	s->walk.to = taken->to;
	s->walk.near = near;
	if (PP_LIKELY(plan->edges >> kind & 1))
		pp_collect_sample(s, near ^ plan->edge_hash, PATHPROF_PROFILE_EDGES);
	if (plan->calls >> kind & 1)
		pp_collect_sample(s, near ^ plan->call_hash, PATHPROF_PROFILE_CALLS);
}

/* ----------------------------------------------------------------- segments */

PP_INLINE __u32 pp_collect_define(struct pp_collect_state *s, __u32 slot, __u64 start, __u64 desc)
{
	struct pp_collect_definition *d = &s->definition[PP_MASK(slot, PP_HPT_MAX - 1)];
	__u32 length = PP_DESC_LENGTH(desc);

	d->segment.start = start;
	d->segment.desc = desc;
	d->segment.branch_cnt = length;
	return pp_collect_write(s, &d->head, PATHPROF_RECORD_DEFINE,
				sizeof(d->head) + sizeof(d->segment) +
					length * sizeof(d->entry[0]));
}

/* Writes out walk.message, which left the hot path table; its branches are still in its slot. */
PP_COLLECT_STEP int pp_collect_path(__u32 slot)
{
	__u32 shift =
		pp_collect_config.metric == PATHPROF_METRIC_CYCLES ? PP_COLLECT_CYCLES_SHIFT : 0;
	struct pp_collect_state *s = pp_collect_mine();
	__u64 start, desc, known;

	if (!s)
		return 0;
	start = s->walk.message.start;
	desc = s->walk.message.desc & ~PP_HPT_VALID;
	/* With the epoch, definitions under numbers that have been given out again do not count. */
	known = start + s->epoch * PP_SEGMENT_FACTOR;
	if (!pp_defined_remember(&s->defined, known, desc) &&
	    !pp_collect_define(s, slot, start, desc)) {
		pp_defined_forget(&s->defined, known, desc);
		pp_collect_count(s, PATHPROF_STAT_LOST_DEFINE);
		return 0;
	}
	pp_collect_stage_add(s, &s->paths, PATHPROF_RECORD_PATH, start, desc,
			     s->walk.message.count << shift);
	return 0;
}

/* Stores the branches of the segment that entry `last` ended; older entries have higher indices. */
PP_INLINE void pp_collect_keep(struct pp_collect_state *s, __u32 slot, __u32 last, __u32 length)
{
	struct pp_collect_definition *d = &s->definition[PP_MASK(slot, PP_HPT_MAX - 1)];
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_SEGMENT_LENGTH_MAX; i++) {
		const struct pp_collect_entry *e =
			&s->stack[PP_MASK(last + (length - 1 - i), PP_COLLECT_STACK_MAX - 1)];

		if (i >= length)
			break;
		d->entry[i].from = e->from;
		d->entry[i].to = e->to | PP_COLLECT_KIND(e->flags) << 48;
	}
}

/*
 * walk.ended is in the table now. If it replaced a path that `leaves`, that path is written out
 * before the branches of walk.ended overwrite its own.
 */
PP_COLLECT_STEP int pp_collect_settle(__u32 last, __u32 leaves)
{
	const struct pp_hpt_config *config = &pp_collect_config.hpt;
	struct pp_collect_state *s = pp_collect_mine();
	__u64 start, desc;
	__u32 set;

	if (!s)
		return 0;
	start = s->walk.ended.start;
	desc = s->walk.ended.desc;
	set = (__u32)PP_MASK(pp_hpt_set(start, desc, config->bits) * config->ways, PP_HPT_MAX - 1);
	set += PP_LAUNDER(pp_hpt_find(&s->hpt.entry[set], config->ways, start, desc | PP_HPT_VALID),
			  &s->walk.scratch);
	if (leaves)
		pp_collect_path(set);
	pp_collect_keep(s, set, last, PP_DESC_LENGTH(desc));
	return 0;
}

/* Enters walk.ended into the table. Returns 1 if walk.message must be written out for it. */
PP_COLLECT_STEP int pp_collect_enter(__u32 unused)
{
	struct pp_collect_state *s = pp_collect_mine();

	if (!s)
		return 0;
	return (int)pp_hpt_step(&s->hpt, &pp_collect_config.hpt, s->walk.ended.start,
				s->walk.ended.desc, s->walk.ended.events, &s->walk.message);
}

/*
 * Counts walk.ended, which entry `last` ended: its start is tagged, its events are the amount. Most
 * segments are in the table already; only the others need a step of their own.
 */
PP_INLINE void pp_collect_segment(struct pp_collect_state *s, __u32 last)
{
	const struct pp_hpt_config *config = &pp_collect_config.hpt;
	__u64 start = s->walk.ended.start, desc = s->walk.ended.desc;
	__u32 at = pp_hpt_set(start, desc, config->bits) * config->ways;
	struct pp_hpt_entry *set = &s->hpt.entry[PP_MASK(at, PP_HPT_MAX - 1)];
	__u32 way = pp_hpt_find(set, config->ways, start, desc | PP_HPT_VALID);

	way = PP_LAUNDER(way, &s->walk.scratch);
	if (PP_LIKELY(way < PP_HPT_WAYS_MAX))
		set[PP_MASK(way, PP_HPT_WAYS_MAX - 1)].count += s->walk.ended.events;
	else if (s->walk.ended.events)
		pp_collect_settle(last, (__u32)pp_collect_enter(0));
}

/* ------------------------------------------------------------------- window */

/* 0, or the PATHPROF_STAT_LBR_* of an entry to drop. The subtraction makes 0 a kernel address. */
PP_INLINE __u32 pp_collect_refuses(const struct pp_collect_entry *e)
{
	if (PP_LIKELY(!(((e->from - 1) | (e->to - 1)) >> PP_COLLECT_ADDRESS_BITS) &&
		      PP_COLLECT_SPECULATED(e->flags) != PP_COLLECT_WRONG_PATH))
		return 0;
	return e->from && e->to ? PATHPROF_STAT_LBR_BOGUS : PATHPROF_STAT_LBR_ZERO;
}

PP_INLINE __u64 pp_collect_events(const struct pp_collect_entry *e)
{
	if (pp_collect_config.metric == PATHPROF_METRIC_CYCLES)
		return PP_COLLECT_CYCLES(e->flags);
	return pp_collect_config.metric == PATHPROF_METRIC_MISPREDICT ? e->flags & 1 : 0;
}

PP_INLINE __u64 pp_collect_weigh(struct pp_collect_state *s, __u64 events)
{
	if (pp_collect_config.metric == PATHPROF_METRIC_RUNS)
		return 1;
	if (pp_collect_config.metric == PATHPROF_METRIC_CYCLES)
		return (events + (pp_random_next(&s->random) >> (64 - PP_COLLECT_CYCLES_SHIFT))) >>
		       PP_COLLECT_CYCLES_SHIFT;
	return events;
}

PP_COLLECT_STEP int pp_collect_branch(__u32 i)
{
	struct pp_collect_state *s = pp_collect_mine();
	const struct pp_collect_entry *e;
	struct pp_taken taken;
	__u32 why;

	if (!s)
		return 0;
	e = &s->stack[PP_MASK(i, PP_COLLECT_STACK_MAX - 1)];
	why = pp_collect_refuses(e);
	if (PP_UNLIKELY(why)) {
		s->stats.value[PP_MASK(why, 63)]++;
		pp_segment_cut(&s->walk.segment);
		return 0;
	}
	taken.from = e->from;
	taken.to = e->to;
	taken.kind = PP_COLLECT_KIND(e->flags);
	taken.events = pp_collect_events(e);
	pp_collect_tuples(s, &taken);
	if (!pp_segment_step(&s->walk.segment, &taken, &s->walk.ended))
		return 0;
	pp_collect_count(s, PATHPROF_STAT_SEGMENTS);
	s->walk.ended.start |= s->walk.plan.tag;
	s->walk.ended.events = pp_collect_weigh(s, s->walk.ended.events);
	pp_collect_segment(s, i);
	return 0;
}

/* Returns the index of the newest entry to use: some processors record the newest one twice. */
PP_INLINE __u32 pp_collect_newest(struct pp_collect_state *s, __u32 cnt)
{
	const struct pp_collect_entry *a = &s->stack[0], *b = &s->stack[1];

	/* prediction and cycles; the type follows from the addresses */
	if (cnt < 2 || a->from != b->from || a->to != b->to || !a->from ||
	    ((a->flags ^ b->flags) & 0xffff3))
		return 0;
	pp_collect_count(s, PATHPROF_STAT_LBR_DUPLICATE);
	return 1;
}

/* Takes the entries from cnt - 1, the oldest, down to newest. */
PP_COLLECT_STEP int pp_collect_branches(__u32 cnt, __u32 newest)
{
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_COLLECT_STACK_MAX; i++) {
		if (i + newest >= cnt)
			break;
		pp_collect_branch(cnt - 1 - i);
	}
	return 0;
}

PP_INLINE void pp_collect_begin(struct pp_segment_state *segment)
{
	segment->start = 0;
	segment->hash = 0;
	segment->events = 0;
	segment->first = 0;
	segment->seen = 0;
	segment->limit = 0;
}

/* Takes the first cnt entries of the stack, recorded in this address space. */
PP_COLLECT_STEP int pp_collect_window(__u32 cnt, __u64 address_space)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u32 number, newest;

	if (!s || cnt > PP_COLLECT_STACK_MAX)
		return 0;
	newest = pp_collect_newest(s, cnt);
	pp_collect_count(s, PATHPROF_STAT_WINDOWS);
	s->stats.value[PATHPROF_STAT_LBR_ENTRIES] += cnt;
	number = s->closing ? 0 : pp_collect_number(s, address_space);
	if (!number) {
		pp_collect_count(s, PATHPROF_STAT_LOST_CONTEXT);
		return 0;
	}
	pp_tuple_plan_init(&s->walk.plan, &s->compress.hash, pp_collect_config.kinds,
			   pp_collect_config.profiles, number);
	pp_collect_begin(&s->walk.segment);
	return pp_collect_branches(cnt, newest);
}

/* -------------------------------------------------------------------- drain */

PP_COLLECT_STEP int pp_collect_drain_slot(__u32 slot)
{
	struct pp_collect_state *s = pp_collect_mine();
	struct pp_hpt_entry *entry;
	__u32 leaves = 1;

	if (!s)
		return 0;
	entry = &s->hpt.entry[PP_MASK(slot, PP_HPT_MAX - 1)];
	if (!(entry->desc & PP_HPT_VALID))
		return 0;
	if (pp_collect_config.hpt.policy == PP_HPT_TAIL)
		leaves = pp_hpt_leave(&s->hpt, entry);
	s->walk.message = *entry;
	entry->start = 0;
	entry->desc = 0;
	entry->count = 0;
	return leaves ? pp_collect_path(slot) : 0;
}

PP_COLLECT_STEP int pp_collect_drain_slots(__u32 first)
{
	struct pp_collect_state *s = pp_collect_mine();
	__u32 i;

	if (!s)
		return 0;
	if (first == 0 && s->last_context > PP_COLLECT_CONTEXT_MAX / 2)
		s->closing = 1;
	PP_NO_UNROLL
	for (i = 0; i < PP_COLLECT_DRAIN_STEP; i++)
		pp_collect_drain_slot(first + i);
	return 0;
}

/* Gives out numbers from 1 again: all that is tagged with an old one has been written out. */
PP_INLINE void pp_collect_renumber(struct pp_collect_state *s)
{
	__u32 i;

	s->last_context = 0;
	s->closing = 0;
	s->epoch++;
	PP_NO_UNROLL
	for (i = 0; i < 1 << PP_COLLECT_CONTEXT_BITS; i++)
		s->context[PP_MASK(i, (1 << PP_COLLECT_CONTEXT_BITS) - 1)].address_space = 0;
}

/* After all slots: writes out the second level's messages, and records that are not full yet. */
PP_COLLECT_STEP int pp_collect_drain_rest(__u32 unused)
{
	struct pp_collect_state *s = pp_collect_mine();
	struct pp_assoc *assoc;
	__u32 i;

	if (!s)
		return 0;
	assoc = &s->compress.assoc;
	PP_NO_UNROLL
	for (i = 0; i < PP_ASSOC_MAX; i++) {
		struct pp_message *m = &assoc->entry[PP_MASK(i, PP_ASSOC_MAX - 1)];

		if (i < assoc->used)
			pp_collect_stage_add(s, &s->tuples, PATHPROF_RECORD_TUPLE, m->tuple.pc,
					     m->tuple.word, m->count);
		m->tuple.pc = 0;
		m->tuple.word = 0;
		m->count = 0;
	}
	assoc->used = 0;
	pp_collect_stage_write(s, &s->paths, PATHPROF_RECORD_PATH);
	pp_collect_stage_write(s, &s->tuples, PATHPROF_RECORD_TUPLE);
	if (s->closing)
		pp_collect_renumber(s);
	return 0;
}

#endif
