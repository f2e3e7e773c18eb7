/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures of a sink in a row, for its account of itself: since when, and why the last try failed.
 * No allocation; a structure of zeros has not failed.
 */
#ifndef PP_TELL_FAILURE_H
#define PP_TELL_FAILURE_H

#include "../tell/tell.h"

#define PP_TELL_FAILURE_WHY_MAX 200

struct pp_tell_failure {
	int64_t since_ns;                  /* CLOCK_REALTIME; 0: the last try did not fail */
	char why[PP_TELL_FAILURE_WHY_MAX]; /* printable ASCII without ';' */
};

/* A try failed. Words of the other side may be in the text. */
void pp_tell_failure_note(struct pp_tell_failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A try did not fail. */
void pp_tell_failure_end(struct pp_tell_failure *failure);
/* Fills why and failing_since_ns. */
void pp_tell_failure_show(const struct pp_tell_failure *failure, struct pp_tell_stats *stats);

#endif
