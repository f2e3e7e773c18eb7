/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long each host may hold the one place for uploads with files that do not come. A host whose
 * upload is cut off, slow or no file of the build owes ten times as long as it held the place; what
 * is owed passes with time. Whoever owes more than 20 seconds' holding is turned away meanwhile, so
 * one host holds the place for at most a tenth of the time, and a connection's five minutes.
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
		uint64_t until_ns; /* CLOCK_MONOTONIC: it owes nothing from then on */
	} list[HUB_PATIENCE_HOSTS];
};

/* host held the place for nothing. */
void hub_patience_use(struct hub_patience *patience, const char *host, uint64_t begin_ns,
		      uint64_t now_ns);
/* true: host is to be turned away. */
bool hub_patience_is_out(const struct hub_patience *patience, const char *host, uint64_t now_ns);

#endif
