// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The costs of profiling: the time that targets are held, and the CPU time of each of our
 * processes, which the kernel accounts to the service's control group as well. The budget is for
 * all of it: the source gets what the daemon leaves (allowance.h), and one that holds threads no
 * more than its share of what they run (busy.h).
 */
#include "service_state.h"

#include "base/clock.h"
#include "drift/drift.h"
#include "step/source_step.h"
#include "tell/outlet.h"

struct pp_costs pp_service_costs(const struct pp_service *service)
{
	const struct pathprof_totals *sum = &service->sum;
	const struct pathprof_totals *open = &pp_window_profile(service->window)->totals;
	struct pp_track_stats track;
	struct pp_costs costs = {
		.held_ns = sum->stopped_ns + open->stopped_ns,
		.outlet_cpu_ns = pp_outlet_cpu_ns(service->outlet),
		.naming_cpu_ns = pp_drift_naming_cpu_ns(service->drift),
	};

	pp_track_stats(service->track, &track);
	costs.tracker_cpu_ns = track.cpu_ns + track.child_cpu_ns;
	costs.daemon_cpu_ns =
		pp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + track.child_cpu_ns + costs.naming_cpu_ns;
	if (service->source_ops->apart)
		costs.source_cpu_ns = sum->source_cpu_ns + open->source_cpu_ns;
	return costs;
}

uint64_t pp_costs_cpu_ns(const struct pp_costs *costs)
{
	return costs->source_cpu_ns + costs->daemon_cpu_ns;
}

void pp_service_begin_budget(struct pp_service *service)
{
	const struct pp_costs costs = pp_service_costs(service);

	pp_allowance_init(&service->allowance, service->config.overhead_ppm, service->cpu_cnt,
			  pp_monotonic_ns(), costs.daemon_cpu_ns);
}

void pp_service_share_budget(struct pp_service *service)
{
	const struct pp_costs costs = pp_service_costs(service);
	const uint32_t clock_hz = service->clock ? (uint32_t)service->config.clock_hz : 0;
	const uint64_t now_ns = pp_monotonic_ns();
	bool changed = pp_allowance_look(&service->allowance, now_ns, costs.daemon_cpu_ns);

	changed |= pp_busy_look(&service->busy, now_ns, service->user_samples, clock_hz);
	if (changed)
		pp_service_configure_source(service);
}

uint64_t pp_service_source_ppm(const struct pp_service *service)
{
	const uint64_t ppm = service->allowance.source_ppm;

	return service->source_ops == &pp_source_step ? pp_busy_share(&service->busy, ppm) : ppm;
}
