/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The asker, for a line of the log: the address, and the name in the certificate. A name without a
 * trusted certificate is only a claim, and may be made to look like the rest of a line: it is
 * marked, and characters that names cannot have are shown as ?.
 *
 * Workload: a line. Any thread; the caller owns the text.
 */
#ifndef HUB_PEER_TEXT_H
#define HUB_PEER_TEXT_H

#include <stddef.h>
#include <sys/socket.h>

#include "identity.h"

#define HUB_PEER_TEXT_BYTES 512

/* "192.0.2.7 (web1)", "... (says that it is web1)", "... (no name)"; tenants' names stand before a
 * slash, but for the default one's. address NULL: not known. Returns text. */
char *hub_peer_text(char text[HUB_PEER_TEXT_BYTES], const struct sockaddr *address,
		    const struct hub_peer *peer);

#endif
