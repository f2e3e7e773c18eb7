/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The geometric mean of several profiles whose greatest relative entropy to any of them is least:
 * of two, their Chernoff point. pathprof/combine.h says what it is and how it is found.
 */
#ifndef PP_CHERNOFF_H
#define PP_CHERNOFF_H

#include "pathprof/combine.h"

/*
 * Sets the weights of events[cnt], which is the union of the inputs, and lambda, distance and gap.
 * weights[event * input_cnt + input] is written over: its room serves for the logarithms. -ENOMEM.
 */
int pp_chernoff(struct pathprof_event *events, double *weights, size_t cnt,
		const struct pathprof_distribution *const *inputs, size_t input_cnt,
		struct pathprof_combined *combined);

#endif
