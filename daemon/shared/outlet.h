/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket by which pathprof-relay asks pathprofd: a Unix stream socket beside the database, for
 * its owner and its group. A client sends one line and then only listens:
 *
 *     figures   is answered with all figures in Prometheus' text format, and the end
 *     follow    is answered with a newline whenever there are new messages in the store, as long
 *               as both live
 *     relay     the same for pathprof-relay, so that it is known to be there; behind it may stand
 *               the directory of its notes, which is believed of the daemon's own user and of root
 *
 * Nothing else that comes is looked at. What must not be lost is in the store: a newline that finds
 * the socket full is left out, because the client has one to read already.
 *
 * An answer is made once and given to all who ask within a second. Places and questions are limited
 * by user, so that nobody keeps the relay out (outlet_places.h); a question beyond a user's pace
 * waits. What it all costs is bounded as well: a hundredth of one CPU, and nobody is let in
 * meanwhile.
 *
 * Workload: one follower, a question every few seconds; 10 s a connection but for followers. One
 * owner, the event loop, which it never blocks.
 */
#ifndef PP_OUTLET_H
#define PP_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "outlet_address.h"
#include "pathprof/error.h"

struct pp_outlet;

typedef void pp_outlet_figures_fn(void *context, FILE *to);

/*
 * The caller holds the database's lock: a socket that an earlier process left is replaced.
 * -ENAMETOOLONG: the database's path is too long for a socket beside it; -EADDRINUSE: what lies
 * there is no socket.
 */
int pp_outlet_new(struct pp_outlet **ret_outlet, sd_event *event, const char *database,
		  pp_outlet_figures_fn *figures, void *context, struct pathprof_error *error);
/* Removes the socket. NULL-safe, as the four below. */
void pp_outlet_free(struct pp_outlet *outlet);
/* There are new messages in the store. */
void pp_outlet_poke(struct pp_outlet *outlet);
/* A pathprof-relay follows. */
bool pp_outlet_has_relay(const struct pp_outlet *outlet);
/* The directory of notes that the last relay named, "": none did. */
const char *pp_outlet_relay_notes(const struct pp_outlet *outlet);

/* CPU time of answering. */
uint64_t pp_outlet_cpu_ns(const struct pp_outlet *outlet);

#endif
