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
	uint64_t windows;
};

/* Connects the parts of a drift that is all zero except for settings and store. */
void pp_drift_join(struct pp_drift *drift);

/* drift_clock.c: moves states of the store that lie in the future: the clock was set back. */
void pp_drift_leave_future(struct pp_drift *drift);

/* drift_unmeasured.c: resolves alerts that no measurement will. */
void pp_drift_resolve_unmeasured(struct pp_drift *drift);

/* drift_restore.c: the windows of the time that the rolling baseline spans. */
/* Reads as many as take no noticeable time; the event loop reads the others. */
int pp_drift_restore(struct pp_drift *drift, struct pathprof_error *error);
/* Puts the window at hand behind those still to be read. Returns false if there are none. */
bool pp_drift_restore_window(struct pp_drift *drift);
/* Windows still to be read move with a clock that was set by so much. */
void pp_drift_move_restore(struct pp_drift *drift, int64_t by_ns);
/* Ends the reading, even if windows are left. */
void pp_drift_end_restore(struct pp_drift *drift);

#endif
