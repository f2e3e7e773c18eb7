// SPDX-License-Identifier: GPL-2.0-or-later
/* See chain_figures.h. Source of the counters: pathprof/record_abi.h. */
#include "chain_figures.h"

static const char *const refusal_names[PATHPROF_REFUSED_CNT] = {
	[PATHPROF_REFUSED_UNKNOWN_CODE] = "refused_unknown_code",
	[PATHPROF_REFUSED_NO_BRANCH] = "refused_no_branch",
	[PATHPROF_REFUSED_TARGET] = "refused_target",
	[PATHPROF_REFUSED_OVERLAP] = "refused_overlap",
	[PATHPROF_REFUSED_UNDECODABLE] = "refused_undecodable",
	[PATHPROF_REFUSED_TOO_LONG] = "refused_too_long",
	[PATHPROF_REFUSED_EMPTY] = "refused_empty",
};

static const char *const stat_names[PATHPROF_STAT_END] = {PATHPROF_STAT_NAMES};

/* Entries that were whole, of all windows. */
static uint64_t entries(const struct pathprof_collector_stats *since)
{
	uint64_t dropped = since->value[PATHPROF_STAT_LBR_ZERO] +
			   since->value[PATHPROF_STAT_LBR_DUPLICATE] +
			   since->value[PATHPROF_STAT_LBR_BOGUS];
	uint64_t all = since->value[PATHPROF_STAT_LBR_ENTRIES];

	return all > dropped ? all - dropped : 0;
}

double pp_chain_figures_depth(const struct pathprof_collector_stats *since)
{
	uint64_t windows = since->value[PATHPROF_STAT_WINDOWS];

	return windows ? (double)entries(since) / (double)windows : 0;
}

void pp_chain_figures_add(struct pp_chain_figures *figures, const char *name, uint64_t value)
{
	if (figures->counter_cnt < PP_SOURCE_COUNTER_MAX)
		figures->counters[figures->counter_cnt++] = (struct pp_source_counter){name, value};
}

static void add_refusals(struct pp_chain_figures *figures, const struct pp_chain_reader *reader)
{
	for (int i = 1; reader->rebuild && i < PATHPROF_REFUSED_CNT; i++)
		pp_chain_figures_add(figures, refusal_names[i],
				     pp_rebuild_refused(reader->rebuild, (enum pathprof_refusal)i));
}

static uint64_t sum_refused(const struct pp_chain_reader *reader)
{
	uint64_t sum = 0;

	for (int i = 1; reader->rebuild && i < PATHPROF_REFUSED_CNT; i++)
		sum += pp_rebuild_refused(reader->rebuild, (enum pathprof_refusal)i);
	return sum;
}

static void fill_counters(struct pp_chain_figures *figures, const struct pp_chain_reader *reader,
			  const struct pp_chain_counts_stats *counts)
{
	figures->counter_cnt = 0;
	for (unsigned int i = 0; i < PATHPROF_STAT_END; i++)
		pp_chain_figures_add(figures, stat_names[i], figures->since.value[i]);
	pp_chain_figures_add(figures, "outside", reader->outside);
	pp_chain_figures_add(figures, "ring_malformed", figures->malformed);
	pp_chain_figures_add(figures, "ring_missing", figures->missing);
	add_refusals(figures, reader);
	if (!reader->counts)
		return;
	pp_chain_figures_add(figures, "segments_defined", counts->defined);
	pp_chain_figures_add(figures, "runs_refused", counts->refused);
	pp_chain_figures_add(figures, "runs_unknown", counts->unknown);
	pp_chain_figures_add(figures, "segments_full", counts->full);
}

static void fill_drops(const struct pp_chain_figures *figures, const struct pp_chain_reader *reader,
		       const struct pp_chain_counts_stats *counts, uint64_t *drops)
{
	const __u64 *since = figures->since.value;

	drops[PATHPROF_DROP_BUDGET] =
		since[PATHPROF_STAT_SKIP_BUDGET] + since[PATHPROF_STAT_SKIP_CEILING];
	drops[PATHPROF_DROP_TRACED] = since[PATHPROF_STAT_SKIP_TRACED];
	drops[PATHPROF_DROP_REALTIME] = since[PATHPROF_STAT_SKIP_REALTIME];
	drops[PATHPROF_DROP_ISOLATED] = since[PATHPROF_STAT_SKIP_ISOLATED];
	drops[PATHPROF_DROP_INIT] = since[PATHPROF_STAT_SKIP_INIT];
	drops[PATHPROF_DROP_32BIT] = since[PATHPROF_STAT_SKIP_COMPAT];
	drops[PATHPROF_DROP_BUSY] = since[PATHPROF_STAT_SKIP_BUSY] +
				    since[PATHPROF_STAT_LOST_NESTED] +
				    since[PATHPROF_STAT_LOST_BUSY];
	drops[PATHPROF_DROP_QUEUE_FULL] = since[PATHPROF_STAT_LOST_FULL] +
					  since[PATHPROF_STAT_LOST_CONTEXT] +
					  since[PATHPROF_STAT_LOST_DEFINE];
	drops[PATHPROF_DROP_MALFORMED] = figures->malformed;
	drops[PATHPROF_DROP_UNRESOLVED] = reader->unknown + counts->unknown;
	drops[PATHPROF_DROP_TABLE_FULL] = counts->full;
	/* In counts a segment is refused once, and each of its runs is missing. */
	drops[PATHPROF_DROP_REFUSED] = reader->counts ? counts->refused : sum_refused(reader);
}

void pp_chain_figures_fill(struct pp_chain_figures *figures, const struct pp_chain_reader *reader,
			   struct pp_source_stats *ret_stats)
{
	const __u64 *since = figures->since.value;
	struct pp_chain_counts_stats counts = {0};
	struct pp_source_stats stats = {0};

	if (reader->counts)
		pp_chain_counts_stats(reader->counts, &counts);
	stats.samples = since[PATHPROF_STAT_SAMPLES];
	stats.bursts = since[PATHPROF_STAT_WINDOWS];
	stats.steps = since[PATHPROF_STAT_TRAPS];
	stats.stopped_ns = since[PATHPROF_STAT_SPENT_NS];
	stats.taken_wanted = (uint32_t)(pp_chain_figures_depth(&figures->since) + 0.5);
	if (reader->counts) {
		stats.windows = stats.bursts;
		stats.taken = entries(&figures->since);
	}
	fill_drops(figures, reader, &counts, stats.drops);
	fill_counters(figures, reader, &counts);
	stats.counters = figures->counters;
	stats.counter_cnt = figures->counter_cnt;
	*ret_stats = stats;
}
