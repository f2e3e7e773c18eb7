// SPDX-License-Identifier: GPL-2.0-or-later
/* The sinks that the settings ask for. */
#include "drift_state.h"

#include <errno.h>

#define LAST_TRY_MS 500

static int open_webhook(struct pp_drift *drift, sd_event *event, const char *url,
			enum pp_tell_webhook_kind kind, struct pathprof_error *error)
{
	const struct pp_config *c = &drift->config;
	const struct pp_tell_webhook_config config = {
		.kind = kind,
		.url = url,
		.bearer_file = c->tell_bearer_file[0] ? c->tell_bearer_file : NULL,
		.ca_file = c->tell_ca_file[0] ? c->tell_ca_file : NULL,
	};
	int r;

	if (!url[0])
		return 0;
	r = pp_tell_webhook_new(&drift->sinks[drift->sink_cnt], event, &config, error);
	if (r == 0)
		drift->sink_cnt++;
	return r;
}

int pp_drift_open_sinks(struct pp_drift *drift, sd_event *event, struct pathprof_error *error)
{
	const struct pp_config *c = &drift->config;
	int r = 0;

	if (c->tell_journal) {
		r = pp_tell_journal_new(&drift->sinks[drift->sink_cnt]);
		if (r < 0)
			return pathprof_fail(error, r, "alerts cannot be told to the journal");
		drift->sink_cnt++;
	}
	if (c->tell_exec[0]) {
		const struct pp_tell_exec_config config = {.command = c->tell_exec};

		r = pp_tell_exec_new(&drift->sinks[drift->sink_cnt], event, &config, error);
		if (r < 0)
			return r;
		drift->sink_cnt++;
	}
	r = open_webhook(drift, event, c->tell_alertmanager, PP_TELL_WEBHOOK_ALERTMANAGER, error);
	if (r == 0)
		r = open_webhook(drift, event, c->tell_webhook, PP_TELL_WEBHOOK_JSON, error);
	return r;
}

void pp_drift_close_sinks(struct pp_drift *drift)
{
	while (drift->sink_cnt) {
		struct pp_tell *sink = drift->sinks[--drift->sink_cnt];

		sink->ops->free(sink, LAST_TRY_MS);
	}
}
