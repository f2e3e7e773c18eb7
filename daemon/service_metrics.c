// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service's own figures at the Prometheus endpoint: source, rates, overhead against its
 * budget, drops, windows, store. Called once a second at most, on the event loop's thread; keeps
 * nothing.
 */
#include "service_state.h"

#include "shared/metrics_text.h"

static void show_source(const struct pp_service *service, FILE *to)
{
	const char *build[] = {"version", PATHPROF_VERSION, NULL};
	const char *source[] = {"source", service->source_ops->name, NULL};

	pp_metrics_head(to, "pathprof_build_info", "gauge", "The daemon's version; always 1.");
	pp_metrics_sample(to, "pathprof_build_info", build, 1);
	pp_metrics_head(to, "pathprof_up", "gauge",
			"1 while the source of branches is open, 0 while it is down.");
	pp_metrics_sample(to, "pathprof_up", source, service->source != NULL);
	pp_metrics_one(to, "pathprof_source_deaths_total", "counter", "Times the source went down.",
		       (double)service->source_deaths);
	pp_metrics_one(to, "pathprof_start_time_seconds", "gauge",
		       "When the daemon started, Unix time.", (double)service->started_ns / 1e9);
}

static void show_work(const struct pp_service *service, const struct pp_mark *now, FILE *to)
{
	pp_metrics_one(to, "pathprof_bursts_total", "counter", "Branch windows taken.",
		       (double)now->bursts);
	pp_metrics_one(to, "pathprof_branches_total", "counter", "Branches seen.",
		       (double)now->branches);
	pp_metrics_one(to, "pathprof_paths_total", "counter", "Paths seen whole.",
		       (double)now->paths);
	pp_metrics_one(to, "pathprof_clock_samples_total", "counter",
		       "Samples of the clock that runs beside the source.",
		       (double)now->clock_samples);
	pp_metrics_one(to, "pathprof_overhead_seconds_total", "counter",
		       "Time targets were held, and CPU time of the daemon and its children.",
		       (double)now->spent_ns / 1e9);
	pp_metrics_one(to, "pathprof_overhead_ratio", "gauge",
		       "Overhead of the last window, a share of all CPU time.",
		       service->overhead_ratio);
	pp_metrics_one(to, "pathprof_overhead_budget_ratio", "gauge", "What it may be.",
		       (double)service->config.overhead_ppm / 1e6);
}

static void show_drops(const struct pp_service *service, FILE *to)
{
	const struct pathprof_totals *open = &pp_window_profile(service->window)->totals;

	pp_metrics_head(to, "pathprof_drops_total", "counter",
			"What was seen and not counted, by reason.");
	for (int i = 0; i < PATHPROF_DROP_CNT; i++) {
		const char *labels[] = {"reason", pathprof_drop_name((enum pathprof_drop)i), NULL};

		pp_metrics_sample(to, "pathprof_drops_total", labels,
				  (double)(service->sum.drops[i] + open->drops[i]));
	}
}

static void show_store(const struct pp_service *service, FILE *to)
{
	uint64_t size_bytes = 0;

	pp_metrics_one(to, "pathprof_windows_stored_total", "counter",
		       "Windows written to the store.", (double)service->windows_stored);
	pp_metrics_one(to, "pathprof_windows_dropped_total", "counter",
		       "Windows that the store did not take.", (double)service->windows_dropped);
	pp_metrics_one(to, "pathprof_windows_removed_total", "counter",
		       "Windows that were too old or too much to keep.",
		       (double)service->windows_removed);
	pathprof_store_size(service->store, &size_bytes);
	pp_metrics_one(to, "pathprof_store_bytes", "gauge", "Size of the store, all of its files.",
		       (double)size_bytes);
}

static void show_tracker(const struct pp_service *service, FILE *to)
{
	struct pp_track_stats stats;

	pp_track_stats(service->track, &stats);
	pp_metrics_one(to, "pathprof_tracked_processes", "gauge", "Processes known.",
		       (double)stats.processes);
	pp_metrics_one(to, "pathprof_tracker_lost_total", "counter",
		       "Records of mappings and processes that the kernel had to drop.",
		       (double)stats.lost);
	pp_metrics_one(to, "pathprof_tracker_cpu_seconds_total", "counter",
		       "CPU time spent on knowing what is mapped where.",
		       (double)(stats.cpu_ns + stats.child_cpu_ns) / 1e9);
	pp_metrics_head(
		to, "pathprof_tracker_drops_total", "counter",
		"What the tracker was told or could have read and did not keep, by reason.");
	for (int i = 0; i < PP_TRACK_DROP_CNT; i++) {
		const char *labels[] = {"reason", pp_track_drop_name((enum pp_track_drop)i), NULL};

		pp_metrics_sample(to, "pathprof_tracker_drops_total", labels,
				  (double)stats.drops[i]);
	}
}

void pp_service_metrics(struct pp_service *service, FILE *to)
{
	struct pp_mark now;

	pp_service_account(service);
	now = pp_service_mark(service);
	show_source(service, to);
	show_work(service, &now, to);
	show_drops(service, to);
	show_store(service, to);
	show_tracker(service, to);
}
