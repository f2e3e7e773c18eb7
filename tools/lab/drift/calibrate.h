/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does drift detection ring when it must, and only then? Made-up programs are watched as a daemon
 * would watch a real one: a baseline, a window after the other, each measured alone and together
 * with the two before it, both rules behind that. Same plan, same figures.
 *
 * Workload: hundreds of trials of a few windows; some 0.2 ms a window without bootstrap.
 */
#ifndef LAB_DRIFT_CALIBRATE_H
#define LAB_DRIFT_CALIBRATE_H

#include "pathprof/alert.h"
#include "world.h"

struct lab_calibration_plan {
	enum lab_world_kind kind;
	size_t event_cnt;
	uint64_t window_samples, baseline_samples;
	enum lab_move move;
	double flow;
	struct lab_bursts bursts;
	bool told; /* how samples come is told to the measurement; else they pass for independent */
	uint32_t trials;
	uint32_t calm_windows; /* of a trial, before the change */
	uint32_t moved_windows;
	uint64_t seed;
	struct pathprof_drift_settings settings;
	struct pathprof_alert_rule fast, slow;
};

struct lab_calibration {
	uint64_t calm_windows;
	uint64_t plain_over;  /* calm windows whose plain D is above the fast rule's threshold */
	uint64_t over;        /* ... that either rule counts as over its threshold */
	uint64_t fired;       /* ... at which an alert fired */
	uint32_t trials;      /* with a change */
	uint32_t caught_fast; /* an alert fired during the moved windows, by the fast rule */
	uint32_t caught;      /* ... by either */
	/* Means over calm windows, or moved ones if there are any; of windows alone. */
	double plain_bits, corrected_bits, truth_bits; /* truth: NaN where it is infinite */
	double covered; /* share of windows whose interval holds the truth */
};

/* -ENOMEM, -EINVAL. */
int lab_calibrate(struct lab_calibration *ret_calibration, const struct lab_calibration_plan *plan);

#endif
