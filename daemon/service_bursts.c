// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether bursts come, and how often the budget earns one.
 *
 * Bursts may stay away although programs run. User time is counted whatever becomes of the source
 * (service_costs.c), so a source that is up and blind shows here: its samples fail, or each is
 * passed over.
 *
 * A source that pays for its bursts one by one saves for the next: a small budget sees little on a
 * slow machine. Status tells how little, and the log once, with the budget that would see more.
 */
#include "service_state.h"

#define SELDOM_S 30.0

double pp_service_burst_every_s(const struct pp_service *service)
{
	double share = (double)pp_service_source_ppm(service) / 1e6 * service->cpu_cnt;

	return share > 0 ? (double)service->source_seen.burst_ns / 1e9 / share : 0;
}

void pp_service_warn_price(struct pp_service *service)
{
	double every_s = pp_service_burst_every_s(service);
	double percent = (double)service->config.overhead_ppm / 1e4;
	double source_percent = (double)service->allowance.source_ppm / 1e4;
	/* the daemon's part stays what it is */
	double wanted_percent = percent - source_percent + source_percent * every_s;

	if (every_s < SELDOM_S || service->price_told)
		return;
	service->price_told = true;
	pp_log(LOG_WARNING,
	       "a burst costs %.1f ms of CPU time, so Overhead=%.4g%% allows one in %.0f s; "
	       "Overhead=%.3g%% would allow one a second",
	       (double)service->source_seen.burst_ns / 1e6, percent, every_s,
	       wanted_percent < 100 ? wanted_percent : 100);
}

/* ---------------------------------------------------------------- none at all */

#define BARREN_S 60
/* A share of one CPU: less user time may be that of short programs and the daemon's children. */
#define BUSY_SHARE 0.05
/* Bursts come at random: ten mean distances pass without one only once in 20,000 times. */
#define DISTANCES 10

bool pp_mark_is_barren(const struct pp_mark *since, const struct pp_mark *now, double burst_every_s)
{
	double wall_s = (double)(now->time_ns - since->time_ns) / 1e9;
	double user_s = (double)(now->user_ns - since->user_ns) / 1e9;

	return wall_s >= BARREN_S && wall_s >= DISTANCES * burst_every_s &&
	       user_s >= BUSY_SHARE * wall_s;
}

void pp_service_look_for_bursts(struct pp_service *service, const struct pp_mark *now)
{
	struct pp_mark *last = &service->last_fruit;
	/* Only a part of the user code is selected then. */
	bool filtered = service->config.cgroup[0] || service->config.addresses[0];

	if (!last->time_ns || filtered || now->bursts != last->bursts || now->paths != last->paths)
		*last = *now;
	service->barren_since_ns =
		pp_mark_is_barren(last, now, pp_service_burst_every_s(service)) ? last->time_ns : 0;
}
