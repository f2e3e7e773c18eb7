/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A frequency profile seen as a probability distribution (Savari and Young, *Comparing and
 * Combining Profiles*, 2000, section 2; here CCP): what compare.h, combine.h and drift.h work on.
 *
 * An *event* is whatever is counted: an edge, a branch with its direction, a path, a call with its
 * target. To this library it is an opaque key of 128 bits and a weight. Two conventions, each
 * needed by some functions only, which say so:
 *
 *     branch profile     the lowest bit of key_lo is the direction (1: taken), the rest the branch
 *     grouped profile    key_hi is the function (or file) that an event belongs to
 *
 * Workload: two profiles of up to a million events each, compared once a window or a command. So
 * events are sorted arrays and every function is one or two linear merges without allocation,
 * unless it says otherwise.
 *
 * Arithmetic: weights are double: counts up to 2^53 are exact, those beyond are off by one part in
 * 10^16. Sums are long double (64 bits of fraction), so a million terms lose less than 10^-13 of
 * the sum of their magnitudes.
 *
 * Ownership: a distribution borrows its events; they must outlive it and stay as they are.
 * Read-only once made: any number of threads may use it.
 */
#ifndef PATHPROF_DISTRIBUTION_H
#define PATHPROF_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_event {
	uint64_t key_hi, key_lo;
	double weight; /* >= 0; 0: known, but not touched */
	/*
	 * Sum over independent observations (bursts of branches) of the square of what each added
	 * to the weight: it is worth weight^2 / squares independent samples. 0: not known.
	 */
	double squares;
};

struct pathprof_distribution {
	const struct pathprof_event *events; /* keys strictly ascending: key_hi, then key_lo */
	size_t cnt;
	size_t touched_cnt; /* of weight above 0 */
	long double total;  /* of all weights; 0: an empty profile */
	/*
	 * Weights are numbers of samples, so the effect of chance can be computed. Set by
	 * pathprof_distribution_init() if every weight is a whole number below 2^53; a caller that
	 * weighs samples by their worth (below) sets it itself.
	 */
	bool counted;
	bool clustered;      /* squares are known of all that was touched */
	long double squares; /* of all events; 0 unless clustered */
};

/* The greatest weight an event may have: 2^64. */
#define PATHPROF_WEIGHT_MAX 18446744073709551616.0

/* The same event seen elsewhere: adds up. */
static inline void pathprof_event_add(struct pathprof_event *to, const struct pathprof_event *event)
{
	bool known = (to->squares > 0 || !(to->weight > 0)) &&
		     (event->squares > 0 || !(event->weight > 0));

	to->squares = known ? to->squares + event->squares : 0;
	to->weight += event->weight;
}

/*
 * The worth of samples with unequal weights, as windows that the clock weighed have them. Each
 * member is a sum over all events: of samples and of weight, and over events and bursts of the
 * square of what a burst adds to each.
 */
struct pathprof_worth {
	double samples, squares;
	double weight, weight_squares;
};

/*
 * How many samples of equal weight one of them is worth: Kish's effective size, the square of a sum
 * over its sum of squares (Survey Sampling, 1965), by weight over that by number. 1 when all
 * count alike, or when a sum is 0 (not known). Weights times this and samples / weight are numbers
 * of samples.
 */
double pathprof_worth_of_sample(const struct pathprof_worth *worth);

/* -1, 0, 1: the order of keys. */
int pathprof_event_order(const struct pathprof_event *a, const struct pathprof_event *b);

/*
 * Puts events into order and adds up those with the same key. *cnt: before and after. -EDOM and
 * -ERANGE as below; the events may be in another order then.
 */
int pathprof_events_sort(struct pathprof_event *events, size_t *cnt);

/*
 * Checks and sums up. No event, or only untouched ones, is an empty profile and no error here.
 * -EDOM: a weight that is negative or not a number; -ERANGE: one above PATHPROF_WEIGHT_MAX;
 * -EEXIST: a key that comes twice; -EINVAL: keys out of order.
 */
int pathprof_distribution_init(struct pathprof_distribution *ret_distribution,
			       const struct pathprof_event *events, size_t cnt);

/*
 * How many independent samples a distribution of samples is worth: those that come in bursts are
 * worth their part of one, as far as squares are known. 0 of an empty one.
 */
double pathprof_independent_samples(const struct pathprof_distribution *distribution);

/*
 * Entropy in bits, -sum p log2 p: the bits an event costs in the best code, so low entropy is good
 * locality (CCP 2.1). 0 of an empty profile.
 */
double pathprof_entropy_bits(const struct pathprof_distribution *distribution);

#ifdef __cplusplus
}
#endif

#endif
