/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one of pathprof's units, from systemctl(1) show. Members are NULL or 0 if systemctl
 * does not print them.
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

/* Returns whether systemd answers. The caller releases *ret_unit either way. */
bool unit_read(struct unit *ret_unit, const char *name);
void unit_release(struct unit *unit);

/* Whether it starts for the first time: nothing has ended yet. */
bool unit_is_starting(const struct unit *unit);
/* For a unit that is not active: its state; and its last line with how it ended, which the caller
 * frees. */
const char *unit_down(const struct unit *unit);
char *unit_last_words(const struct unit *unit);

#endif
