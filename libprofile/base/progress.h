/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Decides when a command that takes long reports its progress. Any thread. */
#ifndef PP_BASE_PROGRESS_H
#define PP_BASE_PROGRESS_H

#include <stdint.h>

/* The time before the first report: two seconds, or $PATHPROF_PROGRESS_SECONDS, of which 10^6 are
 * the most. */
uint64_t pp_progress_after_ns(void);

#endif
