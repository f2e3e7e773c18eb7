// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The records that the collector should write for windows: the core's steps called the plain way,
 * as tests/vm/guest/vmsegments does for the module, and with many processes, spoiled entries and
 * numbers that begin again besides. It shares no line with collect_steps.h, hashes every tuple
 * whole, and looks for a segment's slot when it has been counted.
 *
 * It also checks rules for the records of any writer: in sequence, whole, each number named and
 * each segment defined before it is used.
 *
 * Workload: collect_check.h. One model, one owner. Rings that are full are not modelled.
 */
#include "collect_check.h"

#include <string.h>

#include "../vm/guest/twin.h"

#define ADDRESS_BITS 47
#define NUMBERS      65535
#define CACHE        256
#define CYCLES_SHIFT 5
#define SEEN_MAX     (1u << 20) /* segments defined, a power of two */

struct name {
	uint64_t start, desc;
};

static struct {
	const struct pp_collect_config *config;
	struct pp_chain_config chain_config;
	struct pp_chain chain;
	struct pp_random random;
	struct pathprof_lbr_entry slot[PP_HPT_MAX][PP_SEGMENT_LENGTH_MAX];
	struct pp_defined defined;
	uint64_t space[CACHE];
	uint32_t number[CACHE];
	uint32_t last_number, epoch, cpu;
	bool closing;
	struct side made, seen;
	struct pathprof_collector_stats stats;
	/* of the records that came */
	struct name named[SEEN_MAX];
	uint32_t named_cnt, seq, last_seen;
	uint64_t bad, lines;
} model;

/* ------------------------------------------------------------------- making */

static uint64_t digest(const struct pathprof_lbr_entry *entries, uint32_t cnt)
{
	uint64_t hash = cnt;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		hash = (hash ^ entries[i].from) * 0x100000001b3ull;
		hash = (hash ^ entries[i].to) * 0x100000001b3ull;
	}
	return hash;
}

/* Definitions that the reader has are forgotten in the same order as by the core. */
static void make_path(uint32_t slot, const struct pp_hpt_entry *entry)
{
	uint64_t desc = entry->desc & ~PP_HPT_VALID;
	uint64_t count = entry->count;

	if (model.config->metric == PATHPROF_METRIC_CYCLES)
		count *= 1u << CYCLES_SHIFT;
	if (!pp_defined_remember(&model.defined, entry->start + model.epoch * PP_SEGMENT_FACTOR,
				 desc))
		line_add(&model.made, PATHPROF_RECORD_DEFINE, entry->start, desc,
			 digest(model.slot[slot], PP_DESC_LENGTH(desc)));
	line_add(&model.made, PATHPROF_RECORD_PATH, entry->start, desc, count);
}

static uint64_t weigh(uint64_t events)
{
	if (model.config->metric == PATHPROF_METRIC_RUNS)
		return 1;
	if (model.config->metric == PATHPROF_METRIC_MISPREDICT)
		return events;
	return (events + (pp_random_next(&model.random) >> (64 - CYCLES_SHIFT))) >> CYCLES_SHIFT;
}

static uint32_t find(uint64_t start, uint64_t desc)
{
	const struct pp_hpt_config *config = &model.config->hpt;
	uint32_t set = pp_hpt_set(start, desc, config->bits) * config->ways;
	uint32_t way =
		pp_hpt_find(&model.chain.hpt.entry[set], config->ways, start, desc | PP_HPT_VALID);

	return way == PP_HPT_WAYS_MAX ? PP_HPT_MAX : set + way;
}

/* oldest: the segment's first branch; the next lies before it. */
static void make_segment(const struct pp_segment *segment, uint64_t tag,
			 const struct pp_collect_entry *oldest)
{
	uint64_t start = segment->start | tag, weight = weigh(segment->events);
	bool was_there = find(start, segment->desc) < PP_HPT_MAX;
	struct pp_hpt_entry left;
	uint32_t slot, i;

	model.stats.value[PATHPROF_STAT_SEGMENTS]++;
	if (!was_there && !weight)
		return;
	if (pp_hpt_step(&model.chain.hpt, &model.config->hpt, start, segment->desc, weight, &left))
		make_path(find(start, segment->desc), &left);
	if (was_there)
		return;
	slot = find(start, segment->desc);
	for (i = 0; i < PP_DESC_LENGTH(segment->desc); i++) {
		const struct pp_collect_entry *e = oldest - i;

		model.slot[slot][i].from = e->from;
		model.slot[slot][i].to = e->to | (e->flags >> 20 & 15) << 48;
	}
}

static void make_tuples(const struct pp_collect_entry *e, uint64_t tag)
{
	uint32_t kind = e->flags >> 20 & 15, profile;

	for (profile = PATHPROF_PROFILE_EDGES; profile <= PATHPROF_PROFILE_CALLS; profile *= 2) {
		struct pp_tuple tuple = {e->from | tag, e->to | (uint64_t)profile << 48};
		bool is_call = kind == PP_KIND_CALL || kind == PP_KIND_ICALL;

		if (!(model.config->profiles & profile) || !(model.config->kinds >> kind & 1))
			continue;
		if (profile == PATHPROF_PROFILE_CALLS && !is_call)
			continue;
		twin_tuple(&model.chain, &model.chain_config, &tuple, &model.made);
	}
}

/* ----------------------------------------------------------------- contexts */

static void number_all_anew(void)
{
	memset(model.space, 0, sizeof(model.space));
	model.last_number = 0;
	model.closing = false;
	model.epoch++;
}

static uint32_t number_of(const struct pathprof_context *who)
{
	uint32_t at = (uint32_t)(who->address_space * 0x61C8864680B583EBull >> 56);

	if (model.closing)
		return 0;
	if (model.space[at] == who->address_space)
		return model.number[at];
	if (model.last_number == NUMBERS)
		return 0;
	model.space[at] = who->address_space;
	model.number[at] = ++model.last_number;
	line_add(&model.made, PATHPROF_RECORD_CONTEXT, who->address_space, model.last_number,
		 who->start_time ^ who->cgroup << 20 ^ who->cgroup_v1 << 40 ^
			 (uint64_t)who->pid << 52);
	return model.last_number;
}

/* ------------------------------------------------------------------ windows */

static uint32_t refused(const struct pp_collect_entry *e)
{
	if (e->from == 0 || e->to == 0)
		return PATHPROF_STAT_LBR_ZERO;
	if (e->from >> ADDRESS_BITS || e->to >> ADDRESS_BITS || (e->flags >> 24 & 3) == 1)
		return PATHPROF_STAT_LBR_BOGUS;
	return 0;
}

static uint64_t events_of(const struct pp_collect_entry *e)
{
	if (model.config->metric == PATHPROF_METRIC_CYCLES)
		return e->flags >> 4 & 0xffff;
	return model.config->metric == PATHPROF_METRIC_MISPREDICT ? e->flags & 1 : 0;
}

static bool is_twice(const struct pp_collect_entry *e, uint64_t cnt)
{
	uint64_t same = 3 | 0xffffull << 4;

	return cnt > 1 && e[0].from && e[0].from == e[1].from && e[0].to == e[1].to &&
	       (e[0].flags & same) == (e[1].flags & same);
}

static void walk(const struct pp_collect_entry *newest, const struct pp_collect_entry *oldest,
		 uint64_t tag)
{
	/* of what follows the last entry that was refused */
	const struct pp_collect_entry *first = oldest, *e;
	struct pp_segment_state state = {0};
	struct pp_segment segment;

	for (e = oldest; e >= newest; e--) {
		struct pp_taken taken = {e->from, e->to, e->flags >> 20 & 15, events_of(e)};
		uint32_t why = refused(e);

		if (why) {
			model.stats.value[why]++;
			memset(&state, 0, sizeof(state));
			first = e - 1;
			continue;
		}
		make_tuples(e, tag);
		if (pp_segment_step(&state, &taken, &segment))
			make_segment(&segment, tag, first - segment.first);
	}
}

static void make_window(const struct pp_collect_given *given)
{
	uint32_t cnt = (uint32_t)given->cnt, number;
	const struct pp_collect_entry *newest = given->stack;

	if (cnt > PP_COLLECT_STACK_MAX)
		return;
	model.stats.value[PATHPROF_STAT_WINDOWS]++;
	model.stats.value[PATHPROF_STAT_LBR_ENTRIES] += cnt;
	if (is_twice(newest, cnt)) {
		model.stats.value[PATHPROF_STAT_LBR_DUPLICATE]++;
		newest++;
	}
	number = number_of(&given->who);
	if (number)
		walk(newest, given->stack + cnt - 1, (uint64_t)number << 48);
	else
		model.stats.value[PATHPROF_STAT_LOST_CONTEXT]++;
}

void model_run(const struct pp_collect_given *given, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		make_window(&given[i]);
}

/* first: of a part of the slots, or behind them all. */
void model_drain(uint64_t first)
{
	struct pp_hpt *hpt = &model.chain.hpt;
	uint64_t slot;

	if (first == 0 && model.last_number > NUMBERS / 2)
		model.closing = true;
	for (slot = first; slot < PP_HPT_MAX && slot < first + PP_COLLECT_DRAIN_STEP; slot++) {
		struct pp_hpt_entry *entry = &hpt->entry[slot];

		if (entry->desc & PP_HPT_VALID &&
		    (model.config->hpt.policy == PP_HPT_LFU || pp_hpt_leave(hpt, entry)))
			make_path((uint32_t)slot, entry);
		memset(entry, 0, sizeof(*entry));
	}
	if (first < PP_HPT_MAX)
		return;
	twin_drain_tuples(&model.chain, &model.made);
	if (model.closing)
		number_all_anew();
}

/* ------------------------------------------------------------------ records */

static bool name_is_known(uint64_t start, uint64_t desc, bool add)
{
	uint32_t at = (uint32_t)((start ^ desc) * PP_SEGMENT_FACTOR >> 44) & (SEEN_MAX - 1);

	while (model.named[at].start) {
		if (model.named[at].start == start && model.named[at].desc == desc)
			return true;
		at = (at + 1) & (SEEN_MAX - 1);
	}
	if (!add || model.named_cnt >= SEEN_MAX / 2)
		return false;
	model.named[at].start = start;
	model.named[at].desc = desc;
	model.named_cnt++;
	return true;
}

static void see_context(const struct pathprof_context *c)
{
	if (c->context == 1) {
		memset(model.named, 0, sizeof(model.named));
		model.named_cnt = 0;
		model.last_seen = 0;
	}
	model.bad += c->context != ++model.last_seen;
	line_add(&model.seen, PATHPROF_RECORD_CONTEXT, c->address_space, c->context,
		 c->start_time ^ c->cgroup << 20 ^ c->cgroup_v1 << 40 ^ (uint64_t)c->pid << 52);
}

static void see_define(const struct pathprof_record *record, const struct pathprof_segment *s)
{
	model.bad +=
		record->size_bytes !=
		sizeof(*record) + sizeof(*s) + s->branch_cnt * sizeof(struct pathprof_lbr_entry);
	model.bad += !name_is_known(s->start, s->desc, true);
	line_add(&model.seen, PATHPROF_RECORD_DEFINE, s->start, s->desc,
		 digest((const void *)(s + 1), s->branch_cnt));
}

static void see_counts(const struct pathprof_record *record)
{
	const struct pathprof_path_record *count = (const void *)(record + 1);
	size_t cnt = (record->size_bytes - sizeof(*record)) / sizeof(*count), i;

	model.bad += !cnt || (record->size_bytes - sizeof(*record)) % sizeof(*count);
	for (i = 0; i < cnt; i++) {
		uint32_t number = PATHPROF_CONTEXT(count[i].start);

		model.bad += !number || number > model.last_seen;
		if (record->type == PATHPROF_RECORD_PATH)
			model.bad += !name_is_known(count[i].start, count[i].desc, false);
	}
	line_add_record(&model.seen, record);
}

static void see(const struct pathprof_record *record)
{
	model.bad += record->seq != model.seq++ || record->cpu != model.cpu || record->flags ||
		     record->size_bytes % 8;
	model.stats.value[PATHPROF_STAT_RECORDS]++;
	model.stats.value[PATHPROF_STAT_BYTES] += record->size_bytes;
	switch (record->type) {
	case PATHPROF_RECORD_CONTEXT:
		see_context((const void *)(record + 1));
		break;
	case PATHPROF_RECORD_DEFINE:
		see_define(record, (const void *)(record + 1));
		break;
	case PATHPROF_RECORD_PATH:
	case PATHPROF_RECORD_TUPLE:
		see_counts(record);
		break;
	default:
		model.bad++;
	}
}

void model_see(const unsigned char *records, size_t len_bytes)
{
	size_t at = 0;

	while (at < len_bytes) {
		const struct pathprof_record *record = (const void *)(records + at);

		see(record);
		at += record->size_bytes;
	}
}

/* ---------------------------------------------------------------- comparing */

void model_begin(const struct setting *s, uint32_t cpu)
{
	struct side made = model.made, seen = model.seen;

	memset(&model, 0, sizeof(model));
	model.made = made;
	model.seen = seen;
	side_clear(&model.made);
	side_clear(&model.seen);
	model.config = &s->config;
	model.chain_config.compress = s->config.compress;
	model.cpu = cpu;
	model.last_number = s->last_context;
	model.last_seen = s->last_context;
	twin_begin(&model.chain, &model.chain_config, SEED, cpu);
	pp_random_init(&model.random, SEED ^ (uint64_t)cpu << 32 ^ 0x9E3779B97F4A7C15ull);
}

/* Lines past what either side holds would be compared with nothing. */
static bool is_overfull(const struct side *side)
{
	uint32_t type;

	for (type = 0; type < PATHPROF_RECORD_CNT; type++)
		if (side->of[type].cnt == LINES_MAX)
			return true;
	return false;
}

uint64_t model_differences(bool verbose)
{
	uint64_t differ = side_differences(&model.made, &model.seen, verbose);

	differ += model.bad + is_overfull(&model.made) + is_overfull(&model.seen);
	if (verbose && model.bad)
		fprintf(stderr, "%llu records are none\n", (unsigned long long)model.bad);
	model.lines += side_cnt(&model.seen);
	model.bad = 0;
	side_clear(&model.made);
	side_clear(&model.seen);
	return differ;
}

uint64_t model_lines(void)
{
	return model.lines;
}

int model_counters(const struct pathprof_collector_stats *stats)
{
	int i;

	for (i = 0; i < PATHPROF_STAT_CNT; i++)
		if (i != PATHPROF_STAT_SPENT_NS && stats->value[i] != model.stats.value[i])
			return i;
	return -1;
}
