/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common part of import and export --recording: opening a recording, and the report about it.
 */
#ifndef CTL_RECORDING_H
#define CTL_RECORDING_H

#include "../ctl.h"
#include "pathprof/ledger.h"
#include "pathprof/recording.h"

/* "-": standard input. Negative errno, error filled. */
int recording_open(const char *name, int *ret_fd, struct pathprof_error *error);
/* Remarks of the recording about itself that one should know. */
void recording_tell(const char *name, const struct pathprof_recording *recording);
/* CTL_LOSS, said, when more was left out than --max-loss; what became of the rest is said as well.
 */
int recording_tell_loss(const struct ctl_options *options, const struct pathprof_ledger *ledger,
			const char *rest);

#endif
