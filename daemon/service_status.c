// SPDX-License-Identifier: GPL-2.0-or-later
/* The service's figures about itself, and where it writes them: the status row, systemd. */
#include "service_state.h"

#include <inttypes.h>
#include <jansson.h>
#include <systemd/sd-daemon.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "shared/outlet.h"

/* Rates over less than this say nothing. */
#define RATE_LEAST_NS     UINT64_C(1900000000)
#define OVERHEAD_LEAST_NS UINT64_C(50000000)

struct pp_mark pp_service_mark(const struct pp_service *service)
{
	const struct pathprof_totals *sum = &service->sum;
	const struct pathprof_totals *open = &pp_window_profile(service->window)->totals;
	const struct pp_costs costs = pp_service_costs(service);

	return (struct pp_mark){
		.time_ns = pp_monotonic_ns(),
		.bursts = sum->bursts + open->bursts,
		.branches = sum->branches + open->branches,
		.paths = sum->paths + open->paths,
		.clock_samples = sum->clock_samples + open->clock_samples,
		.user_ns = service->user_ns,
		.spent_ns = costs.held_ns + pp_costs_cpu_ns(&costs),
	};
}

static double overhead(const struct pp_service *service, const struct pp_mark *from,
		       const struct pp_mark *to)
{
	uint64_t wall_ns = to->time_ns - from->time_ns;

	if (wall_ns < OVERHEAD_LEAST_NS)
		return 0;
	return (double)(to->spent_ns - from->spent_ns) / ((double)wall_ns * service->cpu_cnt);
}

void pp_service_measure_window(struct pp_service *service, const struct pp_mark *end)
{
	service->overhead_ratio = overhead(service, &service->window_begin, end);
	service->window_begin = *end;
}

static void measure_rates(struct pp_service *service, const struct pp_mark *now)
{
	const struct pp_mark *from = &service->rate_begin;
	uint64_t wall_ns = now->time_ns - from->time_ns;
	double wall_s = (double)wall_ns / 1e9;

	service->overhead_total_ratio = overhead(service, &service->start, now);
	if (!service->windows_stored && !service->windows_dropped)
		service->overhead_ratio = service->overhead_total_ratio;
	if (wall_ns < RATE_LEAST_NS)
		return;
	service->bursts_per_s = (double)(now->bursts - from->bursts) / wall_s;
	service->branches_per_s = (double)(now->branches - from->branches) / wall_s;
	service->paths_per_s = (double)(now->paths - from->paths) / wall_s;
	service->rate_begin = *now;
}

static json_int_t memory_bytes(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	int cnt;

	if (!file)
		return 0;
	cnt = fscanf(file, "%llu %llu", &size, &resident);
	fclose(file);
	return cnt == 2 ? (json_int_t)(resident * (unsigned long long)sysconf(_SC_PAGESIZE)) : 0;
}

/* cpu_ns is what the kernel says of our control group; what follows it are parts of it. */
static json_t *costs_json(const struct pp_service *service)
{
	const struct pp_costs costs = pp_service_costs(service);

	return json_pack(
		"{s:I s:I s:I s:I s:I s:I s:I s:I}", "held_ns", (json_int_t)costs.held_ns, "cpu_ns",
		(json_int_t)pp_costs_cpu_ns(&costs), "source_cpu_ns",
		(json_int_t)costs.source_cpu_ns, "daemon_cpu_ns", (json_int_t)costs.daemon_cpu_ns,
		"tracker_cpu_ns", (json_int_t)costs.tracker_cpu_ns, "outlet_cpu_ns",
		(json_int_t)costs.outlet_cpu_ns, "naming_cpu_ns", (json_int_t)costs.naming_cpu_ns,
		"start_cpu_ns", (json_int_t)service->start_cpu_ns);
}

static json_t *drops_json(const struct pp_service *service)
{
	const struct pathprof_totals *open = &pp_window_profile(service->window)->totals;
	json_t *drops = json_object();

	for (int i = 0; i < PATHPROF_DROP_CNT; i++) {
		uint64_t cnt = service->sum.drops[i] + open->drops[i];

		json_object_set_new(drops, pathprof_drop_name((enum pathprof_drop)i),
				    json_integer((json_int_t)cnt));
	}
	return drops;
}

static json_t *track_json(const struct pp_service *service)
{
	struct pp_track_stats stats;
	json_t *drops = json_object();

	pp_track_stats(service->track, &stats);
	for (int i = 0; i < PP_TRACK_DROP_CNT; i++)
		json_object_set_new(drops, pp_track_drop_name((enum pp_track_drop)i),
				    json_integer((json_int_t)stats.drops[i]));
	return json_pack("{s:b s:I s:I s:I s:I s:I s:I s:I s:I s:o}", "perf", stats.perf,
			 "processes", (json_int_t)stats.processes, "mappings",
			 (json_int_t)stats.mappings, "events", (json_int_t)stats.events, "lost",
			 (json_int_t)stats.lost, "repairs", (json_int_t)stats.repairs, "jit_bytes",
			 (json_int_t)stats.jit_bytes, "jit_postponed",
			 (json_int_t)stats.jit_postponed, "jit_refused",
			 (json_int_t)stats.jit_refused, "drops", drops);
}

/* The counters that only this source has, without those that are 0. */
static json_t *counters_json(const struct pp_service *service)
{
	const struct pp_source_stats *seen = &service->source_seen;
	json_t *counters = json_object();

	for (uint32_t i = 0; i < seen->counter_cnt; i++)
		if (seen->counters[i].cnt)
			json_object_set_new(counters, seen->counters[i].name,
					    json_integer((json_int_t)seen->counters[i].cnt));
	return counters;
}

static const char *mapping_name(const struct pp_service *service)
{
	return service->config.mapping == PATHPROF_MAPPING_WPP || pp_service_compresses(service)
		       ? "wpp"
		       : "bl";
}

/* CLOCK_REALTIME of a moment of CLOCK_MONOTONIC; 0 stays 0. */
static json_int_t realtime_of(uint64_t monotonic_ns)
{
	if (!monotonic_ns)
		return 0;
	return (json_int_t)(pp_realtime_ns() - (int64_t)(pp_monotonic_ns() - monotonic_ns));
}

static void add_identity(const struct pp_service *service, json_t *status)
{
	const struct pp_config *config = &service->config;
	const struct pp_source_stats *seen = &service->source_seen;
	const char *sampler = seen->sampler;
	const char *stepping = seen->stepping;
	char relayed[PP_RELAY_SETTINGS_MAX];
	const struct pathprof_profile *profile = pp_window_profile(service->window);

	json_object_set_new(status, "pid", json_integer(getpid()));
	json_object_set_new(status, "started_ns", json_integer(service->started_ns));
	json_object_set_new(status, "updated_ns", json_integer(pp_realtime_ns()));
	json_object_set_new(status, "version", json_string(PATHPROF_VERSION));
	json_object_set_new(status, "source", json_string(service->source_ops->name));
	json_object_set_new(status, "source_up",
			    json_boolean(service->source && !seen->silent_since_ns));
	json_object_set_new(status, "source_silent_since_ns",
			    json_integer(realtime_of(seen->silent_since_ns)));
	json_object_set_new(status, "barren_since_ns",
			    json_integer(realtime_of(service->barren_since_ns)));
	json_object_set_new(status, "source_replaced", json_integer((json_int_t)seen->replaced));
	json_object_set_new(status, "source_deaths",
			    json_integer((json_int_t)service->source_deaths));
	json_object_set_new(status, "sampler", pp_utf8_json(sampler ? sampler : ""));
	json_object_set_new(status, "stepping", json_string(stepping ? stepping : ""));
	json_object_set_new(status, "refused", pp_utf8_json(service->refused));
	json_object_set_new(status, "settings_refused",
			    pp_utf8_json(service->settings_refused.text));
	json_object_set_new(status, "mapping", json_string(mapping_name(service)));
	json_object_set_new(status, "basis", json_string(pathprof_basis_name(profile->basis)));
	json_object_set_new(status, "horizon", json_integer(profile->horizon));
	json_object_set_new(status, "clock_hz", json_integer(profile->clock_hz));
	json_object_set_new(status, "clock_kernel", json_boolean(profile->clock_kernel));
	json_object_set_new(status, "db", pp_utf8_json(service->db_path));
	json_object_set_new(status, "relay", json_string(pp_service_relay(service)));
	json_object_set_new(status, "relay_notes",
			    pp_utf8_json(pp_outlet_relay_notes(service->outlet)));
	pp_service_relay_settings(config, relayed, sizeof(relayed));
	json_object_set_new(status, "relay_settings", json_string(relayed));
	json_object_set_new(status, "window_s", json_real((double)config->window_ns / 1e9));
	json_object_set_new(status, "budget_ratio", json_real((double)config->overhead_ppm / 1e6));
	json_object_set_new(status, "source_budget_ratio",
			    json_real((double)service->allowance.source_ppm / 1e6));
	json_object_set_new(status, "busy_cpus", json_real(service->busy.cpus));
	json_object_set_new(status, "cpus", json_integer(service->cpu_cnt));
}

static uint64_t pathless(const struct pp_service *service)
{
	return service->sum.pathless + pp_window_profile(service->window)->totals.pathless;
}

static void add_figures(const struct pp_service *service, const struct pp_mark *now, json_t *status)
{
	uint64_t db_bytes = 0;

	pathprof_store_size(service->store, &db_bytes);
	json_object_set_new(status, "overhead_ratio", json_real(service->overhead_ratio));
	json_object_set_new(status, "overhead_total_ratio",
			    json_real(service->overhead_total_ratio));
	json_object_set_new(status, "costs", costs_json(service));
	json_object_set_new(status, "bursts", json_integer((json_int_t)now->bursts));
	json_object_set_new(status, "branches", json_integer((json_int_t)now->branches));
	json_object_set_new(status, "paths", json_integer((json_int_t)now->paths));
	json_object_set_new(status, "clock_samples", json_integer((json_int_t)now->clock_samples));
	json_object_set_new(status, "pathless", json_integer((json_int_t)pathless(service)));
	json_object_set_new(status, "burst_ns",
			    json_integer((json_int_t)service->source_seen.burst_ns));
	json_object_set_new(status, "burst_every_s", json_real(pp_service_burst_every_s(service)));
	json_object_set_new(status, "bursts_per_s", json_real(service->bursts_per_s));
	json_object_set_new(status, "branches_per_s", json_real(service->branches_per_s));
	json_object_set_new(status, "paths_per_s", json_real(service->paths_per_s));
	json_object_set_new(status, "windows", json_integer((json_int_t)service->windows_stored));
	json_object_set_new(status, "windows_dropped",
			    json_integer((json_int_t)service->windows_dropped));
	json_object_set_new(status, "windows_removed",
			    json_integer((json_int_t)service->windows_removed));
	json_object_set_new(status, "memory_bytes", json_integer(memory_bytes()));
	json_object_set_new(status, "db_bytes", json_integer((json_int_t)db_bytes));
	json_object_set_new(status, "drops", drops_json(service));
	json_object_set_new(status, "counters", counters_json(service));
	json_object_set_new(status, "tracker", track_json(service));
}

static void tell_systemd(const struct pp_service *service)
{
	sd_notifyf(0, "STATUS=%s%s: %.1f bursts/s, overhead %.3f %% of a budget of %.3f %%",
		   service->source_ops->name, service->source ? "" : " (down)",
		   service->bursts_per_s, service->overhead_ratio * 100,
		   (double)service->config.overhead_ppm / 1e4);
}

void pp_service_report(struct pp_service *service)
{
	json_t *status = json_object();
	_cleanup_free_ char *text = NULL;
	struct pp_mark now;

	pp_service_account(service);
	pp_service_renew_events(service);
	pp_service_tell_refused(service);
	pp_service_start_anew(service);
	now = pp_service_mark(service);
	measure_rates(service, &now);
	pp_service_look_for_bursts(service, &now);
	pp_service_warn_price(service);
	add_identity(service, status);
	add_figures(service, &now, status);
	text = json_dumps(status, JSON_COMPACT);
	json_decref(status);
	if (text)
		pp_service_store_status(service, text);
	/* a recording may run inside somebody else's service */
	if (!service->only_pid)
		tell_systemd(service);
}
