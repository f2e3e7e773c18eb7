// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The figures of a source of the kernel module (chain_figures.h): the module counts since it was
 * loaded, its sources since they were opened.
 *
 * Workload: once a window, and when asked. One thread.
 */
#include "kmod_source.h"

void pp_kmod_figures_since(const struct pp_kmod_source *source,
			   const struct pathprof_collector_stats *now,
			   struct pathprof_collector_stats *ret_since)
{
	for (unsigned int i = 0; i < PATHPROF_STAT_CNT; i++)
		ret_since->value[i] = now->value[i] - source->before.value[i];
}

static void sum_rings(struct pp_kmod_source *source)
{
	struct pp_chain_figures *figures = &source->figures;

	figures->malformed = figures->missing = 0;
	for (uint32_t i = 0; i < source->device.ring_cnt; i++) {
		figures->malformed += source->device.rings[i].malformed;
		figures->missing += source->device.rings[i].missing;
	}
}

void pp_kmod_figures_fill(struct pp_kmod_source *source, struct pp_source_stats *ret_stats)
{
	struct pathprof_collector_stats now;
	struct pp_source_stats stats;

	/* totals must not fall: if they cannot be read, the last ones stay */
	if (pp_kmod_device_stats(&source->device, &now))
		now = source->last;
	source->last = now;
	pp_kmod_figures_since(source, &now, &source->figures.since);
	sum_rings(source);
	pp_chain_figures_fill(&source->figures, &source->reader, &stats);
	pp_chain_figures_add(&source->figures, "trap_ns", source->device.info.trap_ns);
	if (!pp_kmod_is_lbr(source)) {
		stats.taken_wanted = pp_kmod_session_window(source);
		pp_chain_figures_add(&source->figures, "horizon", pp_kmod_session_horizon(source));
	}
	stats.counter_cnt = source->figures.counter_cnt;
	stats.cpu_ns = source->cpu_ns;
	stats.sampler = pp_kmod_is_lbr(source) ? source->event.name : "cpu-clock";
	*ret_stats = stats;
}
