/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits how long a host may hold the one place for uploads without a result. A host whose upload
 * is cut off, slow or not a file of the build owes ten times the time it held the place; the debt
 * shrinks with time. A host that owes for more than 20 seconds' holding is turned away meanwhile,
 * so one host holds the place for at most a tenth of the time, and a connection's five minutes.
 *
 * Workload: an upload a day; a walk over 16 entries. All zero: nobody owes anything. One thread.
 */
#ifndef HUB_PATIENCE_H
#define HUB_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/parcel.h"

#define HUB_PATIENCE_HOSTS 16 /* the last one, and those that owe most; others are forgotten */

struct hub_patience {
	struct {
		char host[PATHPROF_PARCEL_HOST_BYTES]; /* "": none */
		uint64_t until_ns; /* CLOCK_MONOTONIC: from then on it owes nothing */
	} list[HUB_PATIENCE_HOSTS];
};

/* host held the place without a result. */
void hub_patience_use(struct hub_patience *patience, const char *host, uint64_t begin_ns,
		      uint64_t now_ns);
/* Returns true if host is to be turned away. */
bool hub_patience_is_out(const struct hub_patience *patience, const char *host, uint64_t now_ns);

#endif
