/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which refusals become lines of the log. A refused peer can ask again at once and for
 * ever, so lines are rationed and the others are counted. A peer with a valid certificate gets one
 * line a minute and status; all such peers together get up to 60 lines at once, then two a minute.
 * Strangers have a ration of their own, 30 lines and then one a minute, so they cannot use up that
 * of hosts. A day of refusals without end is some 4,400 lines.
 *
 * Workload: once a refusal, thousands a second under attack. One thread. All zero: nothing was
 * logged.
 */
#ifndef HUB_REFUSALS_H
#define HUB_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#define HUB_REFUSALS_KEPT 64

struct hub_refusals {
	struct {
		uint64_t key, said_ns;
	} said[HUB_REFUSALS_KEPT];                 /* the last lines; key 0: none */
	uint64_t known_full_ns, strangers_full_ns; /* when their rations are full again */
	uint64_t last_ns;                          /* when a line was logged */
	uint64_t unsaid_cnt;
};

/* Returns whether to log it; else it is counted. key: the peer and the status; 0: a stranger. */
bool hub_refusals_take(struct hub_refusals *refusals, uint64_t key, uint64_t now_ns);
/* The key of a name in a valid certificate; never 0. */
uint64_t hub_refusals_key(const char *tenant, const char *name, unsigned int status);
/* Returns how many were counted since the last call, for a line that is logged now. */
uint64_t hub_refusals_unsaid(struct hub_refusals *refusals, uint64_t now_ns);
/* Whether some were counted, and no line reported that for a minute. */
bool hub_refusals_is_due(const struct hub_refusals *refusals, uint64_t now_ns);

#endif
