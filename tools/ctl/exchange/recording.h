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
/* Prints remarks of the recording about itself. */
void recording_tell(const char *name, const struct pathprof_recording *recording);
/* Returns CTL_LOSS if more was left out than --max-loss, after a message that also says what became
 * of the rest. */
int recording_tell_loss(const struct ctl_options *options, const struct pathprof_ledger *ledger,
			const char *rest);

#endif
