/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of windows: whole into the ring (RAW), or through the core's chain, whose messages
 * go there (CHAIN).
 */
#ifndef PATHPROF_KMOD_PIPELINE_H
#define PATHPROF_KMOD_PIPELINE_H

#include "pathprof/kmod_abi.h"

/* Process context, nothing runs. -EINVAL, -ENOMEM. */
int pp_pipeline_alloc(const struct pathprof_kmod_start *start);
void pp_pipeline_free(void);

/* Process context, nothing runs any more: each online CPU writes out what its tables hold. */
void pp_pipeline_drain_all(void);

/*
 * A window of the current thread: its branches lie right behind the burst. Interrupts off, not in
 * an NMI; the session takes it.
 */
void pp_pipeline_burst(const struct pathprof_burst *burst, const struct pathprof_branch *branches);

#endif
