/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loss of each of several profiles when one is relied on for all: relative entropy from
 * the combined profile, by every method of combining (pathprof/combine.h), so that the choice of
 * one is seen and not hidden. Workload: four combinations, once a command. One thread.
 */
#ifndef CTL_COMBINE_LOSSES_H
#define CTL_COMBINE_LOSSES_H

#include <stdio.h>

#include "pathprof/combine.h"

struct combine_losses {
	/* Bits, by input and method; NAN: the method does not accept these inputs. */
	double bits[PATHPROF_COMBINE_MAX][PATHPROF_COMBINE_CNT];
	size_t input_cnt;
};

/* branches as pathprof_combine() has it. -errno. */
int combine_losses_measure(struct combine_losses *ret_losses,
			   const struct pathprof_distribution *const *inputs, size_t input_cnt,
			   bool branches);
/* A table, a row an input, `words` their names; the column of the method that was chosen is marked.
 */
void combine_losses_print(const struct combine_losses *losses, const char *const *words,
			  enum pathprof_combine_method chosen, FILE *out);

#endif
