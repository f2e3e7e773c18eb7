/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common part of verbs that ask about a fleet: which hosts ran the heaviest programs in which
 * way. */
#ifndef CTL_FLEET_LOOK_H
#define CTL_FLEET_LOOK_H

#include "../ctl.h"
#include "../view/listing.h"
#include "pathprof/fleet.h"
#include "pathprof/store.h"

struct fleet_question {
	const struct ctl_options *options;
	struct pathprof_store *store;
	struct pathprof_filter filter; /* windows of one kind, after fleet_ask() */
	struct pathprof_fleet fleet;
	struct pathprof_fleet_groups groups;
	struct listing listing;
};

/*
 * Opens the database and loads the hosts of the heaviest programs, ten unless the options say how
 * many; a terminal is told how far it is after two seconds. Fewer hosts than `least` are refused:
 * `why` ends the sentence that begins with how many there are. CTL_OK, or a status, said. The
 * caller's to release whatever it returns.
 */
int fleet_ask(struct fleet_question *q, const struct ctl_options *options, const char *verb,
	      size_t least, const char *why);
void fleet_question_release(struct fleet_question *q);

#endif
