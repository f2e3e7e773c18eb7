// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions of the kernel module as its sources' settings ask for them.
 *
 * Workload: one when the source is opened, and one for each change of settings, but for the
 * budget, which moves every few seconds and leaves tables and windows alone. One thread. Source:
 * pathprof/kmod_abi.h, docs/kmod.md.
 */
#include "base/clock.h"
#include "kmod_source.h"

#define TAKEN_DEFAULT   32
#define RATE_DEFAULT_HZ 99

static uint64_t rate_hz(const struct pp_kmod_source *source)
{
	return source->config.frequency_hz ? source->config.frequency_hz : RATE_DEFAULT_HZ;
}

uint32_t pp_kmod_session_horizon(const struct pp_kmod_source *source)
{
	uint32_t horizon = source->config.horizon;

	return pp_kmod_is_lbr(source) || !horizon ? 0
						  : pp_kmod_clamp(horizon, 1, PP_KMOD_HORIZON_MAX);
}

uint32_t pp_kmod_session_window(const struct pp_kmod_source *source)
{
	uint32_t taken = source->config.taken_wanted ? source->config.taken_wanted : TAKEN_DEFAULT;

	return pp_kmod_clamp(taken, 1, PATHPROF_WINDOW_MAX);
}

static uint32_t budget_ppm(const struct pp_kmod_source *source)
{
	return pp_kmod_clamp(source->config.overhead_ppm, 1, PATHPROF_BUDGET_MAX);
}

static void fill_swlbr(const struct pp_kmod_source *source, struct pathprof_kmod_start *start)
{
	start->mode = PATHPROF_MODE_RAW;
	start->flags = PATHPROF_START_JITTER;
	start->period = PP_NSEC_PER_SEC / rate_hz(source);
	if (start->period < PATHPROF_PERIOD_MIN_NS)
		start->period = PATHPROF_PERIOD_MIN_NS;
	start->horizon = pp_kmod_session_horizon(source);
	start->window = start->horizon ? 0 : pp_kmod_session_window(source);
}

static void fill_lbr(const struct pp_kmod_source *source, struct pathprof_kmod_start *start)
{
	start->mode = source->reader.counts ? PATHPROF_MODE_CHAIN : PATHPROF_MODE_RAW;
	start->period = pp_taken_event_period(source->config.frequency_hz);
	start->pmu_type = source->event.type;
	start->pmu_config = source->event.config;
	start->pmu_config1 = source->event.config1;
	start->pmu_config2 = source->event.config2;
	start->branch_sample_type = source->event.branch_sample_type;
	if (source->reader.counts)
		start->profiles = PATHPROF_PROFILE_EDGES;
}

int pp_kmod_session_start(struct pp_kmod_source *source, struct pathprof_error *error)
{
	struct pathprof_kmod_start start = {
		.version = PATHPROF_KMOD_VERSION,
		.source = source->base.ops->source,
		.budget_ppm = budget_ppm(source),
		.ip_min = source->config.ip_min,
		.ip_max = source->config.ip_max,
		.cgroup = source->config.cgroup,
	};

	if (pp_kmod_is_lbr(source))
		fill_lbr(source, &start);
	else
		fill_swlbr(source, &start);
	if (source->config.realtime)
		start.flags |= PATHPROF_START_REALTIME;
	return pp_kmod_device_start(&source->device, &start, error);
}

static bool takes_session(const struct pp_source_config *now, const struct pp_source_config *wanted)
{
	return now->taken_wanted != wanted->taken_wanted || now->horizon != wanted->horizon ||
	       now->frequency_hz != wanted->frequency_hz;
}

void pp_kmod_session_configure(struct pp_kmod_source *source, const struct pp_source_config *config)
{
	const uint32_t before_ppm = budget_ppm(source);

	source->restart |= takes_session(&source->config, config);
	source->config.overhead_ppm = config->overhead_ppm;
	source->config.taken_wanted = config->taken_wanted;
	source->config.horizon = config->horizon;
	source->config.frequency_hz = config->frequency_hz;
	if (!source->restart && budget_ppm(source) != before_ppm)
		source->restart =
			pp_kmod_device_set_budget(&source->device, budget_ppm(source)) != 0;
}

/* Reads the old session's last records first: its numbers mean nothing in the new one. */
int pp_kmod_session_restart(struct pp_kmod_source *source, const struct pp_source_sink *sink)
{
	int r = pp_kmod_device_stop(&source->device);

	if (!r)
		r = pp_kmod_source_read(source, sink);
	if (source->reader.counts)
		pp_chain_counts_forget_contexts(source->reader.counts);
	if (!r)
		r = pp_kmod_session_start(source, NULL);
	source->restart = false;
	return r;
}
