/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times and spans as journalctl takes them (systemd.time(7), its "PARSING TIME SPANS" and
 * "PARSING TIMESTAMPS"): "2026-11-21", "2026-11-21 10:00:30", "10:00" (today), now, today,
 * yesterday, tomorrow, "-5min", "+1h", "1h 30min ago", "@1763719200". A date or time is local
 * unless "UTC" or "Z" follows it; the today of "10:00 UTC" is that of UTC as well.
 */
#ifndef CTL_WHEN_H
#define CTL_WHEN_H

#include <stdint.h>

/* -EINVAL when text is no time, -ERANGE when it is none that 64 bits of nanoseconds can hold. */
int when_parse(const char *text, int64_t now_ns, int64_t *ret_ns);
/* Parses a span as pp_span_parse() does (base/units.h). */
int when_parse_span(const char *text, int64_t *ret_ns);

#endif
