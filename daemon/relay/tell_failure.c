// SPDX-License-Identifier: GPL-2.0-or-later
/* Failures of a sink in a row: see tell_failure.h. */
#include "tell_failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

void pp_tell_failure_note(struct pp_tell_failure *failure, const char *format, ...)
{
	struct timespec now;
	va_list arguments;

	if (!failure->since_ns) {
		clock_gettime(CLOCK_REALTIME, &now);
		failure->since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	va_start(arguments, format);
	vsnprintf(failure->why, sizeof(failure->why), format, arguments);
	va_end(arguments);
	/* a line end would begin another of systemd's, and ';' ends a sink's account */
	for (char *c = failure->why; *c; c++)
		if (*c < ' ' || *c > '~' || *c == ';')
			*c = '?';
}

void pp_tell_failure_end(struct pp_tell_failure *failure)
{
	failure->since_ns = 0;
}

void pp_tell_failure_show(const struct pp_tell_failure *failure, struct pp_tell_stats *stats)
{
	stats->why = failure->since_ns ? failure->why : NULL;
	stats->failing_since_ns = failure->since_ns;
}
