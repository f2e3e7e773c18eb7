/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The step source beyond struct pp_source_ops: the stepper's process, which the service's clock
 * leaves out, and what tests and benchmarks ask for.
 */
#ifndef PP_SOURCE_STEP_H
#define PP_SOURCE_STEP_H

#include "../source.h"
#include "step.h"

/* The stepper is a plain child instead of this program executed again. */
#define PP_SOURCE_STEP_FORK 0x10000

/* Opens like pp_source_step.open, with flags PP_STEP_NO_* and PP_SOURCE_STEP_FORK. */
int pp_source_step_open(struct pp_source **ret_source, const struct pp_source_config *config,
			uint32_t flags, struct pathprof_error *error);
/* The stepper's process id; 0: there is none. */
pid_t pp_source_step_pid(const struct pp_source *source);
/* System calls that were started again since open. */
uint64_t pp_source_step_restarts(const struct pp_source *source);
/* Instructions stepped by the trap flag since open. */
uint64_t pp_source_step_singles(const struct pp_source *source);

#endif
