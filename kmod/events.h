/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One perf event a CPU for the session's source, CPUs that come and go included. Process context;
 * the caller lets one in at a time.
 */
#ifndef PATHPROF_KMOD_EVENTS_H
#define PATHPROF_KMOD_EVENTS_H

#include "source.h"

/* Call when the module is loaded: registers for CPUs that come and go. */
int pp_events_init(void);
void pp_events_exit(void);

/* On error some may be open: close() closes them. */
int pp_events_open(const struct pathprof_kmod_start *start, const struct pp_source_ops *source);

/* When it returns no handler of theirs runs any more. */
void pp_events_close(void);

#endif
