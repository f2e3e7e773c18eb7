/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures of a sink in a row: since when, and why the last try failed, for the status report; and
 * how long to wait until the next try. No allocation; a structure of zeros has not failed.
 */
#ifndef PP_TELL_FAILURE_H
#define PP_TELL_FAILURE_H

#include "../../daemon/shared/tell.h"
#include "base/clock.h"

#define PP_TELL_FAILURE_WHY_MAX 200

struct pp_tell_failure {
	int64_t since_ns;                  /* CLOCK_REALTIME; 0: the last try did not fail */
	char why[PP_TELL_FAILURE_WHY_MAX]; /* printable ASCII without ';' */
};

/* A try failed. The text may have words of the other side in it. */
void pp_tell_failure_note(struct pp_tell_failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A try succeeded. */
void pp_tell_failure_end(struct pp_tell_failure *failure);
/* Fills why and failing_since_ns. */
void pp_tell_failure_show(const struct pp_tell_failure *failure, struct pp_tell_stats *stats);

/* CLOCK_MONOTONIC. */
static inline uint64_t pp_tell_now_us(void)
{
	return pp_monotonic_ns() / 1000;
}
/*
 * The pause after a failure: doubled each time up to a bound, then spread over the upper half, so
 * that a fleet whose receiver was away does not come back all at once. failed_cnt: tries in a row,
 * at least 1. The result is between half of first << (failed - 1) and all of it.
 */
uint64_t pp_tell_pause_us(uint64_t first_us, uint64_t most_us, uint32_t failed_cnt);

#endif
