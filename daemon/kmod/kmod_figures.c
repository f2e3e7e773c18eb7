// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a source of the kernel module tells of itself: the module's counters since the source was
 * opened, what its own parts counted, and the reasons why samples were lost put into those that all
 * sources share.
 *
 * Workload: once a window, and when asked. One thread.
 */
#include "kmod_source.h"

static uint64_t since(const struct pp_kmod_source *source, const struct pathprof_kmod_stats *now,
		      unsigned int stat)
{
	return now->value[stat] - source->before.value[stat];
}

/* Entries that were whole, of all windows. */
static uint64_t entries(const struct pp_kmod_source *source, const struct pathprof_kmod_stats *now)
{
	uint64_t dropped = since(source, now, PATHPROF_STAT_LBR_ZERO) +
			   since(source, now, PATHPROF_STAT_LBR_DUPLICATE) +
			   since(source, now, PATHPROF_STAT_LBR_BOGUS);
	uint64_t all = since(source, now, PATHPROF_STAT_LBR_ENTRIES);

	return all > dropped ? all - dropped : 0;
}

double pp_kmod_figures_depth(const struct pp_kmod_source *source,
			     const struct pathprof_kmod_stats *now)
{
	uint64_t windows = since(source, now, PATHPROF_STAT_WINDOWS);

	return windows ? (double)entries(source, now) / (double)windows : 0;
}

static const char *const refusal_names[PATHPROF_REFUSED_CNT] = {
	[PATHPROF_REFUSED_UNKNOWN_CODE] = "refused_unknown_code",
	[PATHPROF_REFUSED_NO_BRANCH] = "refused_no_branch",
	[PATHPROF_REFUSED_TARGET] = "refused_target",
	[PATHPROF_REFUSED_OVERLAP] = "refused_overlap",
	[PATHPROF_REFUSED_UNDECODABLE] = "refused_undecodable",
	[PATHPROF_REFUSED_TOO_LONG] = "refused_too_long",
	[PATHPROF_REFUSED_EMPTY] = "refused_empty",
};

static void add_counter(struct pp_kmod_source *source, uint32_t *cnt, const char *name,
			uint64_t value)
{
	if (*cnt < PP_SOURCE_COUNTER_MAX)
		source->counters[(*cnt)++] = (struct pp_source_counter){name, value};
}

struct ring_sums {
	uint64_t malformed, missing;
};

static struct ring_sums sum_rings(const struct pp_kmod_source *source)
{
	struct ring_sums sums = {0};

	for (uint32_t i = 0; i < source->device.ring_cnt; i++) {
		sums.malformed += source->device.rings[i].malformed;
		sums.missing += source->device.rings[i].missing;
	}
	return sums;
}

static uint64_t sum_refused(const struct pp_kmod_source *source)
{
	uint64_t sum = 0;

	for (int i = 1; source->rebuild && i < PATHPROF_REFUSED_CNT; i++)
		sum += pp_rebuild_refused(source->rebuild, (enum pathprof_refusal)i);
	return sum;
}

static uint32_t fill_counters(struct pp_kmod_source *source, const struct pathprof_kmod_stats *now)
{
	struct ring_sums rings = sum_rings(source);
	struct pp_kmod_counts_stats counts = {0};
	uint32_t cnt = 0;

	for (unsigned int i = 0; i < PATHPROF_STAT_END; i++)
		add_counter(source, &cnt, pp_kmod_stat_name(i), since(source, now, i));
	add_counter(source, &cnt, "trap_ns", source->device.info.trap_ns);
	add_counter(source, &cnt, "outside", source->outside);
	add_counter(source, &cnt, "ring_malformed", rings.malformed);
	add_counter(source, &cnt, "ring_missing", rings.missing);
	for (int i = 1; source->rebuild && i < PATHPROF_REFUSED_CNT; i++)
		add_counter(source, &cnt, refusal_names[i],
			    pp_rebuild_refused(source->rebuild, (enum pathprof_refusal)i));
	if (!source->counts)
		return cnt;
	pp_kmod_counts_stats(source->counts, &counts);
	add_counter(source, &cnt, "segments_defined", counts.defined);
	add_counter(source, &cnt, "runs_refused", counts.refused);
	add_counter(source, &cnt, "runs_unknown", counts.unknown);
	add_counter(source, &cnt, "segments_full", counts.full);
	return cnt;
}

static void fill_drops(const struct pp_kmod_source *source, const struct pathprof_kmod_stats *now,
		       uint64_t *drops)
{
	struct pp_kmod_counts_stats counts = {0};

	if (source->counts)
		pp_kmod_counts_stats(source->counts, &counts);
	drops[PATHPROF_DROP_BUDGET] = since(source, now, PATHPROF_STAT_SKIP_BUDGET) +
				      since(source, now, PATHPROF_STAT_SKIP_CEILING);
	drops[PATHPROF_DROP_TRACED] = since(source, now, PATHPROF_STAT_SKIP_TRACED);
	drops[PATHPROF_DROP_32BIT] = since(source, now, PATHPROF_STAT_SKIP_COMPAT);
	drops[PATHPROF_DROP_GONE] = since(source, now, PATHPROF_STAT_LATE);
	drops[PATHPROF_DROP_BUSY] = since(source, now, PATHPROF_STAT_SKIP_BUSY) +
				    since(source, now, PATHPROF_STAT_LOST_NESTED) +
				    since(source, now, PATHPROF_STAT_LOST_BUSY);
	drops[PATHPROF_DROP_QUEUE_FULL] = since(source, now, PATHPROF_STAT_LOST_FULL) +
					  since(source, now, PATHPROF_STAT_LOST_CONTEXT) +
					  since(source, now, PATHPROF_STAT_LOST_DEFINE);
	drops[PATHPROF_DROP_MALFORMED] = sum_rings(source).malformed;
	drops[PATHPROF_DROP_UNRESOLVED] = source->unknown + counts.unknown;
	drops[PATHPROF_DROP_TABLE_FULL] = counts.full;
	/* In counts a segment is refused once, and each of its runs is missing. */
	drops[PATHPROF_DROP_REFUSED] = source->counts ? counts.refused : sum_refused(source);
}

static uint32_t taken_of_window(const struct pp_kmod_source *source,
				const struct pathprof_kmod_stats *now)
{
	if (!pp_kmod_is_lbr(source))
		return pp_kmod_session_window(source);
	return pp_kmod_clamp((uint64_t)(pp_kmod_figures_depth(source, now) + 0.5), 0,
			     PP_KMOD_LBR_MAX);
}

void pp_kmod_figures_fill(struct pp_kmod_source *source, struct pp_source_stats *ret_stats)
{
	struct pp_source_stats stats = {0};
	struct pathprof_kmod_stats now;

	/* totals must not fall: what cannot be had is what it was */
	if (pp_kmod_device_stats(&source->device, &now))
		now = source->last;
	source->last = now;
	stats.samples = since(source, &now, PATHPROF_STAT_SAMPLES);
	stats.bursts = since(source, &now, PATHPROF_STAT_WINDOWS);
	stats.steps = since(source, &now, PATHPROF_STAT_TRAPS);
	stats.stopped_ns = since(source, &now, PATHPROF_STAT_SPENT_NS);
	stats.cpu_ns = source->cpu_ns;
	stats.taken_wanted = taken_of_window(source, &now);
	stats.sampler = pp_kmod_is_lbr(source) ? source->event.name : "cpu-clock";
	if (source->counts) {
		stats.windows = stats.bursts;
		stats.taken = entries(source, &now);
	}
	fill_drops(source, &now, stats.drops);
	stats.counter_cnt = fill_counters(source, &now);
	stats.counters = source->counters;
	*ret_stats = stats;
}
