/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The share that each tenant has of something, and each certificate in it, so that neither takes
 * what others need. The amounts are counted anew for each question, from the caller's list of
 * owners.
 *
 * Workload: some comparisons of names for each that has something. Any thread; keeps nothing.
 */
#ifndef HUB_SHARE_H
#define HUB_SHARE_H

#include <stddef.h>

/* The names are the caller's. Tenants may have readers of the same name. */
struct hub_owner {
	const char *tenant, *reader;
};

struct hub_share {
	size_t tenant, reader;
};

/* Adds what another owner has to the share of an owner: to that of its tenant if both have one, and
 * to that of its certificate if it is the same. */
void hub_share_add(struct hub_share *share, const struct hub_owner *owner,
		   const struct hub_owner *other, size_t amount);
/* Returns NULL if an owner with this share may have `more` in addition. Else says whose limit is
 * reached, and what to do. */
const char *hub_share_judge(const struct hub_share *share, size_t more,
			    const struct hub_share *most);

#endif
