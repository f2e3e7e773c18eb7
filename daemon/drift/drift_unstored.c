// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages on their way to the store: kept from when they are made until they are written, in the
 * transaction that writes the states they come of. A store that cannot be written keeps them
 * waiting; more than some hundred are not kept.
 */
#include "drift_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void release(struct pathprof_message_row *row)
{
	free((char *)row->rule);
	free((char *)row->binary);
	free((char *)row->container);
	free((char *)row->baseline);
	free((char *)row->metric);
	free((char *)row->summary);
	free((char *)row->json);
}

static struct pathprof_message_row copy(const struct pp_tell_message *message)
{
	return (struct pathprof_message_row){
		.time_ns = pp_realtime_ns(),
		.fired = message->change == PATHPROF_ALERT_FIRED,
		.rule = strdup(message->rule),
		.binary = strdup(message->binary),
		.container = strdup(message->container),
		.baseline = strdup(message->baseline),
		.metric = strdup(message->metric),
		.value = message->value,
		.threshold = message->threshold,
		.begin_ns = message->begin_ns,
		.end_ns = message->end_ns,
		.summary = strdup(message->summary),
		.json = strdup(message->json),
	};
}

int pp_drift_keep_message(struct pp_drift *drift, const struct pp_tell_message *message)
{
	struct pathprof_message_row *rows, *row;

	if (drift->unstored_cnt == PP_DRIFT_UNSTORED_MAX)
		return -ENOBUFS;
	rows = reallocarray(drift->unstored, drift->unstored_cnt + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	drift->unstored = rows;
	row = &rows[drift->unstored_cnt];
	*row = copy(message);
	if (!row->rule || !row->binary || !row->container || !row->baseline || !row->metric ||
	    !row->summary || !row->json) {
		release(row);
		return -ENOMEM;
	}
	drift->unstored_cnt++;
	return 0;
}

void pp_drift_forget_messages(struct pp_drift *drift)
{
	for (uint32_t i = 0; i < drift->unstored_cnt; i++)
		release(&drift->unstored[i]);
	free(drift->unstored);
	drift->unstored = NULL;
	drift->unstored_cnt = 0;
}
