// SPDX-License-Identifier: GPL-2.0-or-later
/* Peers that held up uploads for nothing: see patience.h. */
#include "patience.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define TIMES   10 /* a host owes this many times the time it held the place */
#define OWED_NS (TIMES * 20 * PP_NSEC_PER_SEC)

/* Returns HUB_PATIENCE_HOSTS if the host is not listed, so it owes nothing. */
static size_t find(const struct hub_patience *patience, const char *host)
{
	size_t i = 0;

	while (i < HUB_PATIENCE_HOSTS && strcmp(patience->list[i].host, host) != 0)
		i++;
	return i;
}

static size_t who_owes_least(const struct hub_patience *patience)
{
	size_t least = 0;

	for (size_t i = 1; i < HUB_PATIENCE_HOSTS; i++)
		if (patience->list[i].until_ns < patience->list[least].until_ns)
			least = i;
	return least;
}

void hub_patience_use(struct hub_patience *patience, const char *host, uint64_t begin_ns,
		      uint64_t now_ns)
{
	size_t at = find(patience, host);
	uint64_t from_ns = now_ns;

	if (at == HUB_PATIENCE_HOSTS)
		at = who_owes_least(patience);
	else if (patience->list[at].until_ns > now_ns)
		from_ns = patience->list[at].until_ns;
	snprintf(patience->list[at].host, sizeof(patience->list[at].host), "%s", host);
	patience->list[at].until_ns = from_ns + TIMES * (now_ns - begin_ns);
}

bool hub_patience_is_out(const struct hub_patience *patience, const char *host, uint64_t now_ns)
{
	size_t at = find(patience, host);

	return at < HUB_PATIENCE_HOSTS && patience->list[at].until_ns > now_ns + OWED_NS;
}
