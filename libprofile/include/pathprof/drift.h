/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Whether a program's behaviour has changed. A window of samples against a baseline of samples.
 *
 * Plain relative entropy between samples is never 0, even when nothing changed: chance alone makes
 * it about (k - 1)/2 (1/N + 1/M) / ln 2 bits for k events and N and M samples, and more when many
 * events were seen once or never. The effect of chance is worked out from the samples themselves:
 * had nothing changed, window and baseline would be a random split of their sum, so the mean of D
 * over all such splits is known, smoothing and unseen events included. docs/drift.md derives it and
 * shows by simulation that it holds.
 *
 * Workload: a few hundred binaries a window (a minute), some hundred to some ten thousand events
 * each. Without bootstrap one measurement costs a few merges and some logarithms for each different
 * count. Ownership: distributions are borrowed during a call. No state, no I/O, no clock: the same
 * input gives the same figures to the last bit.
 */
#ifndef PATHPROF_DRIFT_H
#define PATHPROF_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/compare.h"
#include "pathprof/distribution.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_drift_settings {
	double epsilon;    /* of pathprof_relative_entropy(); 0: the default */
	double confidence; /* of the interval, both ends together: 0.5..0.9999 */
	/*
	 * By how much the counts scatter more (a variance ratio, 1..1000) than those of independent
	 * observations: of bursts where both distributions are clustered, else of samples. Paths
	 * out of one burst are not independent: with m of them a burst it is at most m samples'.
	 * Bias and interval grow with it.
	 */
	double dispersion;
	/*
	 * How many different events a burst has on average (1..1000): they come and go together, so
	 * the interval grows with it.
	 */
	double companions;
	uint32_t replicates; /* of the bootstrap; 0: the normal interval, far cheaper */
	uint64_t seed;
	bool branches; /* branch profiles: conflict and accuracy as well */
};
/* 99 %, independent samples, 200 replicates, seed 1. */
extern const struct pathprof_drift_settings pathprof_drift_defaults;

/* Above this many events the interval is the normal one: a sum of so many is nearly normal. */
#define PATHPROF_DRIFT_BOOTSTRAP_EVENTS_MAX 65536

struct pathprof_drift {
	double window_samples, baseline_samples;
	double kl_bits;      /* plain D(window || baseline) */
	double null_bits;    /* what it would be on average had nothing changed: its bias */
	double null_sd_bits; /* its standard deviation, likewise */
	/* If nothing changed, kl_bits is greater than this in (1 - confidence) / 2 of windows. */
	double null_limit_bits;
	double kl_corrected_bits; /* kl - null; around 0, so at times below, when nothing changed */
	/*
	 * The interval of the corrected figure, low >= 0. low is 0 unless kl_bits exceeds
	 * null_limit_bits: then that nothing changed cannot be excluded.
	 */
	double kl_low_bits, kl_high_bits;
	double entropy_bits; /* of the window */
	double overlap, angle_degrees;
	struct pathprof_coverage coverage;          /* of events */
	struct pathprof_branch_comparison branches; /* zero unless asked for */
};

/*
 * Both must be counts of samples (distribution.counted; at most 2^53 in all), else -EDOM. -ENODATA:
 * either is empty; -EINVAL: settings out of range; -ERANGE: epsilon; -ENOMEM.
 */
int pathprof_drift_measure(struct pathprof_drift *ret_drift,
			   const struct pathprof_distribution *window,
			   const struct pathprof_distribution *baseline,
			   const struct pathprof_drift_settings *settings);

/*
 * The term that one event adds to plain D: bits, p log2(p / q), may be negative; moved_bits,
 * p log2(p / q) - (p - q) / ln 2, never is; either adds up to D over all events.
 */
struct pathprof_drift_term {
	uint64_t key_hi, key_lo;
	double p, q; /* shares of window and baseline, q as smoothed */
	double bits, moved_bits;
};

/*
 * The cnt terms of greatest moved_bits, greatest first, equal ones by key. *ret_cnt: how many there
 * are (at most cnt). Errors as pathprof_relative_entropy().
 */
int pathprof_drift_terms(struct pathprof_drift_term *ret_terms, size_t cnt, size_t *ret_cnt,
			 const struct pathprof_distribution *window,
			 const struct pathprof_distribution *baseline, double epsilon);

/*
 * Sets dispersion and companions from what is known of bursts: samples_per_burst (1: independent
 * ones), and seen, pathprof_drift_believed_dispersion() (0: it could not tell). If nothing was
 * seen, bursts of clustered distributions are taken to be independent, and all samples of a burst
 * of other distributions to be alike.
 */
void pathprof_drift_set_bursts(struct pathprof_drift_settings *settings,
			       const struct pathprof_distribution *window,
			       const struct pathprof_distribution *baseline,
			       double samples_per_burst, double seen);

/*
 * Dispersion from windows during which nothing should have changed: Pearson's chi-square over its
 * degrees of freedom, squares taken into account where all are clustered, events with less than
 * five samples a window on average taken together; at least 1. -ENODATA when fewer than two windows
 * have samples or fewer than two events are left; -EINVAL for more than 64 windows.
 */
int pathprof_drift_dispersion(const struct pathprof_distribution *const *windows, size_t cnt,
			      double *ret_dispersion);
/*
 * The same with its degrees of freedom, which say how sure it is: by chance alone it is off by some
 * sqrt(2 / degrees) of itself.
 */
int pathprof_drift_dispersion_degrees(const struct pathprof_distribution *const *windows,
				      size_t cnt, double *ret_dispersion, double *ret_degrees);
/*
 * The dispersion to reckon with, where one was measured with so many degrees of freedom (0: none
 * was). Few of them are mostly chance. Of clustered counts (it is known which samples came in one
 * burst) it should be 1, that of independent bursts, and what was measured outweighs this only as
 * its degrees grow. That of others is 0, unknown, below a hundred degrees, and then its upper end.
 */
double pathprof_drift_believed_dispersion(double seen, double degrees, bool clustered);

#ifdef __cplusplus
}
#endif

#endif
