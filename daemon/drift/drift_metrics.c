// SPDX-License-Identifier: GPL-2.0-or-later
/* The drift figures at the Prometheus endpoint. Called at each scrape; keeps nothing. */
#include "drift_state.h"

#include <string.h>

#include "../shared/metrics_text.h"

#define BUILD_ID_DIGITS 12

/* The figures of a measurement. */
static const struct {
	const char *name, *help;
	size_t offset; /* into struct pp_drift_shown */
} gauges[] = {
	{"pathprof_drift_kl", "Relative entropy of the last window to its baseline, plain.",
	 offsetof(struct pp_drift_shown, drift.kl_bits)},
	{"pathprof_drift_kl_corrected", "The same less what chance makes of it.",
	 offsetof(struct pp_drift_shown, drift.kl_corrected_bits)},
	{"pathprof_drift_kl_low", "Low end of its interval.",
	 offsetof(struct pp_drift_shown, drift.kl_low_bits)},
	{"pathprof_drift_kl_high", "High end of its interval.",
	 offsetof(struct pp_drift_shown, drift.kl_high_bits)},
	{"pathprof_drift_overlap_ratio", "Share that window and baseline have in common.",
	 offsetof(struct pp_drift_shown, drift.overlap)},
	{"pathprof_drift_samples", "Paths in the last window, as so many of equal weight.",
	 offsetof(struct pp_drift_shown, drift.window_samples)},
	{"pathprof_drift_matched_ratio",
	 "Share of the last window that was compared: below 1 across builds.",
	 offsetof(struct pp_drift_shown, matched)},
};

static void show_subject(const struct pp_drift_subject *subject, size_t gauge, FILE *to)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	pathprof_build_id_text(&subject->id, id);
	id[BUILD_ID_DIGITS] = '\0';
	for (uint32_t i = 0; i < subject->shown_cnt; i++) {
		const struct pp_drift_shown *shown = &subject->shown[i];
		const char *labels[] = {"binary",   subject->name,   "build_id",
					id,         "container",     subject->container,
					"baseline", shown->baseline, NULL};
		double value;

		memcpy(&value, (const char *)shown + gauges[gauge].offset, sizeof(value));
		pp_metrics_sample(to, gauges[gauge].name, labels, value);
	}
}

static void show_figures(const struct pp_drift *drift, FILE *to)
{
	for (size_t g = 0; g < sizeof(gauges) / sizeof(gauges[0]); g++) {
		pp_metrics_head(to, gauges[g].name, "gauge", gauges[g].help);
		for (uint32_t i = 0; i < drift->subjects.cnt; i++)
			show_subject(drift->subjects.list[i], g, to);
	}
}

static void show_alerts(const struct pp_drift *drift, FILE *to)
{
	static const char *const phases[] = {"quiet", "pending", "firing"};
	uint64_t cnt[PATHPROF_ALERT_PHASE_CNT] = {0};

	pp_metrics_head(to, "pathprof_alert_firing", "gauge",
			"1 for an alert that is firing, 0 for one that is pending.");
	for (uint32_t i = 0; i < drift->alerts.cnt; i++) {
		const struct pp_drift_alert *alert = drift->alerts.list[i];
		const char *labels[] = {"rule",        alert->rule,     "binary",
					alert->binary, "container",     alert->container,
					"baseline",    alert->baseline, NULL};

		cnt[alert->state.phase]++;
		if (alert->state.phase != PATHPROF_ALERT_QUIET)
			pp_metrics_sample(to, "pathprof_alert_firing", labels,
					  alert->state.phase == PATHPROF_ALERT_FIRING);
	}
	pp_metrics_head(to, "pathprof_alerts", "gauge", "Alerts by phase.");
	for (int i = 0; i < PATHPROF_ALERT_PHASE_CNT; i++) {
		const char *labels[] = {"phase", phases[i], NULL};

		pp_metrics_sample(to, "pathprof_alerts", labels, (double)cnt[i]);
	}
}

static void show_naming(const struct pp_drift *drift, FILE *to)
{
	struct pp_names_stats stats = {0};

	if (drift->naming.names)
		pp_names_stats(drift->naming.names, &stats);
	pp_metrics_one(to, "pathprof_drift_naming_total", "counter",
		       "Binaries' files read for the names of paths.", (double)stats.jobs);
	pp_metrics_one(to, "pathprof_drift_naming_failures_total", "counter",
		       "Those that came to nothing.", (double)stats.failed);
	pp_metrics_one(to, "pathprof_drift_naming_cpu_seconds_total", "counter",
		       "CPU time that reading them took.", (double)stats.cpu_ns / 1e9);
}

static void show_journal(const struct pp_drift *drift, FILE *to)
{
	struct pp_tell_stats stats = {0};

	if (!drift->telling.journal)
		return;
	drift->telling.journal->ops->stats(drift->telling.journal, &stats);
	pp_metrics_one(to, "pathprof_journal_told_total", "counter",
		       "Messages that the journal has taken.", (double)stats.told);
	pp_metrics_one(to, "pathprof_journal_dropped_total", "counter",
		       "Messages that it did not take at once.", (double)stats.dropped);
}

void pp_drift_metrics(struct pp_drift *drift, FILE *to)
{
	if (!drift)
		return;
	show_figures(drift, to);
	show_alerts(drift, to);
	pp_metrics_one(to, "pathprof_drift_subjects", "gauge",
		       "Binaries, by container, that are watched.", drift->subjects.cnt);
	pp_metrics_one(to, "pathprof_drift_evicted_total", "counter",
		       "Subjects let go of for want of room.", (double)drift->subjects.evicted);
	pp_metrics_one(to, "pathprof_drift_measured_total", "counter", "Measurements made.",
		       (double)drift->judge.measured);
	pp_metrics_one(to, "pathprof_drift_failures_total", "counter",
		       "Measurements, rows and messages that were lost.",
		       (double)drift->common.lost);
	pp_metrics_one(to, "pathprof_drift_cpu_seconds_total", "counter",
		       "CPU time all of it took, the reading of files for names included.",
		       (double)(drift->common.cpu_ns + pp_drift_naming_cpu_ns(drift)) / 1e9);
	show_naming(drift, to);
	show_journal(drift, to);
}
