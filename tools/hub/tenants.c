// SPDX-License-Identifier: GPL-2.0-or-later
/* The tenants of a hub: see tenants.h. */
#include "tenants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "turns.h"

struct tenant {
	char name[HUB_TENANT_BYTES];
	struct hub_ingest *ingest;
};

struct hub_tenants {
	const struct hub_options *options;
	struct tenant list[HUB_TENANTS_MAX];
	size_t cnt;
	struct hub_turns rolling;
};

static int open_tenant(struct hub_tenants *tenants, const char *name, const char *db,
		       struct pathprof_error *error)
{
	struct tenant *tenant = &tenants->list[tenants->cnt];
	int r = hub_ingest_new(&tenant->ingest, db, tenants->options->keep_days * 86400ll,
			       tenants->options->roll_days * 86400ll, error);

	if (r < 0)
		return r;
	snprintf(tenant->name, sizeof(tenant->name), "%s", name);
	tenants->cnt++;
	return 0;
}

int hub_tenants_new(struct hub_tenants **ret_tenants, const struct hub_options *options,
		    struct pathprof_error *error)
{
	struct hub_tenants *tenants = calloc(1, sizeof(*tenants));
	int r;

	if (!tenants)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	tenants->options = options;
	r = open_tenant(tenants, HUB_TENANT_DEFAULT, options->db, error);
	if (r < 0)
		hub_tenants_free(tenants);
	else
		*ret_tenants = tenants;
	return r;
}

void hub_tenants_free(struct hub_tenants *tenants)
{
	if (!tenants)
		return;
	for (size_t i = 0; i < tenants->cnt; i++)
		hub_ingest_free(tenants->list[i].ingest);
	free(tenants);
}

/* Names are plain, so they cannot lead out of the directory. */
static int open_other(struct hub_tenants *tenants, const char *name, struct pathprof_error *error)
{
	const char *directory = tenants->options->tenants;
	_cleanup_free_ char *db = NULL;
	int r;

	if (!directory)
		return pathprof_fail(error, -ENOENT, "this hub has no tenant %s", name);
	if (tenants->cnt == HUB_TENANTS_MAX)
		return pathprof_fail(error, -EUSERS, "this hub has %d tenants already",
				     HUB_TENANTS_MAX);
	if (asprintf(&db, "%s/tenant-%s.db", directory, name) < 0) {
		db = NULL;
		return pathprof_fail(error, -ENOMEM, "out of memory");
	}
	r = open_tenant(tenants, name, db, error);
	/* Callers take -ENOENT for a hub without tenants. */
	return r == -ENOENT ? -EIO : r;
}

int hub_tenants_of(struct hub_tenants *tenants, const char *name, struct hub_ingest **ret_ingest,
		   struct pathprof_error *error)
{
	int r;

	for (size_t i = 0; i < tenants->cnt; i++)
		if (strcmp(tenants->list[i].name, name) == 0) {
			*ret_ingest = tenants->list[i].ingest;
			return 0;
		}
	r = open_other(tenants, name, error);
	if (r == 0)
		*ret_ingest = tenants->list[tenants->cnt - 1].ingest;
	return r;
}

struct hub_ingest *hub_tenants_at(const struct hub_tenants *tenants, size_t at)
{
	return at < tenants->cnt ? tenants->list[at].ingest : NULL;
}

const char *hub_tenants_name(const struct hub_tenants *tenants, size_t at)
{
	return tenants->list[at].name;
}

void hub_tenants_retain(struct hub_tenants *tenants)
{
	for (size_t i = 0; i < tenants->cnt; i++)
		hub_ingest_retain(tenants->list[i].ingest);
}

static bool roll(void *context, size_t at)
{
	const struct hub_tenants *tenants = context;

	return hub_ingest_roll(tenants->list[at].ingest);
}

/* A failed hour counts too, since it took time. */
bool hub_tenants_roll(struct hub_tenants *tenants)
{
	uint64_t begin_ns = pp_monotonic_ns();
	bool rolled;

	if (hub_turns_rest(&tenants->rolling, begin_ns))
		return false;
	rolled = hub_turns_work(&tenants->rolling, tenants->cnt, roll, tenants);
	hub_turns_spend(&tenants->rolling, begin_ns, pp_monotonic_ns());
	return rolled;
}

struct hub_ingest_counts hub_tenants_counts(const struct hub_tenants *tenants)
{
	struct hub_ingest_counts sum = {.added = 0};

	for (size_t i = 0; i < tenants->cnt; i++) {
		const struct hub_ingest_counts *counts = hub_ingest_counts(tenants->list[i].ingest);

		sum.added += counts->added;
		sum.replaced += counts->replaced;
		sum.beside += counts->beside;
		sum.known += counts->known;
		sum.cut += counts->cut;
		sum.refused += counts->refused;
		sum.rolled += counts->rolled;
	}
	return sum;
}
