// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Hosts, and the builds that they ran: see fleet.h. */
#include "pathprof/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pathprof/parcel_store.h"

static int take_host(void *context, const struct pathprof_host_row *row)
{
	struct pathprof_fleet *fleet = context;
	char *name;

	/* By name: of one that has several databases the rows follow one another. */
	if (fleet->host_cnt && !strcmp(fleet->hosts[fleet->host_cnt - 1], row->host.name))
		return 0;
	name = strdup(row->host.name);
	if (!name || pp_grow(&fleet->hosts, fleet->host_cnt, &fleet->host_room) < 0) {
		free(name);
		return -ENOMEM;
	}
	fleet->hosts[fleet->host_cnt++] = name;
	return 0;
}

static int take_binary(void *context, const struct pathprof_binary_row *row)
{
	struct pathprof_fleet *fleet = context;
	char *name;

	if (!row->samples || row->binary_id.kind == PATHPROF_ID_JIT)
		return 0;
	name = strdup(row->name ? row->name : "");
	if (!name || pp_grow(&fleet->binaries, fleet->binary_cnt, &fleet->binary_room) < 0) {
		free(name);
		return -ENOMEM;
	}
	fleet->binaries[fleet->binary_cnt] = *row;
	fleet->binaries[fleet->binary_cnt++].name = name;
	return 0;
}

int pathprof_fleet_look(struct pathprof_fleet *ret_fleet, struct pathprof_store *store,
			const struct pathprof_filter *filter, struct pathprof_error *error)
{
	int r;

	*ret_fleet = (struct pathprof_fleet){.hosts = NULL};
	r = pathprof_store_hosts(store, filter, take_host, ret_fleet, error);
	if (r == 0)
		r = pathprof_store_binaries(store, filter, take_binary, ret_fleet, error);
	return r == -ENOMEM ? pathprof_fail(error, r, "out of memory") : r;
}

void pathprof_fleet_release(struct pathprof_fleet *fleet)
{
	for (size_t i = 0; i < fleet->host_cnt; i++)
		free(fleet->hosts[i]);
	for (size_t i = 0; i < fleet->binary_cnt; i++)
		free((void *)(uintptr_t)fleet->binaries[i].name);
	free(fleet->hosts);
	free(fleet->binaries);
	*fleet = (struct pathprof_fleet){.hosts = NULL};
}
