// SPDX-License-Identifier: GPL-2.0-or-later
/* Hosts of processes: see processes_hosts.h. */
#include "processes_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "pathprof/parcel_store.h"

/* A store, and how many hosts sent of it. */
struct sent {
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];
	char *name; /* the name of one of them */
	uint32_t host_cnt;
};

struct process_hosts {
	struct sent *list; /* by store once all are there */
	size_t cnt, room;
};

static int by_store(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return memcmp(x->store, y->store, sizeof(x->store));
}

static int take(void *context, const struct pathprof_host_row *row)
{
	struct process_hosts *hosts = context;
	struct sent *sent;

	ctl_grow(&hosts->list, hosts->cnt, &hosts->room);
	sent = &hosts->list[hosts->cnt++];
	memcpy(sent->store, row->store, sizeof(sent->store));
	sent->name = ctl_strdup(row->host.name);
	sent->host_cnt = 1;
	return 0;
}

/* Leaves one entry for each store. */
static void sum_up(struct process_hosts *hosts)
{
	size_t kept = 0;

	if (hosts->cnt)
		qsort(hosts->list, hosts->cnt, sizeof(*hosts->list), by_store);
	for (size_t i = 0; i < hosts->cnt; i++) {
		if (kept && !by_store(&hosts->list[kept - 1], &hosts->list[i])) {
			hosts->list[kept - 1].host_cnt++;
			free(hosts->list[i].name);
		} else {
			hosts->list[kept++] = hosts->list[i];
		}
	}
	hosts->cnt = kept;
}

int process_hosts_new(struct process_hosts **ret_hosts, struct pathprof_store *store,
		      const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct process_hosts *hosts = ctl_alloc(sizeof(*hosts));
	int r;

	*hosts = (struct process_hosts){0};
	r = pathprof_store_hosts(store, filter, take, hosts, error);
	sum_up(hosts);
	if (r < 0 || !hosts->cnt) {
		process_hosts_free(hosts);
		hosts = NULL;
	}
	*ret_hosts = hosts;
	return r;
}

void process_hosts_free(struct process_hosts *hosts)
{
	if (!hosts)
		return;
	for (size_t i = 0; i < hosts->cnt; i++)
		free(hosts->list[i].name);
	free(hosts->list);
	free(hosts);
}

struct process_host process_hosts_of(const struct process_hosts *hosts, const char *boot)
{
	struct sent key = {0};
	const struct sent *sent;

	if (!pathprof_store_of_boot(boot, key.store) || !hosts->cnt)
		return (struct process_host){NULL, 0};
	sent = bsearch(&key, hosts->list, hosts->cnt, sizeof(key), by_store);
	if (!sent)
		return (struct process_host){NULL, 0};
	return (struct process_host){sent->host_cnt == 1 ? sent->name : NULL, sent->host_cnt};
}

int process_host_compare(const struct process_host *a, const struct process_host *b)
{
	if (!a->name || !b->name)
		return (a->name != NULL) - (b->name != NULL);
	return strcmp(a->name, b->name);
}

/* The number of hosts is unknown if some rows cannot be assigned to one known host. */
void process_host_add(struct process_host *sum, const struct process_host *next)
{
	if (!sum->name || !next->name)
		*sum = (struct process_host){NULL, 0};
	else if (strcmp(sum->name, next->name) != 0)
		*sum = (struct process_host){next->name, sum->cnt + 1};
}
