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
	const json_t *found; /* of the judgement; NULL: it does not stand out ... */
	bool is_gone;        /* ... since its build runs no more, and another one does */
	bool is_stale;       /* ... as far as is known: it was not judged for a day */
	bool is_ruleless;    /* ... or will not be: of the rule name and scope are left */
	int64_t since_s, until_s;
};

/* The caller frees; NULL: no memory. */
char *hub_alert_json(const struct hub_alert_event *event);
char *hub_alert_summary(const struct hub_alert_event *event);

#endif
