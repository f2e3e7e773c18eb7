/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A subject's window against each baseline, judged by the rules: see drift_judge.c. */
#ifndef PP_DRIFT_JUDGE_H
#define PP_DRIFT_JUDGE_H

#include "drift_telling.h"
#include "pinned.h"

struct pp_drift_judge {
	struct pp_drift_common *common;
	struct pp_drift_alerts *alerts;
	struct pp_drift_telling *telling;
	struct pp_pinned pinned;
	struct pathprof_drift_row *rows; /* of the window at hand */
	size_t row_cnt, row_room;
	uint64_t measured;
};

void pp_drift_judge(struct pp_drift_judge *judge, struct pp_drift_subject *subject,
		    const struct pathprof_part *part);

/* Logs once for each rule whose pinned baseline is missing that it judges nothing. */
void pp_drift_tell_blind(struct pp_drift_judge *judge);

/* drift_parts.c: splits a profile by subject, most samples first. The caller frees both. */
int pp_drift_split(const struct pathprof_profile *profile, struct pathprof_part **ret_parts,
		   size_t *ret_cnt, struct pathprof_event **ret_events);

#endif
