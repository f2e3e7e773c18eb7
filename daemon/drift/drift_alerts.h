/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules out of the settings, the states of their alerts, in memory and in the store, and messages
 * on their way there.
 */
#ifndef PP_DRIFT_ALERTS_H
#define PP_DRIFT_ALERTS_H

#include <stdbool.h>

#include "../shared/tell.h"
#include "drift_common.h"

#define PP_DRIFT_UNSTORED_MAX 256  /* messages whose rows could not be written yet */
#define PP_DRIFT_OVER_MAX     1024 /* alerts that fired and are over, the newest ones */

/* A rule, as the configuration has it and as the state machine takes it. */
struct pp_drift_rule {
	const struct pp_config_alert *config; /* NULL: this place is empty or switched off */
	struct pathprof_alert_rule rule;
	bool blind; /* its pinned baseline is missing, and that was logged */
};

/* One rule's state for one binary and container; outlives subjects. */
struct pp_drift_alert {
	char *rule, *binary, *container, *baseline;
	char *json; /* what was told last; NULL: nothing */
	struct pathprof_alert_state state;
	uint32_t linked_cnt;                       /* subjects that have it */
	bool changed;                              /* since it was stored */
	bool told;                                 /* that it fires, and not yet that it is over */
	char build_id[PATHPROF_BUILD_ID_TEXT_LEN]; /* of the build that was told of; "": none */
	uint32_t gone_cnt; /* windows in a row in which others ran in the place of that build */
	bool waiting;      /* a draft of its message waits for names: its state is not stored yet */
};
/* The alerts of a subject, by rule; NULL: the rule is not for it. */
typedef struct pp_drift_alert *pp_drift_links[PP_CONFIG_ALERT_MAX];

struct pp_drift_alerts {
	struct pp_drift_common *common;
	bool of_tests; /* only those of the rule on tested sets; else all but these */
	struct pp_drift_rule rules[PP_CONFIG_ALERT_MAX];
	struct pp_drift_alert **list;
	uint32_t cnt;
	struct pathprof_message_row *unstored; /* strings are owned; they go with the states */
	uint32_t unstored_cnt;
	pp_drift_news_fn *on_news;
	void *news_context;
};

void pp_drift_make_rules(struct pp_drift_alerts *alerts);
/* The largest number of windows that a rule measures together. */
uint32_t pp_drift_pooled_max(const struct pp_drift_alerts *alerts);
/* Whether a rule on the rolling baseline is pending or fires. */
bool pp_drift_alarmed(const struct pp_drift_alerts *alerts, pp_drift_links links);
/* Finds or makes the states that rules need of a binary in a container, and gives them the rules'
 * baselines; links are all NULL, or as an earlier call left them. */
void pp_drift_link(struct pp_drift_alerts *alerts, const char *binary, const char *container,
		   pp_drift_links links);
void pp_drift_unlink(pp_drift_links links);
/*
 * The next alert (NULL: the first) after one of the same cause: of the same binary and container
 * against the same baseline, by another rule or the same.
 */
struct pp_drift_alert *pp_drift_next_of_cause(const struct pp_drift_alerts *alerts,
					      const struct pp_drift_alert *of,
					      const struct pp_drift_alert *after);
/* The alert of this cause of which it was told that it fires, and not yet that this is over; NULL:
 * none. */
struct pp_drift_alert *pp_drift_find_told(const struct pp_drift_alerts *alerts,
					  const struct pp_drift_alert *of);
/* NULL: the rule is gone. */
const struct pathprof_alert_rule *pp_drift_rule_of(const struct pp_drift_alerts *alerts,
						   const struct pp_drift_alert *alert);
int pp_drift_read_alerts(struct pp_drift_alerts *alerts, struct pathprof_error *error);
void pp_drift_store_alerts(struct pp_drift_alerts *alerts);
/* Frees quiet states that no subject has. */
void pp_drift_prune_alerts(struct pp_drift_alerts *alerts);
/*
 * Tells the journal (NULL: none) at once; others find the message in the store, where the next
 * store writes it beside its alert's state. Copies it.
 */
void pp_drift_hand_on(struct pp_drift_alerts *alerts, struct pp_tell *journal,
		      const struct pp_tell_message *message);
/* Messages that were not stored are lost. */
void pp_drift_free_alerts(struct pp_drift_alerts *alerts);

/* drift_clock.c: the clock was set by by_ns; a time of 0 means never, and stays. */
void pp_drift_move_time(int64_t *time_ns, int64_t by_ns);
void pp_drift_move_alerts(struct pp_drift_alerts *alerts, int64_t by_ns);
/* How far the latest state lies after now_ns; 0: none does. */
int64_t pp_drift_alerts_ahead_ns(const struct pp_drift_alerts *alerts, int64_t now_ns);

#endif
