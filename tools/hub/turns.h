/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares one thread's time among several places that have work: each gets one piece done in turn,
 * and all pieces together take a fifth of the time at most.
 *
 * Workload: a piece is some 100 ms; 64 places. All zero: the turn of the first. One thread.
 */
#ifndef HUB_TURNS_H
#define HUB_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_turns {
	size_t next;            /* place whose turn it is */
	uint64_t rest_until_ns; /* CLOCK_MONOTONIC */
};

/* Returns true if the place had a piece of work, which is done now. */
typedef bool hub_turns_fn(void *context, size_t at);

bool hub_turns_rest(const struct hub_turns *turns, uint64_t now_ns);
/* Asks the places 0 to cnt - 1 in turn until one has a piece of work. Returns false if none has. */
bool hub_turns_work(struct hub_turns *turns, size_t cnt, hub_turns_fn *work, void *context);
/* Work lasted from begin_ns to end_ns: a rest of four times that follows. */
void hub_turns_spend(struct hub_turns *turns, uint64_t begin_ns, uint64_t end_ns);

#endif
