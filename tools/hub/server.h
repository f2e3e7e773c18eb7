/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server's parts for each other: serve.c sets it up and runs it, request.c answers. */
#ifndef HUB_SERVER_H
#define HUB_SERVER_H

#include <microhttpd.h>

#include "figures.h"
#include "identity.h"
#include "pgo.h"
#include "refusals.h"
#include "tenants.h"
#include "watch.h"

#define CONNECTIONS_MAX 512u

/* A connection. libmicrohttpd's time-out is one of silence, so connections have an end as well. */
struct client {
	int fd; /* -1: free */
	bool is_ending;
	uint64_t end_ns;
	struct hub_known_peer known;
	size_t held_bytes; /* of its request and its answer in memory, part of bodies_bytes */
};

struct hub {
	const struct hub_options *options;
	struct hub_identity *identity;
	struct hub_tenants *tenants;
	struct hub_rules rules;
	struct hub_watch *watch;
	struct hub_pgo_jobs *pgo;
	struct hub_figures *figures; /* NULL: there is no socket for the relay */
	struct MHD_Daemon *daemon;
	char *certificate, *key, *ca;
	struct client clients[CONNECTIONS_MAX];
	size_t bodies_bytes; /* bytes in memory of all requests, and of answers but to parcels */
	uint64_t denied_cnt; /* requests of peers that may not ask */
	struct hub_refusals refusals;
};

/* libmicrohttpd calls these for each piece of a request, and when it is over. context: the hub. */
enum MHD_Result hub_request(void *context, struct MHD_Connection *connection, const char *url,
			    const char *method, const char *version, const char *part,
			    size_t *part_bytes, void **state);
void hub_request_end(void *context, struct MHD_Connection *connection, void **state,
		     enum MHD_RequestTerminationCode code);
/* A profile is ready: resumes the request that waits for it. */
void hub_request_on_profile(struct hub_pgo_job *job);

#endif
