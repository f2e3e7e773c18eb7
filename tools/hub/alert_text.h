/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The message of a fleet's alert: one JSON object with the members that pathprofd's have
 * (docs/alerting.md) and some of the fleet's, and a line for people. Pure.
 */
#ifndef HUB_ALERT_TEXT_H
#define HUB_ALERT_TEXT_H

#include <jansson.h>

#include "../../daemon/shared/config.h"
#include "pathprof/alert.h"

struct hub_alert_event {
	const struct pp_config_alert *rule;
	const char *binary, *where, *baseline;
	const struct pathprof_alert_state *state;
	const json_t *found; /* the entry in the judgement; NULL: not found in it ... */
	bool is_gone;        /* ... because its build does not run any more, and another one does */
	bool is_stale;       /* ... as far as is known: it was not judged for a day */
	bool is_ruleless;    /* ... and its rule is gone: only name and scope of that are left */
	int64_t since_s, until_s;
};

/* The caller frees; NULL: no memory. */
char *hub_alert_json(const struct hub_alert_event *event);
char *hub_alert_summary(const struct hub_alert_event *event);

#endif
