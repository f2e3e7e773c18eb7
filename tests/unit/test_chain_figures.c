// SPDX-License-Identifier: GPL-2.0-or-later
/* A source's figures made of a collector's counters, compared with sums by hand. */
#include "unit.h"

#include <string.h>

#include "../../daemon/chain/chain_figures.h"

/* Every counter another power of three, so that each sum tells what it was made of. */
static void number(struct pathprof_collector_stats *ret_since)
{
	uint64_t value = 1;

	memset(ret_since, 0, sizeof(*ret_since));
	for (int i = 0; i < PATHPROF_STAT_END; i++, value *= 3)
		ret_since->value[i] = value;
}

static uint64_t of(const struct pp_source_stats *stats, const char *name)
{
	for (uint32_t i = 0; i < stats->counter_cnt; i++)
		if (!strcmp(stats->counters[i].name, name))
			return stats->counters[i].cnt;
	return UINT64_MAX;
}

static void test_drops(void)
{
	static struct pp_chain_figures figures;
	static struct pp_chain_reader reader;
	const __u64 *since = figures.since.value;
	struct pp_source_stats stats;

	number(&figures.since);
	figures.malformed = 5;
	reader.unknown = 7;
	pp_chain_figures_fill(&figures, &reader, &stats);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_BUDGET],
			since[PATHPROF_STAT_SKIP_BUDGET] + since[PATHPROF_STAT_SKIP_CEILING]);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_BUSY], since[PATHPROF_STAT_SKIP_BUSY] +
								 since[PATHPROF_STAT_LOST_NESTED] +
								 since[PATHPROF_STAT_LOST_BUSY]);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_QUEUE_FULL],
			since[PATHPROF_STAT_LOST_FULL] + since[PATHPROF_STAT_LOST_CONTEXT] +
				since[PATHPROF_STAT_LOST_DEFINE]);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_INIT], since[PATHPROF_STAT_SKIP_INIT]);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_MALFORMED], 5);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_UNRESOLVED], 7);
	CU_ASSERT_EQUAL(stats.samples, since[PATHPROF_STAT_SAMPLES]);
	CU_ASSERT_EQUAL(stats.stopped_ns, since[PATHPROF_STAT_SPENT_NS]);
	/* Nothing is counted in the kernel here: windows come as bursts. */
	CU_ASSERT_EQUAL(stats.windows, 0);
}

static void test_counters(void)
{
	static struct pp_chain_figures figures;
	static struct pp_chain_reader reader;
	struct pp_source_stats stats;

	number(&figures.since);
	figures.missing = 11;
	reader.outside = 13;
	pp_chain_figures_fill(&figures, &reader, &stats);
	CU_ASSERT_EQUAL(of(&stats, "samples"), 1);
	CU_ASSERT_EQUAL(of(&stats, "lost_full"), figures.since.value[PATHPROF_STAT_LOST_FULL]);
	CU_ASSERT_EQUAL(of(&stats, "segments"), figures.since.value[PATHPROF_STAT_SEGMENTS]);
	CU_ASSERT_EQUAL(of(&stats, "ring_missing"), 11);
	CU_ASSERT_EQUAL(of(&stats, "outside"), 13);
	/* Filled again they begin again, and there are never more than there is room for. */
	pp_chain_figures_fill(&figures, &reader, &stats);
	for (int i = 0; i < 2 * PP_SOURCE_COUNTER_MAX; i++)
		pp_chain_figures_add(&figures, "more", 1);
	CU_ASSERT_EQUAL(figures.counter_cnt, PP_SOURCE_COUNTER_MAX);
	CU_ASSERT_EQUAL(of(&stats, "samples"), 1);
}

static void test_depth(void)
{
	struct pathprof_collector_stats since = {{0}};

	CU_ASSERT_EQUAL(pp_chain_figures_depth(&since), 0);
	since.value[PATHPROF_STAT_WINDOWS] = 4;
	since.value[PATHPROF_STAT_LBR_ENTRIES] = 128;
	CU_ASSERT_EQUAL(pp_chain_figures_depth(&since), 32);
	since.value[PATHPROF_STAT_LBR_ZERO] = 3;
	since.value[PATHPROF_STAT_LBR_DUPLICATE] = 4;
	since.value[PATHPROF_STAT_LBR_BOGUS] = 1;
	CU_ASSERT_EQUAL(pp_chain_figures_depth(&since), 30);
	/* More dropped than there were, by counters read while they ran: none, not a great many. */
	since.value[PATHPROF_STAT_LBR_ZERO] = 1000;
	CU_ASSERT_EQUAL(pp_chain_figures_depth(&since), 0);
}

static const struct unit_test tests[] = {
	{"samples are lost for the reasons that all sources share", test_drops},
	{"every counter has its name, and there are only so many", test_counters},
	{"a window has as many branches as were whole, on average", test_depth},
};
UNIT_SUITE(chain_figures, tests)
