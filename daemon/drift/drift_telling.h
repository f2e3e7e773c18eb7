/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of alerts, sent at once or when their paths have names: see drift_draft.c. */
#ifndef PP_DRIFT_TELLING_H
#define PP_DRIFT_TELLING_H

#include "drift_naming.h"

#define PP_DRIFT_MOVED_MAX 5 /* paths that are told */

struct pp_drift_telling {
	struct pp_drift_common *common;
	struct pp_drift_alerts *alerts;
	struct pp_drift_naming *naming;
	struct pp_tell *journal; /* NULL: not told there */
	char host[65];
	struct pp_drift_draft *drafts; /* messages that wait for names, oldest first */
	sd_event *event;
	sd_event_source *timer;
};

/* window and base may be NULL when nothing was measured. */
struct pp_drift_news {
	enum pathprof_alert_change change;
	struct pp_drift_alert *alert;
	const struct pathprof_alert_rule *rule;
	const struct pp_drift_subject *subject; /* NULL: it is not there any more */
	const struct pathprof_drift *drift;
	const struct pathprof_distribution *window, *base;
	const struct pathprof_portable *portable; /* of this build */
	/* of the baseline's build, if that is another one: keys are portable names then */
	const struct pathprof_portable *base_portable;
	bool is_new_normal;               /* resolved, since the baseline is what it fired for */
	bool is_build_gone;               /* resolved, since others run in the place of the build */
	double matched;                   /* share of the window that was compared */
	const struct pathprof_part *part; /* the newest window by its own keys */
};

/* A term of drift, and the path that it belongs to. */
struct pp_drift_moved {
	struct pathprof_drift_term term; /* its q is the share that the baseline saw: 0 if none */
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
	bool has_rule, has_drift, is_new_normal, is_build_gone;
	struct pathprof_build_id id; /* of the subject; kind NONE: it is not there any more */
	struct pp_drift_moved moved[PP_DRIFT_MOVED_MAX];
	size_t moved_cnt;
	uint64_t deadline_us;
	pid_t pids[PP_NAMES_PIDS_MAX];
	uint32_t pid_cnt;
};

/*
 * Told at once, or as soon as its paths have names. Rules of one cause tell one message: the first
 * that fires is told, and that it is over when the last of them resolves.
 */
void pp_drift_tell(struct pp_drift_telling *telling, const struct pp_drift_news *news);
/* Tells what waits of this alert (NULL: of any), with the names there are. */
void pp_drift_release_drafts(struct pp_drift_telling *telling, const struct pp_drift_alert *alert);

/* drift_message.c: tells what is in it, and frees it. */
void pp_drift_send(struct pp_drift_telling *telling, struct pp_drift_draft *draft);

/* drift_moved.c: which paths moved most, and what is known of them. */
void pp_drift_find_moved(struct pathprof_store *store, const struct pp_drift_news *news,
			 struct pp_drift_draft *draft);

#endif
