/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hub's side of pathprof-relay: a socket beside the database (daemon/shared/outlet.h), where
 * the relay hears of new alerts and asks for figures, as it does of pathprofd. So alerts go to an
 * Alertmanager for as long as they fire, and Prometheus scrapes the hub's figures at the relay.
 *
 * It has the default tenant's database; alerts of other tenants are found by a relay that looks
 * into theirs. A figure that cannot be read is left out, counted, and told in the log once an hour.
 * Workload: a question every few seconds. One thread, the hub's loop.
 */
#ifndef HUB_FIGURES_H
#define HUB_FIGURES_H

#include <stdint.h>

#include "tenants.h"
#include "watch.h"

struct hub_figures;

/* All outlive it. -errno, error filled. */
int hub_figures_new(struct hub_figures **ret_figures, const char *db, struct hub_tenants *tenants,
		    const struct hub_watch *watch, const uint64_t *denied_cnt,
		    struct pathprof_error *error);
/* NULL-safe. */
void hub_figures_free(struct hub_figures *figures);
/* Descriptor to wait for, to read; -1: the socket failed, which was told. */
int hub_figures_fd(const struct hub_figures *figures);
/* Answers what was asked, and tells of alerts that are new. */
void hub_figures_turn(struct hub_figures *figures);

#endif
