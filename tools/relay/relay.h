/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprof-relay: all of pathprof's work with the network and with programs of the operator's, in a
 * process without rights, so that pathprofd, which may trace, needs neither.
 *
 *     store (messages) ──read──► feed ──► sinks: exec hook, Alertmanager, webhook
 *     pathprofd's socket ──news──┘          └──told up to──► notes
 *     pathprofd's socket ──figures──► /metrics ◄── own figures
 *
 * A message is in the store before anybody tells it, and each sink's note says how far it came. So
 * nothing is lost and nothing is told twice whatever ends in between, but for one case: the relay
 * is killed after a receiver took a message, and before the note of that is on the disk.
 *
 * Workload: a few messages an hour, a scrape every few seconds. One thread.
 */
#ifndef PP_RELAY_H
#define PP_RELAY_H

#include <systemd/sd-event.h>

#include "../../daemon/shared/config.h"
#include "pathprof/error.h"

struct pp_relay;

/* Whether the settings give it anything to do. */
bool pp_relay_is_wanted(const struct pp_config *config);
/*
 * database: of pathprofd, which need not be there yet. state: the directory of its notes. config is
 * copied. Errors say what to do.
 */
int pp_relay_new(struct pp_relay **ret_relay, sd_event *event, const struct pp_config *config,
		 const char *database, const char *state, struct pathprof_error *error);
/* Waits up to wait_ms per sink for deliveries under way, notes their results, and frees.
 * NULL-safe. */
void pp_relay_free(struct pp_relay *relay, uint32_t wait_ms);

#endif
