/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the overhead budget that the source may spend. The budget is a share of all CPUs'
 * time for the whole service, and nobody knows beforehand what the daemon itself will need: so its
 * CPU time is owed first, and paid for by a smaller share of the source over the seconds that
 * follow. In the long run both together take what the budget has, whatever the daemon's share is.
 *
 *   owed       grows by the daemon's CPU time, falls by what the source was denied
 *   source     = budget - owed / 16 s, but not less than a quarter of the budget, so that a busy
 *              daemon never ends the profile; what it takes beyond that goes over the budget
 *   beginning  the source has seven eighths: a daemon in peace takes less than the rest
 *   step       an eighth of the budget: smaller changes are saved up, because to tell the source
 *              costs as well. A change goes half the way: the daemon's share is the average of
 *              what it does in bursts
 *   forgotten  debt beyond the whole budget of 45 seconds
 *
 * Called every two seconds. Pure arithmetic; one owner, the event loop.
 */
#ifndef PP_ALLOWANCE_H
#define PP_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct pp_allowance {
	unsigned int cpu_cnt;
	uint64_t budget_ppm, source_ppm; /* shares of all CPUs' time */
	uint64_t seen_ns, cpu_ns;        /* CLOCK_MONOTONIC, daemon's CPU time: at the last look */
	double owed_ns;                  /* below 0: paid ahead */
};

/* The CPU time that the daemon has used so far, cpu_ns, is never paid for. */
void pp_allowance_init(struct pp_allowance *allowance, uint64_t budget_ppm, unsigned int cpu_cnt,
		       uint64_t now_ns, uint64_t cpu_ns);
/* Sets another budget; source_ppm changes at once. */
void pp_allowance_set_budget(struct pp_allowance *allowance, uint64_t budget_ppm);
/* cpu_ns: the daemon's CPU time since its start. Returns whether source_ppm has changed. */
bool pp_allowance_look(struct pp_allowance *allowance, uint64_t now_ns, uint64_t cpu_ns);

#endif
