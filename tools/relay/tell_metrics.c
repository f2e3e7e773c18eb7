// SPDX-License-Identifier: GPL-2.0-or-later
/* What the sinks count, for the endpoint: one metric a figure, one sample a sink. */
#include "../../daemon/shared/metrics_text.h"
#include "sinks.h"

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
