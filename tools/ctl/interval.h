/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a share may be off: the 95 % score interval of a proportion (E. B. Wilson, "Probable
 * inference, the law of succession, and statistical inference", JASA 22, 1927), which unlike the
 * textbook interval stays inside 0..1 and holds for rare paths.
 *
 * It takes its observations for independent. Paths of one burst follow one another and are not: a
 * burst in a loop is thirty times the same path. So what counts as an observation is a burst (the
 * widest a cluster sample can be), unless even fewer samples were seen.
 */
#ifndef CTL_INTERVAL_H
#define CTL_INTERVAL_H

#include <stdint.h>

struct interval {
	double low, high; /* 0..1 */
};

/* share (0..1) over so many independent observations; 0 of them: 0..1. */
struct interval interval_of_share(double share, uint64_t observations);
/* Half its width: what stands after the plus-minus sign. */

#endif
