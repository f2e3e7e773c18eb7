// SPDX-License-Identifier: GPL-2.0-or-later
/* Parcels into the hub's database: see ingest.h. */
#include "ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pathprof/parcel_store.h"

/* The largest difference accepted between a host's clock and the hub's. A host that is further off
 * would put its windows into slots in which other hosts ran at another time. */
#define SKEW_MAX_S 3600
/* Stores of one host, which gets a new one when it is set up anew. Together with the slots that are
 * kept, this bounds what a malicious host can fill. */
#define STORES_MAX 16
/* The sum of all counts of a parcel is less: far more than five minutes bring, and so little that
 * no query over the parcels of all hosts reaches 2^63, where sums overflow in SQL. */
#define COUNTS_MAX (UINT64_C(1) << 40)
/* Expired windows and files are removed at this interval. */
#define RETAIN_NS (600 * PP_NSEC_PER_SEC)

/* The time until the next search for an hour to roll, after one that found none or failed. */
#define ROLL_IDLE_NS   (60 * PP_NSEC_PER_SEC)
#define ROLL_FAILED_NS (600 * PP_NSEC_PER_SEC)
/* An hour is summed up once all of it is old enough. */
#define HOUR_S 3600

#define BESIDE_NS (3600 * PP_NSEC_PER_SEC)

struct hub_ingest {
	struct pathprof_store *store;
	struct hub_files *files;
	char *db;
	int64_t keep_s;
	int64_t roll_s;       /* 0: nothing is rolled */
	uint64_t retained_ns; /* CLOCK_MONOTONIC */
	uint64_t roll_ns;     /* when the next hour is searched for */
	uint64_t beside_ns;   /* when a store with several histories was reported last */
	struct hub_ingest_counts counts;
};

int hub_ingest_new(struct hub_ingest **ret_ingest, const char *db, int64_t keep_s, int64_t roll_s,
		   struct pathprof_error *error)
{
	struct hub_ingest *ingest = calloc(1, sizeof(*ingest));
	int r;

	if (!ingest)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	ingest->keep_s = keep_s;
	ingest->roll_s = roll_s;
	ingest->db = strdup(db);
	r = ingest->db ? pathprof_store_open(&ingest->store, db, PATHPROF_STORE_WRITE, error)
		       : pathprof_fail(error, -ENOMEM, "out of memory");
	if (r == 0)
		r = hub_files_new(&ingest->files, db, keep_s, error);
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
	hub_files_free(ingest->files);
	free(ingest->db);
	free(ingest);
}

struct pathprof_store *hub_ingest_store(const struct hub_ingest *ingest)
{
	return ingest->store;
}

const char *hub_ingest_db(const struct hub_ingest *ingest)
{
	return ingest->db;
}

struct hub_files *hub_ingest_files(const struct hub_ingest *ingest)
{
	return ingest->files;
}

const struct hub_ingest_counts *hub_ingest_counts(const struct hub_ingest *ingest)
{
	return &ingest->counts;
}

static int64_t now_s(void)
{
	return pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
}

static unsigned int say_error(unsigned int status, const char *why, json_t **ret_answer)
{
	*ret_answer = json_pack("{s:s}", "error", why);
	return status;
}

/* A parcel. */
static unsigned int refuse(struct hub_ingest *ingest, unsigned int status, const char *why,
			   json_t **ret_answer)
{
	ingest->counts.refused++;
	return say_error(status, why, ret_answer);
}

/* The HTTP status for an error of the library: the host's own fault, or a reason to try again. */
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
	case -EEXIST:
		return 409;
	default:
		return 503;
	}
}

/* ---------------------------------------------------------------- whose a store is */

struct owner {
	const char *host;
	bool is_known;
};

static int compare_owner(void *context, const struct pathprof_parcel_row *row)
{
	struct owner *owner = context;

	owner->is_known = !strcmp(row->host, owner->host);
	return owner->is_known;
}

/*
 * A host that was renamed or cloned sends parcels of a store of which another name sent some. The
 * parcels of the other name stay as they are, and count once. *ret_why NULL: this host may send.
 * -errno, error filled.
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
	*ret_why = store_cnt >= STORES_MAX ? "this host has sent of 16 databases already" : NULL;
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- taking one */

/* Returns NULL if the hub accepts a parcel of that time. */
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

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A parcel has a million rows at most: their sum fits. */
static uint64_t counts_of(const struct pathprof_profile *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->path_cnt; i++)
		sum += least(p->paths[i].samples, COUNTS_MAX);
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		sum += least(p->edges[i].count, COUNTS_MAX) +
		       least(p->edges[i].mispredicted, COUNTS_MAX);
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		sum += least(p->clocks[i].samples, COUNTS_MAX);
	return sum;
}

/* Returns NULL if one host can have counted that much in a slot. */
static const char *judge_counts(const struct pathprof_parcel *parcel)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		sum += counts_of(&parcel->parts[i].profile);
	return sum < COUNTS_MAX ? NULL
				: "its counts add up to 2^40 or more, which no five minutes bring";
}

/* Reports this at most once an hour, so that clones that go on for weeks do not fill the log. */
static void say_beside(struct hub_ingest *ingest, const struct pathprof_parcel *parcel)
{
	char id[HUB_STORE_TEXT];
	uint64_t now_ns = pp_monotonic_ns();

	if (ingest->beside_ns && now_ns < ingest->beside_ns + BESIDE_NS)
		return;
	ingest->beside_ns = now_ns;
	hub_note("%s: its database %s has more than one history: a machine was cloned with it, put "
		 "back from a snapshot, or renamed; all of them count",
		 parcel->host.name, hub_store_text(parcel->store, id));
}

/* The counts are stored already, and stay without the names if this fails. */
static void add_names(struct hub_ingest *ingest, const struct pathprof_parcel *parcel)
{
	struct pathprof_error error = {""};
	uint64_t cut = 0;

	if (pathprof_store_add_names(ingest->store, parcel, &cut, &error) < 0)
		hub_note("%s: names of its functions are not kept: %s", parcel->host.name,
			 error.text);
	if (cut && !ingest->counts.cut)
		hub_note("%s: names of functions are left out: a build has more than %d, or was "
			 "not counted; this is said once",
			 parcel->host.name, PATHPROF_STORE_FUNCTIONS_MAX);
	ingest->counts.cut += cut;
}

static unsigned int add(struct hub_ingest *ingest, const struct pathprof_parcel *parcel,
			json_t **ret_answer)
{
	static const char *const names[] = {
		[PATHPROF_PARCEL_ADDED] = "added",
		[PATHPROF_PARCEL_REPLACED] = "replaced",
		[PATHPROF_PARCEL_BESIDE] = "beside",
		[PATHPROF_PARCEL_KNOWN] = "known",
	};
	struct hub_ingest_counts *counts = &ingest->counts;
	enum pathprof_parcel_added added = PATHPROF_PARCEL_KNOWN;
	struct pathprof_error error = {""};
	int r = pathprof_store_add_parcel(ingest->store, parcel, &added, &error);

	if (r < 0)
		return refuse(ingest, status_of(r), error.text, ret_answer);
	if (added == PATHPROF_PARCEL_BESIDE)
		say_beside(ingest, parcel);
	counts->beside += added == PATHPROF_PARCEL_BESIDE;
	counts->added += added == PATHPROF_PARCEL_ADDED;
	counts->replaced += added == PATHPROF_PARCEL_REPLACED;
	counts->known += added == PATHPROF_PARCEL_KNOWN;
	add_names(ingest, parcel);
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
	why = judge_counts(parcel);
	if (why)
		return refuse(ingest, 400, why, ret_answer);
	r = judge_store(ingest, host, parcel->store, &why, &error);
	if (r < 0)
		return refuse(ingest, status_of(r), error.text, ret_answer);
	if (why)
		return refuse(ingest, 403, why, ret_answer);
	/* The sender's name is taken from the certificate, whatever the parcel says. */
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

/* The slots of a store. One that several hosts sent is summed up: they have no window in common. */
struct have {
	json_t *slots;
	const char *host;               /* the host that asks */
	bool is_shared;                 /* another host sent parcels of the store as well */
	struct pathprof_parcel_row sum; /* of the slot at hand; without windows: none yet */
};

/* "[slot, windows, digest]", without the digest where it is not known. */
static int end_slot(struct have *have)
{
	const struct pathprof_parcel_row *sum = &have->sum;
	json_t *row;

	if (!sum->window_cnt)
		return 0;
	row = json_pack("[I, I]", (json_int_t)sum->slot_s, (json_int_t)sum->window_cnt);
	if (sum->is_known)
		json_array_append_new(row, json_integer((json_int_t)sum->digest));
	return json_array_append_new(have->slots, row);
}

static int list(void *context, const struct pathprof_parcel_row *row)
{
	struct have *have = context;
	int r = 0;

	have->is_shared = have->is_shared || strcmp(row->host, have->host) != 0;
	if (row->slot_s == have->sum.slot_s && have->sum.window_cnt) {
		have->sum.window_cnt += row->window_cnt;
		have->sum.digest += row->digest;
		have->sum.is_known = have->sum.is_known && row->is_known;
		return 0;
	}
	r = end_slot(have);
	have->sum = *row;
	have->sum.host = NULL;
	return r;
}

static int list_slots(struct hub_ingest *ingest, const char *host,
		      const uint8_t id[PATHPROF_PARCEL_STORE_BYTES], json_t *answer,
		      struct pathprof_error *error)
{
	struct have have = {.slots = json_array(), .host = host};
	int r = pathprof_store_parcels_of(ingest->store, id, list, &have, error);

	if (r == 0)
		r = end_slot(&have);
	json_object_set_new(answer, "host", json_string(host));
	json_object_set_new(answer, "shared", json_boolean(have.is_shared));
	json_object_set_new(answer, "slots", have.slots);
	json_object_set_new(answer, "files", hub_files_wanted(ingest->files));
	return r;
}

/* Windows that this host sent, and those of others, which none of its parcels can replace. */
static int list_windows(struct hub_ingest *ingest, const char *host,
			const uint8_t id[PATHPROF_PARCEL_STORE_BYTES], int64_t slot_s,
			json_t *answer, struct pathprof_error *error)
{
	json_t *lists[] = {json_array(), json_array()};
	struct pathprof_parcel_key *keys = NULL;
	size_t cnt = 0;
	int r = pathprof_store_parcel_keys(ingest->store, id, slot_s, host, &keys, &cnt, error);

	for (size_t i = 0; i < cnt; i++)
		json_array_append_new(lists[keys[i].fixed], json_integer((json_int_t)keys[i].key));
	json_object_set_new(answer, "windows", lists[0]);
	json_object_set_new(answer, "others", lists[1]);
	free(keys);
	return r;
}

static bool parse_slot(const char *text, int64_t *ret_slot_s)
{
	char *end;

	errno = 0;
	*ret_slot_s = strtoll(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

unsigned int hub_ingest_have(struct hub_ingest *ingest, const char *host, const char *store,
			     const char *slot, json_t **ret_answer)
{
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_error error = {""};
	int64_t slot_s = 0;
	const char *why;
	json_t *answer;
	int r;

	if (!store || !hub_store_parse(store, id))
		return say_error(400, "store= is not the id of a store: 32 digits of hex",
				 ret_answer);
	if (slot && !parse_slot(slot, &slot_s))
		return say_error(400, "slot= is not in seconds since 1970", ret_answer);
	r = judge_store(ingest, host, id, &why, &error);
	if (r == 0 && why)
		return say_error(403, why, ret_answer);
	answer = json_pack("{s:I, s:I, s:i}", "since", (json_int_t)(now_s() - ingest->keep_s),
			   "now", (json_int_t)now_s(), "parcels", PATHPROF_PARCEL_VERSION);
	if (r == 0)
		r = slot ? list_windows(ingest, host, id, slot_s, answer, &error)
			 : list_slots(ingest, host, id, answer, &error);
	if (r < 0) {
		json_decref(answer);
		return say_error(status_of(r), error.text, ret_answer);
	}
	*ret_answer = answer;
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
	hub_files_retain(ingest->files);
	if (pathprof_store_retain(ingest->store, &retention, &removed, &error) < 0)
		hub_note("what is older than it is kept cannot be removed: %s", error.text);
}

bool hub_ingest_roll(struct hub_ingest *ingest)
{
	struct pathprof_error error = {""};
	bool rolled = false;
	int r;

	if (!ingest->roll_s || pp_monotonic_ns() < ingest->roll_ns)
		return false;
	r = pathprof_store_roll(ingest->store, now_s() - ingest->roll_s, &rolled, &error);
	rolled = rolled && r == 0;
	if (!rolled)
		ingest->roll_ns = pp_monotonic_ns() + (r < 0 ? ROLL_FAILED_NS : ROLL_IDLE_NS);
	ingest->counts.rolled += rolled;
	if (r < 0)
		hub_note("%s: an hour cannot be summed up: %s; the next try is in ten minutes",
			 ingest->db, error.text);
	return rolled;
}

int hub_ingest_backlog(const struct hub_ingest *ingest, int64_t *ret_s,
		       struct pathprof_error *error)
{
	int64_t before_s = now_s() - ingest->roll_s, hour_s = -1;
	int r = ingest->roll_s ? pathprof_store_roll_next(ingest->store, before_s, &hour_s, error)
			       : 0;

	*ret_s = r == 0 && hour_s >= 0 ? before_s - (hour_s + HOUR_S) : 0;
	return r;
}
