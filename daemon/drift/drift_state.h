/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All parts of drift (drift_common.h), for the files that go through them one after another. */
#ifndef PP_DRIFT_STATE_H
#define PP_DRIFT_STATE_H

#include "drift_judge.h"

struct pp_drift {
	struct pp_drift_common common;
	struct pp_drift_alerts alerts;
	struct pp_drift_subjects subjects;
	struct pp_drift_naming naming;
	struct pp_drift_telling telling;
	struct pp_drift_judge judge;
	sd_event *event;
	struct pp_drift_restore *restore; /* NULL: all earlier windows were read */
	uint64_t windows, cpu_ns;
};

/* Joins the parts of what is all zero but for settings and store. */
void pp_drift_join(struct pp_drift *drift);

/* drift_clock.c: states out of the store that lie ahead of now: the clock was set back meanwhile.
 */
void pp_drift_leave_future(struct pp_drift *drift);

/* drift_restore.c: the windows of the time that the rolling baseline spans. */
/* Reads as many as take no time to speak of; the event loop goes on with the others. */
int pp_drift_restore(struct pp_drift *drift, struct pathprof_error *error);
/* The window at hand closed before the others were read: it is read after them. False: they are. */
bool pp_drift_restore_window(struct pp_drift *drift);
/* Whether it came to its end or not. */
void pp_drift_end_restore(struct pp_drift *drift);

#endif
