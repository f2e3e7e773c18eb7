/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which build's paths are named next, and what comes of it: see drift_naming.c. */
#ifndef PP_DRIFT_NAMING_H
#define PP_DRIFT_NAMING_H

#include "drift_subject.h"

struct pp_drift_naming_job;

struct pp_drift_naming {
	struct pp_drift_common *common;
	struct pp_drift_subjects *subjects;
	struct pp_names *names;          /* NULL: nothing is named */
	struct pp_drift_naming_job *job; /* NULL: names is idle, or busy for a message */
	/* builds asked for after this window: compared with another build, and not compared */
	uint32_t compared_asked_cnt, others_asked_cnt;
	uint64_t began_ns; /* CLOCK_MONOTONIC, for the budget */
};

/* Notes which paths in a subject's part of the window at hand have no name yet. */
void pp_drift_find_unnamed(const struct pp_drift_naming *naming, struct pp_drift_subject *subject,
			   const struct pathprof_part *part);
/* After a window: asks for the names of the heaviest, as long as the budget allows. */
void pp_drift_name_some(struct pp_drift_naming *naming);
/* Finds processes of the window at hand that run this build; at most PP_NAMES_PIDS_MAX. */
uint32_t pp_drift_pids(const struct pp_drift_common *common, const struct pathprof_build_id *id,
		       pid_t *ret_pids);

#endif
