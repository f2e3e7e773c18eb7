/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording of another tool, read whole into the branch profile of one binary. What takes long
 * says on standard error how far it is; what was left out is said there at the end.
 */
#ifndef CTL_EXPORT_RECORDING_H
#define CTL_EXPORT_RECORDING_H

#include "ctl.h"
#include "pathprof/branch_profile.h"
#include "pathprof/code.h"
#include "pathprof/graph.h"

/* CTL_USAGE and a line when options say what does not go with --recording, else CTL_OK. */
int export_recording_check(const struct ctl_options *options);
/* CTL_OK or CTL_FAILURE, said. The profile is initialised, and not settled yet. */
int export_recording(const struct ctl_options *options, struct pathprof_code *code,
		     const struct pathprof_graph *graph, struct pathprof_branch_profile *profile);

#endif
