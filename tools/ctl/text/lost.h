/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that were lost because pathprofd did not read them in time: the drops `queue-full` of a
 * window. Figures are of the other samples, so commands that print figures report the loss if it is
 * more than a hundredth.
 */
#ifndef CTL_LOST_H
#define CTL_LOST_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/profile.h"

struct lost {
	uint64_t read_cnt; /* clock samples of the windows, or bursts where no clock ran */
	uint64_t lost_cnt;
};

/* Adds a window. */
void lost_add(struct lost *sum, const struct pathprof_totals *window);
/* The lost part of all samples; 0 if at most a hundredth, which is not reported. */
double lost_share(const struct lost *lost);
/* "8220 samples (29.1%) were lost, for ..."; "" if that is not reported. Returns text. */
const char *lost_text(char *text, size_t text_size, const struct lost *lost);

#endif
