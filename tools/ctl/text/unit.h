/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What systemd says of a unit of pathprof's, by systemctl(1) show. Members are NULL or 0 where it
 * says nothing.
 */
#ifndef CTL_UNIT_H
#define CTL_UNIT_H

#include <stdbool.h>

#define UNIT_SERVICE "pathprofd.service"
#define UNIT_RELAY   "pathprof-relay.service"

struct unit {
	char *load, *active, *sub, *result, *status, *network, *text;
	long pid, restarts;
};

/* Whether systemd answers. The caller releases *ret_unit either way. */
bool unit_read(struct unit *ret_unit, const char *name);
void unit_release(struct unit *unit);

/* It comes up for the first time: nothing has ended yet. */
bool unit_is_starting(const struct unit *unit);
/* Of one that is not active: what it is instead, and what it said last with how it ended. The
 * latter is the caller's to free. */
const char *unit_down(const struct unit *unit);
char *unit_last_words(const struct unit *unit);

#endif
