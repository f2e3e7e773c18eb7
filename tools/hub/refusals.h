/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which refusals are lines of the log. Whoever is refused can ask again at once and for ever, so
 * lines are rationed and the others are counted: who has a certificate that holds is told of once
 * a minute and status, up to 60 lines at once and then two a minute of all together; strangers
 * have 30 and then one a minute, apart, so that they keep no line of a host back. A day of refusals
 * without end is some 4,400 lines.
 *
 * Workload: once a refusal, thousands a second from those who mean harm. One thread. All zero: none
 * was said.
 */
#ifndef HUB_REFUSALS_H
#define HUB_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#define HUB_REFUSALS_KEPT 64

struct hub_refusals {
	struct {
		uint64_t key, said_ns;
	} said[HUB_REFUSALS_KEPT];                 /* the last ones; key 0: none */
	uint64_t known_full_ns, strangers_full_ns; /* when their rations are whole again */
	uint64_t last_ns;                          /* when a line was said */
	uint64_t unsaid_cnt;
};

/* Whether to say it; else it is counted. key: of whom with which status, 0: a stranger. */
bool hub_refusals_take(struct hub_refusals *refusals, uint64_t key, uint64_t now_ns);
/* Key of a name in a certificate that holds; never 0. */
uint64_t hub_refusals_key(const char *tenant, const char *name, unsigned int status);
/* How many were counted since this was asked last, for a line that is said now. */
uint64_t hub_refusals_unsaid(struct hub_refusals *refusals, uint64_t now_ns);
/* Whether some were, and no line told of it for a minute. */
bool hub_refusals_is_due(const struct hub_refusals *refusals, uint64_t now_ns);

#endif
