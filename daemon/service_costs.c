// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The costs of profiling: the time that targets are held, and the CPU time of each of our
 * processes, which the kernel accounts to the service's control group as well. The budget is for
 * all of it: the source gets what the daemon leaves (allowance.h), and one that holds threads no
 * more than its share of what they run (busy.h): by the clock's samples, and where there is no
 * clock by /proc/stat.
 */
#include "service_state.h"

#include <linux/capability.h>
#include <unistd.h>

#include "base/clock.h"
#include "callers/tables.h"
#include "drift/drift.h"
#include "privilege.h"
#include "step/source_step.h"
#include "shared/outlet.h"
#include "user_time.h"

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

	if (service->tables)
		costs.naming_cpu_ns += pp_tables_cpu_ns(service->tables);
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

unsigned int pp_service_cpus_online(void)
{
	long cnt = sysconf(_SC_NPROCESSORS_ONLN);

	return cnt > 0 ? (unsigned int)cnt : 1;
}

/* CPUs come and go: a share of all of them is one of those that are there. */
static bool follow_cpus(struct pp_service *service)
{
	const unsigned int before = service->cpu_cnt;

	service->cpu_cnt = pp_service_cpus_online();
	service->allowance.cpu_cnt = service->busy.cpu_cnt = service->cpu_cnt;
	return service->cpu_cnt != before;
}

void pp_service_begin_budget(struct pp_service *service)
{
	const struct pp_costs costs = pp_service_costs(service);

	pp_allowance_init(&service->allowance, service->config.overhead_ppm, service->cpu_cnt,
			  pp_monotonic_ns(), costs.daemon_cpu_ns);
}

/* A daemon that may not trace other users' programs is not judged by what these run. */
static bool sees_the_machine(const struct pp_service *service)
{
	return !service->only_pid && pp_privilege_has(PP_PRIVILEGE(CAP_SYS_PTRACE));
}

/* CPU time of all programs since the last look, less our own. */
static bool read_user_time(struct pp_service *service, const struct pp_costs *costs)
{
	uint64_t all_ns, ours_ns = pp_costs_cpu_ns(costs), others_ns;

	if (!sees_the_machine(service) ||
	    pp_user_time_read(PP_USER_TIME_STAT, PP_USER_TIME_NS, &all_ns))
		return false;
	others_ns = all_ns > ours_ns ? all_ns - ours_ns : 0;
	if (service->stat_user_ns && others_ns > service->stat_user_ns)
		service->user_ns += others_ns - service->stat_user_ns;
	if (others_ns > service->stat_user_ns)
		service->stat_user_ns = others_ns;
	return true;
}

void pp_service_share_budget(struct pp_service *service)
{
	const struct pp_costs costs = pp_service_costs(service);
	const uint64_t now_ns = pp_monotonic_ns();
	bool changed = follow_cpus(service);

	changed |= pp_allowance_look(&service->allowance, now_ns, costs.daemon_cpu_ns);
	if (service->clock || read_user_time(service, &costs))
		changed |= pp_busy_look(&service->busy, now_ns, service->user_ns);
	if (changed)
		pp_service_configure_source(service);
}

uint64_t pp_service_source_ppm(const struct pp_service *service)
{
	const uint64_t ppm = service->allowance.source_ppm;
	uint64_t share_ppm;

	if (service->source_ops != &pp_source_step)
		return ppm;
	share_ppm = pp_busy_share(&service->busy, ppm);
	/* less than a millionth would be told as 0, which is no burst for ever */
	return share_ppm || !ppm ? share_ppm : 1;
}
