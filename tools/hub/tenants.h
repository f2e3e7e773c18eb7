/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tenants: those who share a hub and see nothing of one another. Each has a database of its own, so
 * that no query can reach across: --db for the default one, DIRECTORY/tenant-NAME.db for another,
 * opened when the first of its hosts or readers comes. Whose a request is, its certificate says.
 *
 * Workload: a search among some tenants a request. One thread.
 */
#ifndef HUB_TENANTS_H
#define HUB_TENANTS_H

#include "hub.h"
#include "ingest.h"

/* A database is some descriptors and caches. */
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
/* The one at a place, in the order in which they were opened; NULL: there are no more. */
struct hub_ingest *hub_tenants_at(const struct hub_tenants *tenants, size_t at);
/* The name of the one at a place, where there is one. */
const char *hub_tenants_name(const struct hub_tenants *tenants, size_t at);
/* Old windows of all of them are forgotten. */
void hub_tenants_retain(struct hub_tenants *tenants);
/* An hour of one of them is summed up, in turn; all together take a fifth of the time at most.
 * True: one was. */
bool hub_tenants_roll(struct hub_tenants *tenants);
struct hub_ingest_counts hub_tenants_counts(const struct hub_tenants *tenants);

#endif
