/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files drift*.c share. Everything is owned by the event loop's thread. */
#ifndef PP_DRIFT_STATE_H
#define PP_DRIFT_STATE_H

#include <stdbool.h>

#include "../shared/log.h"
#include "../shared/tell.h"
#include "drift.h"
#include "names.h"
#include "pinned.h"
#include "pathprof/judge.h"

#define PP_DRIFT_UNSTORED_MAX 256 /* messages whose rows could not be written yet */
#define PP_DRIFT_SHOWN_MAX    5   /* baselines a subject shows at the endpoint */
#define PP_DRIFT_MOVED_MAX    5   /* paths that are told */
#define PP_DRIFT_MEASURE_MAX  (PP_CONFIG_ALERT_MAX + PP_PINNED_MAX + 2)

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
	bool waiting; /* a draft of its message waits for names: its state is not stored yet */
};

/* What was measured last, for the endpoint. */
struct pp_drift_shown {
	char baseline[PP_CONFIG_NAME_MAX];
	struct pathprof_drift drift;
	double matched;
};

/*
 * What the build before did, in its own paths: the rolling baseline it had when this one came.
 */
struct pp_drift_previous {
	struct pathprof_portable *portable; /* NULL: there is none */
	struct pathprof_tally tally;
};

/* A build of a binary in a container. */
struct pp_drift_subject {
	struct pathprof_build_id id;
	uint64_t group;
	char *name, *container;
	struct pathprof_rolling rolling;
	struct pathprof_portable *portable; /* shared with other containers */
	struct pp_drift_previous previous;
	bool sought_previous;
	double unnamed; /* weight of the last window's paths that were not looked at yet */
	double unnamed_share;
	int64_t asked_ns; /* end of the window after which it was asked for last */
	pid_t pids[PP_NAMES_PIDS_MAX];
	uint32_t pid_cnt; /* of those that ran it in the last window that had unnamed paths */
	int64_t seen_ns;  /* end of the last window that had it */
	struct pp_drift_alert *alerts[PP_CONFIG_ALERT_MAX]; /* by rule; NULL: not for it */
	struct pp_drift_shown shown[PP_DRIFT_SHOWN_MAX];
	uint32_t shown_cnt;
};

struct pp_drift {
	struct pp_config config;
	struct pathprof_store *store;
	struct pp_tell *journal;               /* NULL: not told there */
	struct pathprof_message_row *unstored; /* strings are owned; they go with the states */
	uint32_t unstored_cnt;
	pp_drift_news_fn *on_news;
	void *news_context;
	struct pp_drift_rule rules[PP_CONFIG_ALERT_MAX];
	struct pp_pinned pinned;
	struct pp_drift_subject **subjects;
	uint32_t subject_cnt;
	struct pp_drift_alert **alerts;
	uint32_t alert_cnt;
	char host[65];

	sd_event *event;
	struct pp_names *names;         /* NULL: nothing is named */
	struct pp_drift_naming *naming; /* what it works on, unless for a draft */
	struct pp_drift_draft *drafts;  /* messages that wait for names, oldest first */
	sd_event_source *draft_timer;
	/* builds asked for after this window: those that are compared with another one, and others
	 */
	uint32_t compared_asked_cnt, others_asked_cnt;
	uint64_t began_ns;                /* CLOCK_MONOTONIC, for the budget of naming */
	struct pp_drift_restore *restore; /* NULL: all earlier windows were read */

	/*
	 * Of the windows that the rolling baselines are made of. Windows of different kinds do not
	 * see the same paths equally often, so they are never held against each other.
	 */
	enum pathprof_window_kind kind;

	/* the window at hand */
	const struct pathprof_profile *profile; /* NULL: none */
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
struct pp_drift_subject *pp_drift_subject(struct pp_drift *drift, const struct pathprof_part *part,
					  bool add);
/* Lets go of those not seen for longest until the bounds hold. */
void pp_drift_evict(struct pp_drift *drift);
void pp_drift_free_subjects(struct pp_drift *drift);

/* Counts of everything that is kept of them. */
uint64_t pp_drift_bytes(const struct pp_drift *drift);

/* drift_previous.c: what the build before left, from memory or else out of the store. */
void pp_drift_find_previous(struct pp_drift *drift, struct pp_drift_subject *subject);
/* Out of the store, for one subject that has none yet. */
void pp_drift_seek_previous(struct pp_drift *drift);

/* drift_parts.c: a profile, split by subject, most samples first. The caller frees both. */
int pp_drift_split(const struct pathprof_profile *profile, struct pathprof_part **ret_parts,
		   size_t *ret_cnt, struct pathprof_event **ret_events);

/* drift_clock.c: states out of the store that lie ahead of now: the clock was set back meanwhile.
 */
void pp_drift_leave_future(struct pp_drift *drift);

/* drift_judge.c */
void pp_drift_judge(struct pp_drift *drift, struct pp_drift_subject *subject,
		    const struct pathprof_part *part);

/* drift_restore.c: the windows of the time that the rolling baseline spans. */
/* Reads as many as take no time to speak of; the event loop goes on with the others. */
int pp_drift_restore(struct pp_drift *drift, struct pathprof_error *error);
/* The window at hand closed before the others were read: it is read after them. False: they are. */
bool pp_drift_restore_window(struct pp_drift *drift);
/* Whether it came to its end or not. */
void pp_drift_end_restore(struct pp_drift *drift);

/* drift_naming.c: which build's paths are named next, and what comes of it. */
/* With a subject's part of the window at hand: what of it has no name yet. */
void pp_drift_find_unnamed(struct pp_drift *drift, struct pp_drift_subject *subject,
			   const struct pathprof_part *part);
/* After a window: asks for those that weigh most, as long as the budget allows. */
void pp_drift_name_some(struct pp_drift *drift);
/* Processes of the window at hand that run this build; at most PP_NAMES_PIDS_MAX. */
uint32_t pp_drift_pids(const struct pp_drift *drift, const struct pathprof_build_id *id,
		       pid_t *ret_pids);

/* drift_message.c: what is told; window and base may be NULL when nothing was measured. */
struct pp_drift_news {
	enum pathprof_alert_change change;
	struct pp_drift_alert *alert;
	const struct pathprof_alert_rule *rule;
	const struct pp_drift_subject *subject; /* NULL: it is not there any more */
	const struct pathprof_drift *drift;
	const struct pathprof_distribution *window, *base;
	const struct pathprof_portable *portable; /* of this build */
	/* Of the baseline's build, when it is another one: keys are portable names then. */
	const struct pathprof_portable *base_portable;
	double matched;                   /* share of the window that was compared */
	const struct pathprof_part *part; /* the newest window by its own keys */
};

/* A term of drift, and what it is. */
struct pp_drift_moved {
	struct pathprof_drift_term term;
	uint64_t key_lo; /* of the path among the subject's own events; 0: not known */
	int64_t path_id; /* 0: the store does not know it any more */
	struct pp_names_path path;
	char *function; /* NULL: unknown */
	char *source;   /* file:line, NULL: unknown */
};

/* A message that may wait until its paths have names. */
struct pp_drift_draft {
	struct pp_drift_draft *next;
	enum pathprof_alert_change change;
	struct pp_drift_alert *alert;
	struct pathprof_alert_state state; /* as it was then */
	struct pathprof_alert_rule rule;
	struct pathprof_drift drift;
	double matched;
	bool has_rule, has_drift;
	struct pathprof_build_id id; /* of the subject; kind NONE: it is not there any more */
	struct pp_drift_moved moved[PP_DRIFT_MOVED_MAX];
	size_t moved_cnt;
	uint64_t deadline_us;
	pid_t pids[PP_NAMES_PIDS_MAX];
	uint32_t pid_cnt;
};
/* Tells what is in it, and frees it. */
void pp_drift_send(struct pp_drift *drift, struct pp_drift_draft *draft);
/* Told at once, or as soon as its paths have names. */
void pp_drift_tell(struct pp_drift *drift, const struct pp_drift_news *news);

/* drift_moved.c: which paths moved most, and what is known of them. */
void pp_drift_find_moved(struct pp_drift *drift, const struct pp_drift_news *news,
			 struct pp_drift_draft *draft);

/* drift_draft.c: messages that wait. */
void pp_drift_hold(struct pp_drift *drift, struct pp_drift_draft *draft);
/* Tells what waits of this alert (NULL: of any), with the names there are. */
void pp_drift_release_drafts(struct pp_drift *drift, const struct pp_drift_alert *alert);
/* The next that waits asks for its names. */
void pp_drift_next_draft(struct pp_drift *drift);

/* drift_unstored.c: messages on their way to the store. */
/* Copies it; -ENOBUFS, -ENOMEM. */
int pp_drift_keep_message(struct pp_drift *drift, const struct pp_tell_message *message);
/* They were written, or never will be. */
void pp_drift_forget_messages(struct pp_drift *drift);

/* Logs each kind of trouble once, and counts it. */
void pp_drift_lost(struct pp_drift *drift, int code, const char *what, const char *why);

#endif
