/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Subjects: a record for each build of a binary in each container. */
#ifndef PP_DRIFT_SUBJECT_H
#define PP_DRIFT_SUBJECT_H

#include "drift_alerts.h"
#include "names.h"
#include "pathprof/judge.h"

#define PP_DRIFT_SHOWN_MAX 5 /* baselines a subject shows at the endpoint */

/* Figures of the last window with enough samples, for the endpoint. */
struct pp_drift_shown {
	char baseline[PP_CONFIG_NAME_MAX];
	struct pathprof_drift drift;
	double matched;
};

/*
 * The previous build's profile, in its own paths: the rolling baseline it had when this one came.
 */
struct pp_drift_previous {
	struct pathprof_portable *portable; /* NULL: there is none */
	struct pathprof_tally tally;
};

struct pp_drift_subject {
	struct pathprof_build_id id;
	uint64_t group;
	char *name, *container;
	struct pathprof_rolling rolling;
	struct pathprof_portable *portable; /* shared with other containers */
	struct pp_drift_previous previous;
	bool sought_previous; /* else the store is to be asked: it may have more than memory had */
	double unnamed;       /* weight of the last window's paths that were not looked at yet */
	double unnamed_share;
	int64_t asked_ns; /* end of the window after which it was asked for last */
	pid_t pids[PP_NAMES_PIDS_MAX];
	uint32_t pid_cnt; /* of those that ran it in the last window that had unnamed paths */
	int64_t seen_ns;  /* end of the last window that had it */
	/* The last window that was judged may have changed, by a rule on the rolling baseline. */
	bool unsure;
	pp_drift_links alerts;
	struct pp_drift_shown shown[PP_DRIFT_SHOWN_MAX];
	uint32_t shown_cnt;
};

struct pp_drift_subjects {
	struct pp_drift_common *common;
	struct pp_drift_alerts *alerts;
	struct pp_drift_subject **list;
	uint32_t cnt;
	uint64_t evicted;
};

/* add: where there is none yet, it begins with this part. NULL: none, or no memory. */
struct pp_drift_subject *pp_drift_subject(struct pp_drift_subjects *subjects,
					  const struct pathprof_part *part, bool add);
/* Names of a build's paths, which all subjects of the build share. NULL: no memory. */
struct pathprof_portable *pp_drift_portable(struct pp_drift_subjects *subjects,
					    const struct pathprof_build_id *id);
/* Adds a part of a window that was judged (hot: an alert is pending or fires) to the past.
 * -ENOMEM: it is lost. */
int pp_drift_push(const struct pp_drift_subjects *subjects, struct pp_drift_subject *subject,
		  const struct pathprof_part *part, int64_t end_ns, bool hot);
/* Lets go of those not seen for longest until the bounds hold. */
void pp_drift_evict(struct pp_drift_subjects *subjects);
void pp_drift_free_subjects(struct pp_drift_subjects *subjects);
/* The memory of all counts that are kept. */
uint64_t pp_drift_bytes(const struct pp_drift_subjects *subjects);

/* drift_previous.c: takes the counts of the previous build from memory. */
void pp_drift_find_previous(struct pp_drift_subjects *subjects, struct pp_drift_subject *subject);
/* Reads them from the store, for one subject for which that was not done. */
void pp_drift_seek_previous(struct pp_drift_subjects *subjects);

#endif
