/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows that end later than now: the clock was set back after them. Lists of windows have them
 * behind the others (pathprof_store_windows()), and commands that show the last window say so.
 */
#ifndef CTL_FUTURE_H
#define CTL_FUTURE_H

#include "../ctl.h"

/* Prints a line for people if the filter selects such windows. */
void future_tell(struct pathprof_store *store, const struct pathprof_filter *filter);

#endif
