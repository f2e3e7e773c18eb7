/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long to wait after a failure: doubled each time up to a bound, then spread over the upper
 * half, so that a fleet whose receiver was away does not come back all at once. No state.
 */
#ifndef PP_TELL_PAUSE_H
#define PP_TELL_PAUSE_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t pp_tell_now_us(void);
/* failed_cnt: tries in a row, at least 1. Between half of first << (failed - 1) and all of it. */
uint64_t pp_tell_pause_us(uint64_t first_us, uint64_t most_us, uint32_t failed_cnt);

#endif
