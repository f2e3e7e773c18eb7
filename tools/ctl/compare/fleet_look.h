/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each question of a fleet begins: the hosts that there are, in windows of one kind. */
#ifndef CTL_FLEET_LOOK_H
#define CTL_FLEET_LOOK_H

#include "pathprof/fleet.h"
#include "pathprof/store.h"

/*
 * Settles the kind of windows in filter, and lists hosts and builds. Fewer hosts than `least` are
 * refused: `why` ends the sentence that begins with how many there are. CTL_OK, or a status, said.
 * The caller's to release whatever it returns.
 */
int fleet_look(struct pathprof_fleet *ret_fleet, struct pathprof_store *store,
	       struct pathprof_filter *filter, const char *verb, size_t least, const char *why);

#endif
