/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * One window of a binary measured against a baseline, as service and pathprofctl do it: the rolling
 * one, a pinned file, or the build before.
 *
 * The interval is the normal one: a bootstrap would cost a hundred times as much, and just when
 * everything changes at once. docs/drift.md has the error rates of both.
 *
 * Workload: 200 binaries of some thousand paths a window. Pure; any thread.
 */
#ifndef PATHPROF_JUDGE_H
#define PATHPROF_JUDGE_H

#include <stdint.h>

#include "pathprof/drift.h"
#include "pathprof/error.h"
#include "pathprof/portable.h"
#include "pathprof/rolling.h"
#include "pathprof/store.h"

#define PATHPROF_BASELINE_ROLLING  "rolling"
#define PATHPROF_BASELINE_PREVIOUS "previous"

struct pathprof_baseline {
	const struct pathprof_tally *tally;       /* NULL: there is none */
	const struct pathprof_portable *portable; /* of another build; NULL: of the window's own */
};
/* There is no baseline of a single bucket, which says nothing about how windows scatter. */
struct pathprof_baseline pathprof_rolling_baseline(const struct pathprof_rolling *rolling);

/* A binary's data at the end of a window, from which the window is judged. */
struct pathprof_judged {
	const struct pathprof_rolling *rolling;   /* without this window */
	const struct pathprof_tally *window;      /* the newest */
	const struct pathprof_portable *portable; /* NULL: other builds cannot be compared */
	double dispersion;                        /* pathprof_rolling_dispersion() */
	double per_burst;   /* paths that came out of one burst; 0: not known */
	double samples_min; /* a baseline of fewer does not count */
};

struct pathprof_measured {
	/* in samples of equal weight; by portable names when the baseline is of another build */
	struct pathprof_tally window, base;
	double matched; /* share of the window that was compared */
	struct pathprof_drift drift;
};

/*
 * The newest `pooled` windows together against the baseline. -ENODATA: there is too little to
 * compare; -ENOMEM; others as pathprof_drift_measure(). Released by the caller whatever it returns.
 */
int pathprof_measure(struct pathprof_measured *ret_measured, const struct pathprof_judged *judged,
		     const struct pathprof_baseline *baseline, uint32_t pooled);
void pathprof_measured_release(struct pathprof_measured *measured);
/* The figures of a row. */
void pathprof_measured_row(const struct pathprof_measured *measured,
			   struct pathprof_drift_row *row);

/* ---------------------------------------------------------------- pinned baselines
 *
 * A profile file, by binary and container. A binary's counts are those of the container asked for;
 * where the file has the binary, but not in this container, those of all its containers together.
 * If it has only another build of the same path name, and holds the portable names of that build's
 * paths, the two are compared by these names.
 *
 * Workload: some hundred thousand counts, read once, asked for 200 times a window. One owner.
 */

#define PATHPROF_PINNED_PATHS_MAX (1u << 20)

struct pathprof_pinned_part {
	struct pathprof_build_id id;
	uint64_t group;
	char *name;      /* of the binary */
	char *container; /* NULL: all together */
	struct pathprof_tally tally;
	/* Read when it is first asked for by another build, functions NULL when there are none. */
	struct pathprof_portable *portable;
};

/* All zero: empty. */
struct pathprof_pinned {
	char *file;
	struct pathprof_pinned_part *parts;
	uint32_t part_cnt;
};

/*
 * The file's windows must be of one kind; weighed: whether that kind is weighed. -E2BIG: more than
 * PATHPROF_PINNED_PATHS_MAX paths; others as the store's. Released by the caller whatever it
 * returns.
 */
int pathprof_pinned_read(struct pathprof_pinned *ret_pinned, const char *file, bool weighed,
			 struct pathprof_error *error);
void pathprof_pinned_release(struct pathprof_pinned *pinned);
/*
 * The baseline for a build (its group) of a binary in a container, if there is one. error is filled
 * when names of another build cannot be read; there is no baseline then. Valid until the release.
 */
struct pathprof_baseline pathprof_pinned_baseline(struct pathprof_pinned *pinned, uint64_t group,
						  const char *binary, const char *container,
						  struct pathprof_error *error);

#endif
