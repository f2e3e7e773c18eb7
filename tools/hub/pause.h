/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses between tries that fail: ten seconds after the first, twice as long after each, a quarter
 * of an hour at most. All zero: nothing failed. One thread.
 */
#ifndef HUB_PAUSE_H
#define HUB_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

struct hub_pause {
	uint64_t wait_ns, until_ns; /* CLOCK_MONOTONIC; wait_ns 0: the last try did not fail */
};

/* A try failed. Returns true if the one before did not, so that it is to be reported. */
bool hub_pause_begin(struct hub_pause *pause, uint64_t now_ns);
/* Returns true if the next try is to wait. */
bool hub_pause_is_on(const struct hub_pause *pause, uint64_t now_ns);
/* A try did not fail. */
void hub_pause_end(struct hub_pause *pause);

#endif
