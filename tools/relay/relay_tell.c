// SPDX-License-Identifier: GPL-2.0-or-later
/* Status reports of the relay: to systemd, and as metrics at the endpoint. */
#include "relay_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "base/cleanup.h"
#include "../../daemon/shared/metrics_text.h"
#include "sinks.h"

static size_t sinks_of(const struct pp_relay *relay, struct pp_tell *ret_tells[PP_NOTES_SINK_CNT])
{
	size_t cnt = 0;

	for (int i = 0; i < PP_NOTES_SINK_CNT; i++)
		if (relay->sinks[i].tell)
			ret_tells[cnt++] = relay->sinks[i].tell;
	return cnt;
}

static void write_missed(const struct pp_relay *relay, FILE *to)
{
	pp_metrics_head(to, "pathprof_tell_missed_total", "counter",
			"Messages that went from the store before the sink could take them.");
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++) {
		const struct pp_relay_sink *sink = &relay->sinks[i];
		const char *labels[] = {"sink", sink->tell ? sink->tell->ops->name : "", NULL};

		if (sink->tell)
			pp_metrics_sample(to, "pathprof_tell_missed_total", labels,
					  (double)sink->missed);
	}
}

void pp_relay_figures(struct pp_relay *relay, const char *text, size_t len_bytes)
{
	struct pp_tell *tells[PP_NOTES_SINK_CNT];
	size_t cnt = sinks_of(relay, tells), all_len = 0;
	_cleanup_free_ char *all = NULL;
	FILE *to = open_memstream(&all, &all_len);

	if (!to) {
		pp_metrics_answer(relay->metrics, "", 0);
		return;
	}
	if (text) {
		fwrite(text, 1, len_bytes, to);
	} else {
		pp_metrics_head(to, "pathprof_up", "gauge",
				"1 while the source of branches is open, 0 while it is down.");
		pp_metrics_sample(to, "pathprof_up", NULL, 0);
	}
	pp_tell_metrics(tells, cnt, to);
	write_missed(relay, to);
	if (fclose(to))
		all_len = 0;
	pp_metrics_answer(relay->metrics, all, all_len);
}

/* Writes ", fails since TIME (REASON)", which pathprofctl doctor looks for, if the sink fails. */
static size_t describe_failure(const struct pp_tell_stats *stats, char *text, size_t size)
{
	time_t since = (time_t)(stats->failing_since_ns / 1000000000);
	char when[32] = "";
	struct tm local;

	if (!stats->why || !localtime_r(&since, &local))
		return 0;
	strftime(when, sizeof(when), "%F %T", &local);
	return (size_t)snprintf(text, size, ", fails since %s (%s)", when, stats->why);
}

static size_t describe_sinks(const struct pp_relay *relay, char *text, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < PP_NOTES_SINK_CNT && len < size; i++) {
		const struct pp_relay_sink *sink = &relay->sinks[i];
		struct pp_tell_stats stats = {0};

		if (!sink->tell)
			continue;
		sink->tell->ops->stats(sink->tell, &stats);
		len += (size_t)snprintf(text + len, size - len,
					"%s: %" PRIu64 " told, %" PRIu64 " wait, %" PRIu64
					" given up",
					sink->tell->ops->name, stats.told, stats.queued,
					stats.dropped + sink->missed);
		if (len < size)
			len += describe_failure(&stats, text + len, size - len);
		if (len < size)
			len += (size_t)snprintf(text + len, size - len, "; ");
	}
	return len;
}

void pp_relay_status(struct pp_relay *relay)
{
	char status[sizeof(relay->status)] = "";
	size_t len = describe_sinks(relay, status, sizeof(status));

	if (len < sizeof(status))
		snprintf(status + len, sizeof(status) - len, "%spathprofd %s",
			 relay->metrics ? "/metrics is served; " : "",
			 pp_inlet_is_up(relay->inlet) ? "is there" : "is away");
	if (!strcmp(status, relay->status))
		return;
	memcpy(relay->status, status, sizeof(status));
	sd_notifyf(0, "STATUS=%s", status);
}

/* ---------------------------------------------------------------- what the sinks count */

enum figure { TOLD, FAILED_TRIES, DROPPED, QUEUED, FIGURE_CNT };

static const struct {
	const char *name, *type, *help;
} figures[FIGURE_CNT] = {
	[TOLD] = {"pathprof_tell_told_total", "counter", "Messages that the sink has taken."},
	[FAILED_TRIES] = {"pathprof_tell_failed_tries_total", "counter",
			  "Tries to tell that failed."},
	[DROPPED] = {"pathprof_tell_dropped_total", "counter", "Messages that were given up."},
	[QUEUED] = {"pathprof_tell_queued", "gauge", "Messages that wait."},
};

static uint64_t figure_of(const struct pp_tell_stats *stats, enum figure figure)
{
	switch (figure) {
	case TOLD:
		return stats->told;
	case FAILED_TRIES:
		return stats->failed_tries;
	case DROPPED:
		return stats->dropped;
	default:
		return stats->queued;
	}
}

void pp_tell_metrics(struct pp_tell *const *tells, size_t cnt, FILE *to)
{
	for (int f = 0; f < FIGURE_CNT; f++) {
		pp_metrics_head(to, figures[f].name, figures[f].type, figures[f].help);
		for (size_t i = 0; i < cnt; i++) {
			const char *labels[] = {"sink", tells[i]->ops->name, NULL};
			struct pp_tell_stats stats = {0};

			tells[i]->ops->stats(tells[i], &stats);
			pp_metrics_sample(to, figures[f].name, labels,
					  (double)figure_of(&stats, (enum figure)f));
		}
	}
}
