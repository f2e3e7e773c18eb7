/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alerts of a fleet: what `judge` found in a span of time goes through the rules, and what comes of
 * it into the database, states and messages in one transaction, as pathprofd's own alerts do. There
 * `pathprof-relay --db` finds the messages and tells them, and readers ask for the states.
 *
 *     rule       [Alert NAME] with Scope=host or Scope=release, of --config
 *     binary     the path of the program or library
 *     container  host:NAME of the host that stands out, or build:ID of the build
 *     baseline   "fleet": the other hosts; "previous": the build before
 *
 * Nothing is kept in memory between judgements, and a span that is judged again changes nothing: so
 * a hub that is killed at any moment tells each alert once. Workload: once a span. One thread.
 */
#ifndef HUB_ALERTS_H
#define HUB_ALERTS_H

#include <jansson.h>

#include "../../daemon/shared/config.h"
#include "hub.h"
#include "pathprof/store.h"

/* Rules of the hub: those of the built-in ones that the file leaves alone, and its own. */
struct hub_rules {
	struct pp_config_alert list[PP_CONFIG_ALERT_MAX];
	size_t cnt;
};

/* Firing and pending alerts of one rule, at most. Further ones are left out, and counted. */
#define HUB_ALERTS_MAX 256

struct hub_alert_counts {
	uint64_t fired, resolved, left_out;
};

/* file NULL: the built-in ones alone. -EINVAL..., error filled. */
int hub_rules_load(struct hub_rules *ret_rules, const char *file, struct pathprof_error *error);
/* The span of a rule's judgement, in seconds. */
int64_t hub_rule_span_s(const struct pp_config_alert *rule);

/*
 * Ends alerts whose rule is not among the rules any more, so none of them fires for ever. Adds to
 * *counts. -errno, error filled: nothing of it was written.
 */
int hub_alerts_begin(struct pathprof_store *store, const struct hub_rules *rules,
		     struct hub_alert_counts *counts, struct pathprof_error *error);
/* The same, and takes a judgement to the rules of its span. */
int hub_alerts_take(struct pathprof_store *store, const struct hub_rules *rules,
		    const json_t *judgement, struct hub_alert_counts *counts,
		    struct pathprof_error *error);

/* Alerts as readers get them, {"alerts": [...]}; a status of HTTP. *ret_object is the caller's. */
unsigned int hub_alerts_answer(struct pathprof_store *store, json_t **ret_object);

#endif
