// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Builds of programs in the order in which they were first seen: see fleet.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pathprof/fleet.h"
#include "pathprof/parcel_store.h"

struct loading {
	struct pathprof_releases *releases;
	struct pathprof_store *store;
	const struct pathprof_filter *filter;
	const char *program;                   /* wanted; NULL: all */
	char host[PATHPROF_PARCEL_HOST_BYTES]; /* the last: rows of one name follow one another */
	struct pathprof_error *error;
};

static bool is_wanted(const struct loading *loading, const char *name)
{
	const char *slash = strrchr(name, '/');

	return !loading->program || !strcmp(loading->program, name) ||
	       !strcmp(loading->program, slash ? slash + 1 : name);
}

static int take_build(void *context, const struct pathprof_binary_row *row)
{
	struct loading *loading = context;
	struct pathprof_releases *releases = loading->releases;
	const char *name = row->name ? row->name : "";
	char *program;

	if (!row->samples || !*name || row->binary_id.kind == PATHPROF_ID_JIT ||
	    !is_wanted(loading, name))
		return 0;
	program = strdup(name);
	if (!program || pp_grow(&releases->list, releases->cnt, &releases->room) < 0) {
		free(program);
		return -ENOMEM;
	}
	releases->list[releases->cnt++] = (struct pathprof_release){
		.id = row->binary_id,
		.program = program,
		.first_seen_ns = row->first_seen_ns,
		.last_seen_ns = row->last_seen_ns,
		.share = row->share,
		.samples = row->samples,
	};
	return 0;
}

/* ---------------------------------------------------------------- on how many hosts */

static int count_host(void *context, const struct pathprof_binary_row *row)
{
	struct pathprof_releases *releases = context;

	for (size_t i = 0; row->samples && i < releases->cnt; i++)
		releases->list[i].hosts +=
			pathprof_build_id_equal(&releases->list[i].id, &row->binary_id);
	return 0;
}

static int take_host(void *context, const struct pathprof_host_row *row)
{
	struct loading *loading = context;
	struct pathprof_filter filter = *loading->filter;

	if (!strcmp(loading->host, row->host.name))
		return 0;
	snprintf(loading->host, sizeof(loading->host), "%s", row->host.name);
	loading->releases->has_hosts = true;
	filter.host = loading->host;
	return pathprof_store_binaries(loading->store, &filter, count_host, loading->releases,
				       loading->error);
}

/* ---------------------------------------------------------------- in order */

static int by_id(const struct pathprof_build_id *x, const struct pathprof_build_id *y)
{
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->len_bytes != y->len_bytes)
		return x->len_bytes < y->len_bytes ? -1 : 1;
	return memcmp(x->bytes, y->bytes, sizeof(x->bytes));
}

/* Builds that were first seen at once go by when they were last seen. */
static int by_program(const void *a, const void *b)
{
	const struct pathprof_release *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	if (order)
		return order;
	if (x->first_seen_ns != y->first_seen_ns)
		return x->first_seen_ns < y->first_seen_ns ? -1 : 1;
	if (x->last_seen_ns != y->last_seen_ns)
		return x->last_seen_ns < y->last_seen_ns ? -1 : 1;
	return by_id(&x->id, &y->id);
}

/* The heaviest program first. */
static int by_weight(const void *a, const void *b)
{
	const struct pathprof_release *x = a, *y = b;

	if (x->program_share != y->program_share)
		return x->program_share < y->program_share ? 1 : -1;
	return by_program(a, b);
}

size_t pathprof_releases_of(const struct pathprof_releases *releases, size_t first)
{
	size_t end = first;

	while (end < releases->cnt &&
	       !strcmp(releases->list[end].program, releases->list[first].program))
		end++;
	return end - first;
}

static void sort(struct pathprof_releases *releases)
{
	size_t cnt;

	if (!releases->cnt)
		return;
	qsort(releases->list, releases->cnt, sizeof(*releases->list), by_program);
	for (size_t i = 0; i < releases->cnt; i += cnt) {
		double share = 0;

		cnt = pathprof_releases_of(releases, i);
		for (size_t j = i; j < i + cnt; j++)
			share += releases->list[j].share;
		for (size_t j = i; j < i + cnt; j++)
			releases->list[j].program_share = share;
	}
	qsort(releases->list, releases->cnt, sizeof(*releases->list), by_weight);
}

int pathprof_releases_load(struct pathprof_releases *ret_releases, struct pathprof_store *store,
			   const struct pathprof_filter *filter, const char *program,
			   struct pathprof_error *error)
{
	struct loading loading = {.releases = ret_releases,
				  .store = store,
				  .filter = filter,
				  .program = program,
				  .error = error};
	int r;

	*ret_releases = (struct pathprof_releases){.list = NULL};
	r = pathprof_store_binaries(store, filter, take_build, &loading, error);
	if (r == 0)
		r = pathprof_store_hosts(store, filter, take_host, &loading, error);
	sort(ret_releases);
	return r == -ENOMEM ? pathprof_fail(error, r, "out of memory") : r;
}

void pathprof_releases_release(struct pathprof_releases *releases)
{
	for (size_t i = 0; i < releases->cnt; i++)
		free(releases->list[i].program);
	free(releases->list);
	*releases = (struct pathprof_releases){.list = NULL};
}
