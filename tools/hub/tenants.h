/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tenants: groups that share a hub and see nothing of one another. Each has a database of its own,
 * so that no query can reach across: --db for the default one, DIRECTORY/tenant-NAME.db for
 * another, opened when the first of its hosts or readers comes. The certificate of a request says
 * which tenant it belongs to.
 *
 * Workload: a search among some tenants a request. One thread.
 */
#ifndef HUB_TENANTS_H
#define HUB_TENANTS_H

#include "hub.h"
#include "ingest.h"

/* The most tenants: a database takes some descriptors and caches. */
#define HUB_TENANTS_MAX 64

struct hub_tenants;

/* Opens the default one's. options outlive it. Negative errno, error filled. */
int hub_tenants_new(struct hub_tenants **ret_tenants, const struct hub_options *options,
		    struct pathprof_error *error);
/* NULL-safe. */
void hub_tenants_free(struct hub_tenants *tenants);

/* -ENOENT: the hub has no tenants but the default one; -EUSERS: as many as there may be are open;
 * else its database cannot be opened. */
int hub_tenants_of(struct hub_tenants *tenants, const char *name, struct hub_ingest **ret_ingest,
		   struct pathprof_error *error);
/* The tenant at a place, in the order in which they were opened, or NULL. */
struct hub_ingest *hub_tenants_at(const struct hub_tenants *tenants, size_t at);
/* The name of the tenant at a place that has one. */
const char *hub_tenants_name(const struct hub_tenants *tenants, size_t at);
/* Removes old windows of all tenants. */
void hub_tenants_retain(struct hub_tenants *tenants);
/* Sums up an hour of one tenant, in turn; all together take at most a fifth of the time. Returns
 * true if it did. */
bool hub_tenants_roll(struct hub_tenants *tenants);
struct hub_ingest_counts hub_tenants_counts(const struct hub_tenants *tenants);

#endif
