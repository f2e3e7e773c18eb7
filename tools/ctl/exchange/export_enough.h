/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a profile has seen enough of a program for the compiler that will read it: one verdict a
 * format, from that compiler's results with more and more bursts of six programs (docs/pgo.md).
 */
#ifndef CTL_EXPORT_ENOUGH_H
#define CTL_EXPORT_ENOUGH_H

#include "pathprof/branch_profile.h"
#include "pathprof/format.h"
#include "pathprof/graph.h"

/* A note with the verdict. Nothing where the format is for people. */
void tell_enough(enum pathprof_format format, const struct pathprof_branch_profile *profile,
		 const struct pathprof_graph *graph);

#endif
