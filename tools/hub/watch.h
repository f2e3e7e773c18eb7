/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has each span of time judged when it is over and its parcels have come, and passes the findings
 * to the alerts. `judge` runs as a child, one at a time, whatever tenants and rules there are: the
 * hub itself only reads a pipe. A span is judged once; after an outage the last few are, the others
 * are counted. A child that takes too long is killed, and its span counted as failed. A judgement
 * that cannot be begun or written is put off: pauses of its tenant double, up to a quarter of an
 * hour, and the log says it once.
 *
 * Workload: a child a tenant and span. One thread, the hub's loop.
 */
#ifndef HUB_WATCH_H
#define HUB_WATCH_H

#include "alerts.h"
#include "tenants.h"

struct hub_watch;

struct hub_watch_counts {
	uint64_t judged, failed, skipped; /* spans */
	uint64_t put_off;                 /* tries of spans that are judged again */
	uint64_t hosts_left_out, builds_left_out;
	struct hub_alert_counts alerts;
};

/* rules and tenants outlive it. -ENOMEM. */
int hub_watch_new(struct hub_watch **ret_watch, const struct hub_rules *rules,
		  struct hub_tenants *tenants);
/* Ends a child. NULL-safe. */
void hub_watch_free(struct hub_watch *watch);

/* A descriptor to be waited for, to read; -1: nothing. */
int hub_watch_fd(const struct hub_watch *watch);
/* Reads the child's output, and starts work that is due. Cheap when there is none. */
void hub_watch_turn(struct hub_watch *watch);
const struct hub_watch_counts *hub_watch_counts(const struct hub_watch *watch);

#endif
