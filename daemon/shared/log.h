/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon's log for its operator: to the journal, with fields, when systemd connected standard
 * error to it; else one line `PROGRAM: ...` on standard error. Never on standard output. Control
 * characters (names of files have some that make a line look like two) become blanks.
 *
 * Workload: a few lines an hour; whoever may say the same thing often asks pp_log_once first.
 * One thread (the event loop); init before the first line.
 */
#ifndef PP_LOG_H
#define PP_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

/* Finds out where lines go. most: least important priority that is still shown (LOG_INFO). */
void pp_log_init(int most);
/* The program's name in its lines: a constant, "pathprofd" unless set. */
void pp_log_set_program(const char *name);

/* priority as syslog(3): LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG. */
void pp_log(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Which errors of one kind have been reported: a bit an errno. All zero: none. */
struct pp_log_seen {
	uint64_t bits[4];
};

/* true the first time code (an errno, either sign) is passed since seen was zeroed. */
bool pp_log_once(struct pp_log_seen *seen, int code);
bool pp_log_any(const struct pp_log_seen *seen);

#endif
