/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where "the last five minutes" end, of a database that may be a recording of last week. */
#ifndef CTL_SPAN_H
#define CTL_SPAN_H

#include <stdint.h>

#include <pathprof/store.h>

/*
 * When the last length_ns of a database end, CLOCK_REALTIME: now, or, where no window lies in the
 * last length_ns, when the newest window ends; *ret_past says which.
 */
int64_t span_end_ns(struct pathprof_store *store, int64_t length_ns, bool *ret_past);

#endif
