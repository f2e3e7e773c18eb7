/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files drift*.c share. Everything is owned by the event loop's thread. */
#ifndef PP_DRIFT_STATE_H
#define PP_DRIFT_STATE_H

#include <stdbool.h>

#include "../log.h"
#include "../tell/tell.h"
#include "drift.h"
#include "pinned.h"
#include "rolling.h"

#define PP_DRIFT_SINKS_MAX   4
#define PP_DRIFT_SHOWN_MAX   4 /* baselines a subject shows at the endpoint */
#define PP_DRIFT_ROLLING     "rolling"
#define PP_DRIFT_MEASURE_MAX (PP_CONFIG_ALERT_MAX + PP_PINNED_MAX + 1)

/* A rule, as the configuration has it and as the state machine takes it. */
struct pp_drift_rule {
	const struct pp_config_alert *config; /* NULL: this place is empty or switched off */
	struct pathprof_alert_rule rule;
};

/* One rule's state for one binary and container; outlives subjects. */
struct pp_drift_alert {
	char *rule, *binary, *container, *baseline;
	char *json; /* what was told last; NULL: nothing */
	struct pathprof_alert_state state;
	bool changed; /* since it was stored */
};

/* What was measured last, for the endpoint. */
struct pp_drift_shown {
	char baseline[PP_CONFIG_NAME_MAX];
	struct pathprof_drift drift;
};

/* A build of a binary in a container. */
struct pp_drift_subject {
	struct pathprof_build_id id;
	uint64_t group;
	char *name, *container;
	struct pp_rolling rolling;
	int64_t seen_ns;                                    /* end of the last window that had it */
	struct pp_drift_alert *alerts[PP_CONFIG_ALERT_MAX]; /* by rule; NULL: not for it */
	struct pp_drift_shown shown[PP_DRIFT_SHOWN_MAX];
	uint32_t shown_cnt;
};

/* One subject's part of a window: events sorted, borrowed. */
struct pp_drift_part {
	const struct pathprof_build_id *id;
	uint64_t group;
	const char *name, *container;
	struct pathprof_event *events;
	size_t cnt;
	double samples;
};

struct pp_drift {
	struct pp_config config;
	struct pathprof_store *store;
	struct pp_tell *sinks[PP_DRIFT_SINKS_MAX];
	uint32_t sink_cnt;
	struct pp_drift_rule rules[PP_CONFIG_ALERT_MAX];
	struct pp_pinned pinned;
	struct pp_drift_subject **subjects;
	uint32_t subject_cnt;
	struct pp_drift_alert **alerts;
	uint32_t alert_cnt;
	char host[65];

	/* the window at hand */
	int64_t window, end_ns;
	double per_burst; /* paths that came out of one burst; 0: not known */
	struct pathprof_drift_row *rows;
	size_t row_cnt, row_room;

	uint64_t windows, measured, evicted, lost, cpu_ns;
	struct pp_log_seen trouble;
};

/* drift_rules.c: rules and alerts' states. */
void pp_drift_make_rules(struct pp_drift *drift);
/* How many last windows rules measure together at most. */
uint32_t pp_drift_pooled_max(const struct pp_drift *drift);
bool pp_drift_alarmed(const struct pp_drift *drift, const struct pp_drift_subject *subject);
/* Finds or makes the states a subject's rules need. */
void pp_drift_link(struct pp_drift *drift, struct pp_drift_subject *subject);
int pp_drift_read_alerts(struct pp_drift *drift, struct pathprof_error *error);
void pp_drift_store_alerts(struct pp_drift *drift);
/* Frees those that say nothing and that no subject has. */
void pp_drift_prune_alerts(struct pp_drift *drift);
void pp_drift_free_alerts(struct pp_drift *drift);

/* drift_subject.c */
/* NULL: no memory. */
struct pp_drift_subject *pp_drift_subject(struct pp_drift *drift, const struct pp_drift_part *part,
					  bool add);
/* Lets go of those not seen for longest until the bounds hold. */
void pp_drift_evict(struct pp_drift *drift);
void pp_drift_free_subjects(struct pp_drift *drift);

/* drift_parts.c: a profile, split by subject, most samples first. The caller frees both. */
int pp_drift_split(const struct pathprof_profile *profile, struct pp_drift_part **ret_parts,
		   size_t *ret_cnt, struct pathprof_event **ret_events);

/* drift_judge.c */
void pp_drift_judge(struct pp_drift *drift, struct pp_drift_subject *subject,
		    const struct pp_drift_part *part);

/* drift_restore.c: the windows of the time that the rolling baseline spans. */
int pp_drift_restore(struct pp_drift *drift, struct pathprof_error *error);

/* drift_message.c: what is told; window and base may be NULL when nothing was measured. */
struct pp_drift_news {
	enum pathprof_alert_change change;
	struct pp_drift_alert *alert;
	const struct pathprof_alert_rule *rule;
	const struct pp_drift_subject *subject; /* NULL: it is not there any more */
	const struct pathprof_drift *drift;
	const struct pathprof_distribution *window, *base;
};
void pp_drift_tell(struct pp_drift *drift, const struct pp_drift_news *news);

/* drift_sinks.c */
int pp_drift_open_sinks(struct pp_drift *drift, sd_event *event, struct pathprof_error *error);
void pp_drift_close_sinks(struct pp_drift *drift);

/* Logs each kind of trouble once, and counts it. */
void pp_drift_lost(struct pp_drift *drift, int code, const char *what, const char *why);

#endif
