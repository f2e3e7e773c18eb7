// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The costs of profiling: the time that targets are held, and the CPU time of each of our
 * processes, which the kernel accounts to the service's control group as well. The budget is for
 * all of it: the source gets what the daemon leaves (allowance.h).
 */
#include "service_state.h"

#include <time.h>

#include "drift/drift.h"
#include "tell/outlet.h"

/* The CPU time of this process, with all its threads. */
static uint64_t process_cpu_ns(void)
{
	struct timespec cpu;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) < 0)
		return 0;
	return (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
}

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
	costs.daemon_cpu_ns = process_cpu_ns() + track.child_cpu_ns + costs.naming_cpu_ns;
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

	if (pp_allowance_look(&service->allowance, pp_monotonic_ns(), costs.daemon_cpu_ns))
		pp_service_configure_source(service);
}
