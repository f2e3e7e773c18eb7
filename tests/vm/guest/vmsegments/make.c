// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records that the module makes of windows, made again from the windows that were kept: the
 * core's steps, called the plain way.
 *
 * Workload: some thousand windows, twice over. A twin of the module's tables for every CPU.
 */
#include <linux/perf_event.h>

#include "vmsegments.h"

#define FALSIFIED 20 /* windows */

uint32_t count_shift(const struct check *check)
{
	return check->start.metric == PATHPROF_METRIC_CYCLES ? CYCLES_SHIFT : 0;
}

uint64_t digest(const struct pathprof_lbr_entry *entries, uint32_t cnt)
{
	uint64_t hash = cnt;

	for (uint32_t i = 0; i < cnt; i++) {
		hash = (hash ^ entries[i].from) * 0x100000001b3ull;
		hash = (hash ^ entries[i].to) * 0x100000001b3ull;
	}
	return hash;
}

static void make_path(struct check *check, struct twin *twin, uint32_t slot,
		      const struct pp_hpt_entry *entry)
{
	uint64_t count = entry->count << count_shift(check);
	uint64_t desc = entry->desc & ~PP_HPT_VALID;

	if (keys_add(&twin->defined, entry->start, desc))
		line_add(&twin->made, PATHPROF_RECORD_DEFINE, entry->start, desc,
			 digest(twin->slot[slot], PP_DESC_LENGTH(desc)));
	line_add(&twin->made, PATHPROF_RECORD_PATH, entry->start, desc, count);
	key_of(&check->profile, entry->start, desc)->told += (double)count;
}

static uint64_t weigh(const struct check *check, struct twin *twin, uint64_t events)
{
	if (check->start.metric == PATHPROF_METRIC_CYCLES)
		return (events + (pp_random_next(&twin->random) >> (64 - CYCLES_SHIFT))) >>
		       CYCLES_SHIFT;
	return check->start.metric == PATHPROF_METRIC_RUNS ? 1 : events;
}

/* The plain way: a step, whatever it does, and then a look at where the segment lies. */
static void make_segment(struct check *check, struct twin *twin, const struct pp_segment *segment,
			 const struct pathprof_lbr_entry *window)
{
	const struct pp_hpt_config *config = &check->config.hpt;
	uint64_t start = segment->start | TWIN_CONTEXT,
		 weight = weigh(check, twin, segment->events);
	uint32_t set = pp_hpt_set(start, segment->desc, config->bits) * config->ways, slot;
	struct pp_hpt_entry left;

	check->segments++;
	key_of(&check->profile, start, segment->desc)->truth +=
		check->start.metric == PATHPROF_METRIC_RUNS ? 1 : (double)segment->events;
	slot = pp_hpt_find(&twin->chain.hpt.entry[set], config->ways, start,
			   segment->desc | PP_HPT_VALID);
	if (slot == PP_HPT_WAYS_MAX && !weight)
		return;
	if (pp_hpt_step(&twin->chain.hpt, config, start, segment->desc, weight, &left)) {
		slot = pp_hpt_find(&twin->chain.hpt.entry[set], config->ways, start,
				   segment->desc | PP_HPT_VALID);
		make_path(check, twin, set + slot, &left);
	}
	slot = set + pp_hpt_find(&twin->chain.hpt.entry[set], config->ways, start,
				 segment->desc | PP_HPT_VALID);
	for (uint32_t i = 0; i < PP_DESC_LENGTH(segment->desc); i++) {
		const struct pathprof_lbr_entry *entry = &window[segment->first + i];

		twin->slot[slot][i].from = PATHPROF_LBR_ADDRESS(entry->from);
		twin->slot[slot][i].to = PATHPROF_LBR_ADDRESS(entry->to) |
					 (uint64_t)PATHPROF_LBR_KIND(entry->to) << 48;
	}
}

static void make_tuple(struct check *check, struct twin *twin, uint32_t profile, uint64_t from,
		       uint64_t to)
{
	struct pp_tuple tuple = {from | TWIN_CONTEXT, to | (uint64_t)profile << 48};

	if (!check->start.profiles || (check->start.profiles & profile))
		twin_tuple(&twin->chain, &check->config, &tuple, &twin->made);
}

static void make_window(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_lbr *lbr = (const void *)(record + 1);
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);
	struct twin *twin = &check->twins[record->cpu];
	struct pp_segment_state state = {0};
	struct pp_segment segment;

	for (uint32_t i = 0; i < lbr->branch_cnt; i++) {
		struct pp_taken taken = {PATHPROF_LBR_ADDRESS(entries[i].from),
					 PATHPROF_LBR_ADDRESS(entries[i].to),
					 PATHPROF_LBR_KIND(entries[i].to), 0};

		taken.events = check->start.metric == PATHPROF_METRIC_CYCLES
				       ? PATHPROF_LBR_CYCLES(entries[i].from)
				       : !!(entries[i].to & PATHPROF_LBR_MISPREDICTED);
		if (entries[i].to & PATHPROF_LBR_CUT)
			pp_segment_cut(&state);
		if (!check->start.kinds || check->start.kinds >> taken.kind & 1) {
			make_tuple(check, twin, PATHPROF_PROFILE_EDGES, taken.from, taken.to);
			if (taken.kind == PERF_BR_CALL || taken.kind == PERF_BR_IND_CALL)
				make_tuple(check, twin, PATHPROF_PROFILE_CALLS, taken.from,
					   taken.to);
		}
		if (pp_segment_step(&state, &taken, &segment))
			make_segment(check, twin, &segment, entries);
	}
}

static void make_drain(struct check *check, struct twin *twin)
{
	struct pp_hpt *hpt = &twin->chain.hpt;

	for (uint32_t slot = 0; slot < SLOT_MAX; slot++)
		if ((hpt->entry[slot].desc & PP_HPT_VALID) &&
		    (check->config.hpt.policy != PP_HPT_TAIL ||
		     pp_hpt_leave(hpt, &hpt->entry[slot])))
			make_path(check, twin, slot, &hpt->entry[slot]);
	memset(hpt->entry, 0, sizeof(hpt->entry));
	twin_drain_tuples(&twin->chain, &twin->made);
}

static void make_drain_all(struct check *check)
{
	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++)
		make_drain(check, &check->twins[cpu]);
}

static void begin_twin(const struct check *check, struct twin *twin, uint32_t cpu)
{
	uint64_t seed = check->start.chain.seed;

	twin_begin(&twin->chain, &check->config, seed, cpu);
	pp_random_init(&twin->random, seed ^ (uint64_t)cpu << 32 ^ 0x9E3779B97F4A7C15ull);
	keys_clear(&twin->defined);
	side_clear(&twin->made);
}

uint64_t replay(struct check *check, int verbose)
{
	const struct pathprof_record *record;
	uint64_t wrong = 0;

	keys_clear(&check->profile);
	check->segments = 0;
	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++)
		begin_twin(check, &check->twins[cpu], cpu);
	for (size_t at = 0; (record = kept_next(&check->kept, &at));) {
		if (record->type == PATHPROF_RECORD_LBR)
			make_window(check, record);
		else
			make_drain_all(check);
	}
	make_drain_all(check);
	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++)
		wrong +=
			side_differences(&check->twins[cpu].made, &check->twins[cpu].seen, verbose);
	return wrong;
}

void falsify(struct check *check)
{
	struct pathprof_record *record;
	size_t at = 0;

	for (int i = 0; i < FALSIFIED && (record = kept_next(&check->kept, &at)); i++) {
		struct pathprof_lbr *lbr = (void *)(record + 1);
		struct pathprof_lbr_entry *entries = (void *)(lbr + 1);

		if (record->type != PATHPROF_RECORD_LBR)
			continue;
		for (uint32_t j = 0; j < lbr->branch_cnt; j++) {
			entries[j].from ^= 2 | (uint64_t)64 << 48;
			entries[j].to ^= 2 | PATHPROF_LBR_MISPREDICTED;
		}
	}
}
