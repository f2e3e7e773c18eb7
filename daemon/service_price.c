// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often the budget earns a burst. A source that pays for its bursts one by one saves for the
 * next: a small budget sees little on a slow machine. Status tells how little, and the log once,
 * with the budget that would see more.
 */
#include "service_state.h"

#include <syslog.h>

#include "log.h"

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
	       "a burst costs %.1f ms, and Overhead=%.4g%% earns that once in %.0f s; "
	       "Overhead=%.2g%% "
	       "earns it once a second",
	       (double)service->source_seen.burst_ns / 1e6, percent, every_s,
	       wanted_percent < 100 ? wanted_percent : 100);
}
