// SPDX-License-Identifier: GPL-2.0-or-later
/* An account of CPU time: see pace.h. Source: this project. */
#include "pace.h"

#include "base/clock.h"

#define SHARE_LEAST_PPM 50000u
#define SHARE_CPU_PPM   10000u
#define SHARE_MOST_PPM  500000u

void pp_pace_init(struct pp_pace *pace, unsigned int cpu_cnt, uint64_t now_ns)
{
	uint64_t share_ppm = (uint64_t)cpu_cnt * SHARE_CPU_PPM;

	if (share_ppm < SHARE_LEAST_PPM)
		share_ppm = SHARE_LEAST_PPM;
	if (share_ppm > SHARE_MOST_PPM)
		share_ppm = SHARE_MOST_PPM;
	*pace = (struct pp_pace){
		.filled_ns = now_ns,
		.left_ns = PP_PACE_SAVED_NS,
		.share_ppm = share_ppm,
	};
}

int64_t pp_pace_left(struct pp_pace *pace, uint64_t now_ns)
{
	const uint64_t full_ns = (uint64_t)(PP_PACE_SAVED_NS - pace->left_ns);
	uint64_t passed_ns = now_ns > pace->filled_ns ? now_ns - pace->filled_ns : 0;
	uint64_t gained_ns;

	/* what is more than a day cannot overflow the product below */
	if (passed_ns > UINT64_C(86400000000000))
		passed_ns = UINT64_C(86400000000000);
	gained_ns = passed_ns / 1000 * pace->share_ppm / 1000;
	/* less than a nanosecond, or a microsecond of time, is not lost: it counts with the next */
	if (!gained_ns)
		return pace->left_ns;
	pace->filled_ns = now_ns - passed_ns % 1000;
	pace->left_ns += (int64_t)(gained_ns < full_ns ? gained_ns : full_ns);
	return pace->left_ns;
}

uint64_t pp_pace_due(const struct pp_pace *pace, int64_t wanted_ns)
{
	if (pace->left_ns >= wanted_ns)
		return pace->filled_ns;
	return pace->filled_ns +
	       (uint64_t)(wanted_ns - pace->left_ns) * 1000 / pace->share_ppm * 1000;
}

void pp_pace_pay(struct pp_pace *pace, uint64_t spent_ns)
{
	pace->left_ns -= (int64_t)spent_ns;
	pace->spent_ns += spent_ns;
}

bool pp_pace_start(struct pp_pace *pace)
{
	if (pace->started_ns)
		return false;
	pace->started_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return true;
}

void pp_pace_stop(struct pp_pace *pace)
{
	uint64_t cpu_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (cpu_ns > pace->started_ns)
		pp_pace_pay(pace, cpu_ns - pace->started_ns);
	pace->started_ns = 0;
}
