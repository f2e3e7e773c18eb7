/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of the files of `experiment estimate`. Each file measures one program, or two
 * side by side, in a process of its own and leaves figures in its struct; its tables are written
 * afterwards.
 */
#ifndef LAB_EXPERIMENT_ESTIMATE_H
#define LAB_EXPERIMENT_ESTIMATE_H

#include "../collect/sampled.h"
#include "experiment.h"

#define ESTIMATE_CLOCK_WINDOWS 100  /* clock samples for each window */
#define ESTIMATE_HORIZON       1024 /* of the repetitions: instructions */

/* The clock that windows are drawn by, and in which TIME is measured. */
#define ESTIMATE_TIMES 2
extern const enum lab_stream_clock estimate_times[ESTIMATE_TIMES]; /* INSNS, TIME */

/* One row of the tables. */
struct estimate_row {
	const char *label;
	const void *figures;
};

/* ---- overlap: every estimator at growing numbers of windows */
#define ESTIMATE_LEVELS     3
#define ESTIMATE_HORIZONS   4
#define ESTIMATE_ESTIMATORS (2 + 2 * ESTIMATE_HORIZONS)

enum estimate_measure { ESTIMATE_RUNS, ESTIMATE_TIME, ESTIMATE_FUNCTIONS, ESTIMATE_MEASURES };

/* In the small setting modelled time has a level less. */
struct estimate_overlap {
	double percent[ESTIMATE_TIMES][ESTIMATE_MEASURES][ESTIMATE_LEVELS][ESTIMATE_ESTIMATORS];
};

void estimate_overlap_measure(const struct lab_run *run, const struct lab_mix *mix, size_t time,
			      uint64_t seed, struct estimate_overlap *result);
void estimate_overlap_write(struct lab_run *run, const struct estimate_row *rows, size_t cnt);

/* ---- repetitions: bias, intervals, and the bootstrap */
struct estimate_repeat {
	/* Functions above 1 % of TIME: largest |z| of the mean, and its largest error in points. */
	double z[ESTIMATE_TIMES][3], bias[ESTIMATE_TIMES][3]; /* taken, weights, strata */
	double functions[ESTIMATE_TIMES];                     /* so many are there */
	/* Percent of intervals that hold the truth: functions' TIME and RUNS, paths' TIME and RUNS,
	 * and paths' TIME and RUNS as far as windows can show them. */
	double coverage[ESTIMATE_TIMES][6];
	/* Standard deviations, over that of the repetitions: by intervals and by bootstrap, of
	 * paths' TIME and RUNS. */
	double spread[ESTIMATE_TIMES][4];
};

/* Not measured: NAN. */
void estimate_repeat_skip(size_t time, struct estimate_repeat *result);
void estimate_repeat_measure(const struct lab_run *run, const struct lab_mix *mix, size_t time,
			     uint64_t seed, struct estimate_repeat *result);
void estimate_repeat_write(struct lab_run *run, const struct estimate_row *rows, size_t cnt);

/* ---- cost: the length of window that gives most for its cost */
#define ESTIMATE_BUDGETS 2

struct estimate_length {
	double insns, decisions, cost_ms;                      /* of a window */
	double runs[ESTIMATE_BUDGETS], time[ESTIMATE_BUDGETS]; /* overlap, percent */
	double windows[ESTIMATE_BUDGETS];
	double whole; /* percent of paths' runs that a window can show */
	double full;  /* percent of windows that hold as many branches as a window may */
};
struct estimate_cost {
	struct estimate_length horizons[LAB_LENGTH_CNT], takens[LAB_LENGTH_CNT];
	double stepped_ms;    /* a window of 32 taken branches, single-stepped */
	double equal_horizon; /* the horizon that costs as much, stopping at decisions */
};

void estimate_cost_measure(const struct lab_run *run, const struct lab_mix *mix, uint64_t seed,
			   struct estimate_cost *result);
void estimate_cost_write(struct lab_run *run, const struct estimate_row *rows, size_t cnt);

#endif
