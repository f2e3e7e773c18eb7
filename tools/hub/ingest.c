// SPDX-License-Identifier: GPL-2.0-or-later
/* Parcels into the hub's database: see ingest.h. */
#include "ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pathprof/parcel_store.h"

/* A host whose clock is off by more would spread what it saw over slots of others. */
#define SKEW_MAX_S 3600
/* Of one host: it gets a new store when it is set up anew. With slots of the time that is kept this
   bounds what a host that means harm can fill. */
#define STORES_MAX 16
/* Of a windows table: what is older is looked for this often. */
#define RETAIN_NS (600 * PP_NSEC_PER_SEC)

struct hub_ingest {
	struct pathprof_store *store;
	int64_t keep_s;
	uint64_t retained_ns; /* CLOCK_MONOTONIC */
	struct hub_ingest_counts counts;
};

int hub_ingest_new(struct hub_ingest **ret_ingest, const char *db, int64_t keep_s,
		   struct pathprof_error *error)
{
	struct hub_ingest *ingest = calloc(1, sizeof(*ingest));
	int r;

	if (!ingest)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	ingest->keep_s = keep_s;
	r = pathprof_store_open(&ingest->store, db, PATHPROF_STORE_WRITE, error);
	if (r < 0)
		hub_ingest_free(ingest);
	else
		*ret_ingest = ingest;
	return r;
}

void hub_ingest_free(struct hub_ingest *ingest)
{
	if (!ingest)
		return;
	pathprof_store_free(ingest->store);
	free(ingest);
}

struct pathprof_store *hub_ingest_store(const struct hub_ingest *ingest)
{
	return ingest->store;
}

const struct hub_ingest_counts *hub_ingest_counts(const struct hub_ingest *ingest)
{
	return &ingest->counts;
}

static int64_t now_s(void)
{
	return pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
}

static unsigned int refuse(struct hub_ingest *ingest, unsigned int status, const char *why,
			   json_t **ret_answer)
{
	ingest->counts.refused++;
	*ret_answer = json_pack("{s:s}", "error", why);
	return status;
}

/* What an error of the library is to a host: its own fault, or a reason to try again. */
static unsigned int status_of(int code)
{
	switch (code) {
	case -EBADMSG:
	case -EPROTO:
	case -EINVAL:
	case -EOVERFLOW:
		return 400;
	case -E2BIG:
		return 413;
	default:
		return 503;
	}
}

/* ---------------------------------------------------------------- whose a store is */

struct owner {
	const char *host;
	bool is_known, is_other;
};

static int compare_owner(void *context, const struct pathprof_parcel_row *row)
{
	struct owner *owner = context;

	owner->is_known = true;
	owner->is_other = strcmp(row->host, owner->host) != 0;
	return 1;
}

/*
 * The first host that sends of a store has it: no other can replace what it saw. *ret_why NULL:
 * this host may send of it. -errno, error filled.
 */
static int judge_store(struct hub_ingest *ingest, const char *host,
		       const uint8_t store[PATHPROF_PARCEL_STORE_BYTES], const char **ret_why,
		       struct pathprof_error *error)
{
	struct owner owner = {.host = host};
	uint64_t store_cnt = 0;
	int r = pathprof_store_parcels_of(ingest->store, store, compare_owner, &owner, error);

	if (r >= 0 && !owner.is_known)
		r = pathprof_store_count_stores(ingest->store, host, &store_cnt, error);
	*ret_why = owner.is_other            ? "another host has sent parcels of this store"
		   : store_cnt >= STORES_MAX ? "this host has sent of 16 databases already"
					     : NULL;
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- taking one */

/* NULL: it is of a time that the hub takes. */
static const char *judge_time(const struct hub_ingest *ingest, const struct pathprof_parcel *parcel)
{
	int64_t now = now_s();
	int64_t sent_s = parcel->host.sent_ns / (int64_t)PP_NSEC_PER_SEC;

	if (sent_s > now + SKEW_MAX_S || sent_s < now - SKEW_MAX_S)
		return "the host's clock and the hub's are more than an hour apart";
	if (parcel->slot_s > now + SKEW_MAX_S)
		return "its slot lies in the future";
	if (parcel->slot_s < now - ingest->keep_s)
		return "its slot is older than the hub keeps";
	return NULL;
}

static unsigned int add(struct hub_ingest *ingest, const struct pathprof_parcel *parcel,
			json_t **ret_answer)
{
	static const char *const names[] = {
		[PATHPROF_PARCEL_ADDED] = "added",
		[PATHPROF_PARCEL_REPLACED] = "replaced",
		[PATHPROF_PARCEL_KNOWN] = "known",
	};
	struct hub_ingest_counts *counts = &ingest->counts;
	enum pathprof_parcel_added added = PATHPROF_PARCEL_KNOWN;
	struct pathprof_error error = {""};
	int r = pathprof_store_add_parcel(ingest->store, parcel, &added, &error);

	if (r < 0)
		return refuse(ingest, status_of(r), error.text, ret_answer);
	counts->added += added == PATHPROF_PARCEL_ADDED;
	counts->replaced += added == PATHPROF_PARCEL_REPLACED;
	counts->known += added == PATHPROF_PARCEL_KNOWN;
	*ret_answer = json_pack("{s:s}", "taken", names[added]);
	return 200;
}

static unsigned int take(struct hub_ingest *ingest, const char *host,
			 struct pathprof_parcel *parcel, json_t **ret_answer)
{
	struct pathprof_error error = {""};
	const char *why = judge_time(ingest, parcel);
	int r;

	if (why)
		return refuse(ingest, 409, why, ret_answer);
	r = judge_store(ingest, host, parcel->store, &why, &error);
	if (r < 0)
		return refuse(ingest, status_of(r), error.text, ret_answer);
	if (why)
		return refuse(ingest, 403, why, ret_answer);
	/* Who sent it is known from the certificate, whatever it says of itself. */
	snprintf(parcel->host.name, sizeof(parcel->host.name), "%s", host);
	return add(ingest, parcel, ret_answer);
}

unsigned int hub_ingest_parcel(struct hub_ingest *ingest, const char *host, const void *bytes,
			       size_t len_bytes, json_t **ret_answer)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_error error = {""};
	int r = pathprof_parcel_read(&parcel, bytes, len_bytes, &error);
	unsigned int status = r < 0 ? refuse(ingest, status_of(r), error.text, ret_answer)
				    : take(ingest, host, &parcel, ret_answer);

	pathprof_parcel_release(&parcel);
	return status;
}

/* ---------------------------------------------------------------- what there is */

static int list(void *context, const struct pathprof_parcel_row *row)
{
	return json_array_append_new(
		context, json_pack("[I, I]", (json_int_t)row->slot_s, (json_int_t)row->window_cnt));
}

unsigned int hub_ingest_have(struct hub_ingest *ingest, const char *host, const char *store,
			     json_t **ret_answer)
{
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_error error = {""};
	const char *why;
	json_t *slots;
	int r;

	if (!store || !hub_store_parse(store, id))
		return refuse(ingest, 400, "store= is not the id of a store: 32 digits of hex",
			      ret_answer);
	r = judge_store(ingest, host, id, &why, &error);
	if (r == 0 && why)
		return refuse(ingest, 403, why, ret_answer);
	slots = json_array();
	if (r == 0)
		r = pathprof_store_parcels_of(ingest->store, id, list, slots, &error);
	if (r < 0) {
		json_decref(slots);
		return refuse(ingest, status_of(r), error.text, ret_answer);
	}
	*ret_answer = json_pack("{s:I, s:o}", "since", (json_int_t)(now_s() - ingest->keep_s),
				"slots", slots);
	return 200;
}

/* ---------------------------------------------------------------- what goes */

void hub_ingest_retain(struct hub_ingest *ingest)
{
	const struct pathprof_retention retention = {
		.max_age_ns = ingest->keep_s * (int64_t)PP_NSEC_PER_SEC,
	};
	struct pathprof_error error = {""};
	uint64_t now_ns = pp_monotonic_ns(), removed;

	if (ingest->retained_ns && now_ns < ingest->retained_ns + RETAIN_NS)
		return;
	ingest->retained_ns = now_ns;
	if (pathprof_store_retain(ingest->store, &retention, &removed, &error) < 0)
		hub_note("what is older than it is kept cannot be removed: %s", error.text);
}
