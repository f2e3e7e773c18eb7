/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a thread runs from one of its waits to the next. The kernel counts its voluntary
 * switches, each stop of ours among them: so these are counted here, for some hundred threads,
 * direct-mapped. Where a thread's count was overwritten, or another stepper made it, our stops seem
 * to be its own waits, and it is held more briefly than need be. The stepper's one thread owns it.
 */
#include "step_engine.h"

static struct stops {
	pid_t tid;
	uint64_t start_time; /* of its process */
	uint64_t cnt;
} known_stops[512];

static struct stops *stops_of(const struct pp_step_target *target)
{
	struct stops *stops = &known_stops[(uint32_t)target->tid % 512];

	if (stops->tid != target->tid || stops->start_time != target->start_time)
		*stops = (struct stops){target->tid, target->start_time, 0};
	return stops;
}

void pp_step_add_stops(const struct pp_step_target *target, uint64_t cnt)
{
	stops_of(target)->cnt += cnt;
}

uint64_t pp_step_run_ns(const struct pp_step_target *target, uint64_t switches)
{
	uint64_t ours = stops_of(target)->cnt;

	return switches > ours ? pp_step_cpu_ns(target->pid, target->tid) / (switches - ours) : 0;
}
