/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift over time: a point a window, binary, container and baseline, as the service stored them or,
 * where it stored none of what is selected, measured here. Drift of single processes is always
 * measured here. Ownership: the list is the caller's. One thread.
 */
#ifndef CTL_DRIFTS_H
#define CTL_DRIFTS_H

#include "../ctl.h"

struct drift_point {
	struct pathprof_drift_row row; /* its strings are the point's */
};

struct drifts {
	/* By binary, container, baseline; the one that was measured last first. */
	struct drift_point *points;
	size_t cnt, room;
	bool measured; /* measured here, not stored */
};

/* Points of one binary, container and baseline. */
struct drift_subject {
	const struct drift_point *points; /* the latest measured first */
	size_t cnt;
};

/* CTL_OK, or said: nothing at all is a failure. */
int drifts_load(struct drifts *ret_drifts, const struct ctl_options *options);
void drifts_release(struct drifts *drifts);
void drifts_add(struct drifts *drifts, const struct pathprof_drift_row *row);
/* The subject that begins at points[*at], which moves behind it; false: none is left. */
bool drifts_next(const struct drifts *drifts, size_t *at, struct drift_subject *ret_subject);
/* Whether the corrected figure and its low end are over the threshold. */
bool drift_is_over(const struct drift_point *point, double threshold);
/*
 * Measures each window against the rolling baseline, or against options->baseline, as the service
 * does. Results are as of drifts_load().
 */
int drifts_measure(struct drifts *drifts, const struct ctl_options *options,
		   struct pathprof_store *store);
/* A panel a subject: the corrected figure over time, its interval as a band. CTL_OK, or said. */
int drifts_draw(const struct drifts *drifts, double threshold, const char *file);

#endif
