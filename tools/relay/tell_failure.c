// SPDX-License-Identifier: GPL-2.0-or-later
/* Failures of a sink in a row, and pauses between tries: see tell_failure.h. */
#include "tell_failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

void pp_tell_failure_note(struct pp_tell_failure *failure, const char *format, ...)
{
	va_list arguments;

	if (!failure->since_ns)
		failure->since_ns = pp_realtime_ns();
	va_start(arguments, format);
	vsnprintf(failure->why, sizeof(failure->why), format, arguments);
	va_end(arguments);
	/* a newline would begin another assignment of systemd's, and ';' ends a sink's part of the
	 * status */
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

uint64_t pp_tell_pause_us(uint64_t first_us, uint64_t most_us, uint32_t failed_cnt)
{
	uint64_t pause_us = first_us, chance = 0;

	for (uint32_t i = 1; i < failed_cnt && pause_us < most_us; i++)
		pause_us *= 2;
	if (pause_us > most_us)
		pause_us = most_us;
	/* early at boot there may be no random numbers: then the pause is not spread, which only
	 * costs the receiver */
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != (ssize_t)sizeof(chance))
		return pause_us;
	return pause_us - chance % (pause_us / 2 + 1);
}
