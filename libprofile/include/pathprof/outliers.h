/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Which members of a group (hosts that run the same program) behave otherwise than the rest?
 *
 * Members always differ, so chance alone is the wrong yardstick: with samples enough each of them
 * differs from the rest beyond chance. How much an event's share scatters is therefore taken from
 * the group itself. For member h with n samples, event i, its share p, and the share m that the
 * rest gives it,
 *
 *     T = 1/k sum over k events of (p - m)^2 / (m (1 - m) / n + s^2)
 *
 * with s^2 the variance of the event's share over members, by the median of their distances, less
 * what chance makes of it; at least as great, relative to m, as is typical of the group's events.
 * Events with fewer than five samples a member are taken together, and m (1 - m) is that of such an
 * event at least, also where m is nearly 1. What T is among members that behave alike depends on
 * how samples come (bursts, few events), so that is seen from the group, too: log T is taken for
 * normal, its mean from the median and its deviation from the upper half, among members with about
 * as many samples. Outliers are those whose chance p Benjamini and Hochberg's procedure rejects (J.
 * R. Stat. Soc. B 57, 1995): of what is named so, the share given by false_discoveries is expected
 * to be wrong. docs/fleet.md has what this gives in simulation.
 *
 * It therefore finds a few among many: if half of a group behaves differently, it names none.
 *
 * Workload: a thousand members of a thousand events, once a question: 0.1 s and 16 bytes an event
 * and member. Pure arithmetic, no state; any thread.
 */
#ifndef PATHPROF_OUTLIERS_H
#define PATHPROF_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/distribution.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With fewer, how members scatter cannot be seen. */
#define PATHPROF_OUTLIERS_MEMBERS_MIN 20

struct pathprof_outlier {
	double samples;  /* independent ones: fewer than were counted where they come in bursts */
	double distance; /* T; about 1 for a member that behaves like the rest */
	double chance;   /* of such a distance, had it behaved like the rest: 0..1 */
	bool found;      /* it is an outlier */
};

/*
 * ret_outliers has cnt entries, in the order of the members. false_discoveries: 0..0.5, as 0.05.
 * Members' weights are numbers of samples (distribution.h). -ENODATA: fewer than
 * PATHPROF_OUTLIERS_MEMBERS_MIN, or fewer than two events with samples enough; -EDOM: a member is
 * empty or does not count samples; -EINVAL: false_discoveries; -ENOMEM.
 */
int pathprof_outliers_find(struct pathprof_outlier *ret_outliers,
			   const struct pathprof_distribution *const *members, size_t cnt,
			   double false_discoveries);

#ifdef __cplusplus
}
#endif

#endif
