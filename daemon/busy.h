/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many CPUs programs keep busy, by the user code that they run. A source that holds
 * threads may hold them for a share of that, not of all CPUs' time: on a machine with 64 CPUs of
 * which one works, half a percent of all CPUs' time would be a third of that program's.
 *
 *   measured   anew every two seconds, and averaged with what was known: a load that comes or goes
 *              is followed in some seconds
 *   least      a fifth of a CPU, so that a machine at rest is seen at all
 *   beginning  one CPU, and for good where nobody knows what programs run
 *
 * A thread that is held is not seen running: a share of what is seen is a share of the time that is
 * left to programs, so a program loses share / (1 + share) of its time at most.
 *
 * Called every two seconds. Pure arithmetic; one owner, the event loop.
 */
#ifndef PP_BUSY_H
#define PP_BUSY_H

#include <stdbool.h>
#include <stdint.h>

struct pp_busy {
	unsigned int cpu_cnt;
	double cpus;               /* now */
	double told;               /* the number that the source was told last */
	uint64_t seen_ns, user_ns; /* CLOCK_MONOTONIC, and user code so far: at the last look */
};

void pp_busy_init(struct pp_busy *busy, unsigned int cpu_cnt, uint64_t now_ns);
/* user_ns: all user code so far. True: much has changed since it was last true, tell the source. */
bool pp_busy_look(struct pp_busy *busy, uint64_t now_ns, uint64_t user_ns);
/* Converts a share of the busy CPUs' time to a share of all CPUs' time. */
uint64_t pp_busy_share(const struct pp_busy *busy, uint64_t share_ppm);

#endif
