// SPDX-License-Identifier: GPL-2.0-or-later
/* The asker, in the log: see peer_text.h. */
#include "peer_text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* An IPv4 address that came over a socket for both versions is written as IPv4. */
static void write_address(char text[INET6_ADDRSTRLEN], const struct sockaddr *address)
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	const struct sockaddr_in *in = (const void *)address;
	const char *written = NULL;

	if (address && address->sa_family == AF_INET)
		written = inet_ntop(AF_INET, &in->sin_addr, text, INET6_ADDRSTRLEN);
	else if (address && address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		written = inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], text, INET6_ADDRSTRLEN);
	else if (address && address->sa_family == AF_INET6)
		written = inet_ntop(AF_INET6, &in6->sin6_addr, text, INET6_ADDRSTRLEN);
	if (!written)
		snprintf(text, INET6_ADDRSTRLEN, "unknown address");
}

static void write_name(char name[PATHPROF_PARCEL_HOST_BYTES], const char *from)
{
	snprintf(name, PATHPROF_PARCEL_HOST_BYTES, "%s", from);
	for (char *c = name; *c; c++)
		if (!isascii((unsigned char)*c) ||
		    !(isalnum((unsigned char)*c) || strchr("._-:@", *c)))
			*c = '?';
}

char *hub_peer_text(char text[HUB_PEER_TEXT_BYTES], const struct sockaddr *address,
		    const struct hub_peer *peer)
{
	bool has_tenant = peer->is_proven && strcmp(peer->tenant, HUB_TENANT_DEFAULT) != 0;
	char where[INET6_ADDRSTRLEN], name[PATHPROF_PARCEL_HOST_BYTES];

	write_address(where, address);
	write_name(name, peer->name);
	if (!name[0])
		snprintf(text, HUB_PEER_TEXT_BYTES, "%s (no name)", where);
	else
		snprintf(text, HUB_PEER_TEXT_BYTES, "%s (%s%s%s%s)", where,
			 peer->is_proven ? "" : "says that it is ", has_tenant ? peer->tenant : "",
			 has_tenant ? "/" : "", name);
	return text;
}
