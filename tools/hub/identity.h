/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peer of a connection, identified by the client's certificate alone. The certificate must be
 * signed by our authority, for clients, be valid now and not revoked. Its SPIFFE URI gives tenant,
 * role and name: a host sends (spiffe://DOMAIN/tenant/TENANT/host/NAME), a reader asks
 * (.../reader/NAME). Without a tenant part it belongs to the default tenant; without a URI it is a
 * host named by its common name.
 *
 * libmicrohttpd asks clients for a certificate but lets those without one in, so every request is
 * to be checked here. Lists of revoked certificates and denied hosts are read again when their
 * files change. Workload: once a request, some hundred microseconds. One thread.
 */
#ifndef HUB_IDENTITY_H
#define HUB_IDENTITY_H

#include <gnutls/gnutls.h>

#include "hub.h"

struct hub_identity;

struct hub_peer {
	char name[PATHPROF_PARCEL_HOST_BYTES];
	char tenant[HUB_TENANT_BYTES];
	bool reads;     /* else it is a host */
	bool is_proven; /* else name is from a certificate that is not trusted, or empty */
};

/* The peer known by a connection's certificates, and until when. Zero: none yet. */
struct hub_known_peer {
	struct hub_peer peer;
	int64_t until_s;        /* CLOCK_REALTIME */
	uint64_t trusted_since; /* private: the lists it was checked against */
};

/* Reads the files that options name. options outlive it. Negative errno, error filled. */
int hub_identity_new(struct hub_identity **ret_identity, const struct hub_options *options,
		     struct pathprof_error *error);
/* NULL-safe. */
void hub_identity_free(struct hub_identity *identity);

/* -EACCES: the hub does not know the peer. *ret_why says why, for the other side; of *ret_peer only
 * name and is_proven are filled in, unless the peer is denied. */
int hub_identity_of(struct hub_identity *identity, gnutls_session_t session,
		    struct hub_known_peer *known, struct hub_peer *ret_peer, const char **ret_why);

#endif
