// SPDX-License-Identifier: GPL-2.0-or-later
/* How many CPUs programs keep busy: see busy.h. Source: this project. */
#include "busy.h"

#include <math.h>

#define LEAST_CPUS 0.2
#define BEGIN_CPUS 1.0
#define WEIGHT_NEW 0.5
/* Smaller changes are not worth a message. */
#define CHANGE_MIN 0.1

static double bounded(const struct pp_busy *busy, double cpus)
{
	return fmin(fmax(cpus, LEAST_CPUS), busy->cpu_cnt);
}

void pp_busy_init(struct pp_busy *busy, unsigned int cpu_cnt, uint64_t now_ns)
{
	*busy = (struct pp_busy){
		.cpu_cnt = cpu_cnt, .cpus = BEGIN_CPUS, .told = BEGIN_CPUS, .seen_ns = now_ns};
}

bool pp_busy_look(struct pp_busy *busy, uint64_t now_ns, uint64_t user_ns)
{
	const uint64_t new_ns = user_ns > busy->user_ns ? user_ns - busy->user_ns : 0;
	double cpus;

	if (now_ns <= busy->seen_ns)
		return false;
	cpus = (double)new_ns / (double)(now_ns - busy->seen_ns);
	busy->seen_ns = now_ns;
	busy->user_ns = user_ns;
	busy->cpus = bounded(busy, busy->cpus + WEIGHT_NEW * (cpus - busy->cpus));
	if (fabs(busy->cpus - busy->told) <= CHANGE_MIN * busy->told)
		return false;
	busy->told = busy->cpus;
	return true;
}

uint64_t pp_busy_share(const struct pp_busy *busy, uint64_t share_ppm)
{
	return (uint64_t)lround((double)share_ppm * busy->cpus / busy->cpu_cnt);
}
