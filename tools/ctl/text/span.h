/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of "the last five minutes", in a database that may be a recording of last week. */
#ifndef CTL_SPAN_H
#define CTL_SPAN_H

#include <stdint.h>

#include <pathprof/store.h>

/*
 * When the last length_ns of a database end, CLOCK_REALTIME: when its newest window does, so that
 * a recording that is over shows the same at any time; now, where it has none. Windows that end
 * later than now, which a clock wrote that was ahead, count only where there are no others.
 * *ret_past: no window lies in the length_ns before now.
 */
int64_t span_end_ns(struct pathprof_store *store, int64_t length_ns, bool *ret_past);

#endif
