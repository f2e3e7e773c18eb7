// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub send: what a host does. Nothing is kept between two rounds: each asks the hub which
 * slots of this store it has, and sends those that it lacks or has emptier; so a hub that lost its
 * database gets it again. The newest slot goes first, then from the oldest on. A slot is sent when
 * it is over, at a second of the next one that is the store's own, so hosts do not come together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"
#include "client.h"
#include "pathprof/parcel_store.h"

#define PAUSE_MAX_S 900
#define FORBIDDEN_S 3600

struct slot {
	int64_t slot_s;
	uint32_t window_cnt;
};

/* One round: what there is, what the hub has, what came of it. */
struct round {
	const struct hub_options *options;
	struct hub_client client;
	struct pathprof_store *store;
	struct slot *slots;
	size_t slot_cnt;
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_parcel_host host;
	json_t *have;    /* object: slot to windows */
	int64_t since_s; /* of older slots the hub wants none */
	int64_t open_s;  /* of this and later slots not yet */
	uint64_t sent_cnt, known_cnt, refused_cnt;
	long retry_after_s;
};

enum outcome { TAKEN, REFUSED, LATER, FORBIDDEN };

#define _cleanup_answer_ _cleanup_(hub_answer_release)

static enum outcome outcome_of(struct round *round, const struct hub_answer *answer)
{
	round->retry_after_s = answer->retry_after_s;
	switch (answer->status) {
	case 200:
		return TAKEN;
	case 401:
	case 403:
		return FORBIDDEN;
	case 400:
	case 409:
	case 413:
		return REFUSED;
	default:
		return LATER;
	}
}

/* ---------------------------------------------------------------- what the hub has */

static int keep_have(struct round *round, json_t *answer)
{
	json_t *slots = json_object_get(answer, "slots"), *pair;
	size_t i;

	round->since_s = json_integer_value(json_object_get(answer, "since"));
	round->have = json_object();
	if (!json_is_array(slots))
		return -EBADMSG;
	json_array_foreach(slots, i, pair)
	{
		char name[24];

		snprintf(name, sizeof(name), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(json_array_get(pair, 0)));
		json_object_set(round->have, name, json_array_get(pair, 1));
	}
	return 0;
}

static enum outcome ask_have(struct round *round)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	char path[64 + HUB_STORE_TEXT], id[HUB_STORE_TEXT];
	enum outcome outcome;
	json_t *object;

	snprintf(path, sizeof(path), "/v1/have?store=%s", hub_store_text(round->id, id));
	hub_client_ask(&round->client, path, NULL, 0, &answer);
	outcome = outcome_of(round, &answer);
	if (outcome != TAKEN) {
		hub_client_say(&round->client, "what it has", &answer);
		return outcome;
	}
	object = hub_answer_json(&answer);
	if (keep_have(round, object) < 0) {
		hub_note("%s: what it has: an answer that is none", round->options->hub);
		outcome = LATER;
	}
	json_decref(object);
	return outcome;
}

static bool is_lacking(const struct round *round, const struct slot *slot)
{
	char name[24];

	snprintf(name, sizeof(name), "%" PRId64, slot->slot_s);
	return slot->slot_s < round->open_s && slot->slot_s >= round->since_s &&
	       json_integer_value(json_object_get(round->have, name)) < slot->window_cnt;
}

/* ---------------------------------------------------------------- sending */

static int pack(struct round *round, int64_t slot_s, uint8_t **ret_bytes, size_t *ret_len)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_error error = {""};
	int r = pathprof_store_parcel(round->store, slot_s, &parcel, &error);

	if (r == 0) {
		parcel.host = round->host;
		parcel.host.sent_ns = pp_realtime_ns();
		r = pathprof_parcel_write(&parcel, ret_bytes, ret_len, &error);
	}
	pathprof_parcel_release(&parcel);
	return r < 0 ? hub_fail("slot %" PRId64 ": %s", slot_s, error.text) : 0;
}

static enum outcome send_slot(struct round *round, const struct slot *slot)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	_cleanup_free_ uint8_t *bytes = NULL;
	enum outcome outcome;
	size_t len = 0;

	if (pack(round, slot->slot_s, &bytes, &len))
		return REFUSED;
	hub_client_ask(&round->client, "/v1/parcels", bytes, len, &answer);
	outcome = outcome_of(round, &answer);
	if (outcome == TAKEN)
		round->sent_cnt++;
	else
		hub_client_say(&round->client, "a parcel", &answer);
	return outcome;
}

/* The newest first, then from the oldest on. A parcel that is refused keeps no other back. */
static enum outcome send_slots(struct round *round)
{
	for (size_t i = 0; i < round->slot_cnt; i++) {
		const struct slot *slot =
			&round->slots[(i + round->slot_cnt - 1) % round->slot_cnt];
		enum outcome outcome = TAKEN;

		if (is_lacking(round, slot))
			outcome = send_slot(round, slot);
		else if (slot->slot_s < round->open_s)
			round->known_cnt++;
		if (outcome == REFUSED)
			round->refused_cnt++;
		else if (outcome != TAKEN)
			return outcome;
	}
	return round->refused_cnt ? REFUSED : TAKEN;
}

/* ---------------------------------------------------------------- a round */

static int take_slot(void *context, const struct pathprof_slot_row *row)
{
	struct round *round = context;

	if (pp_resize(&round->slots, round->slot_cnt + 1) < 0)
		return -ENOMEM;
	round->slots[round->slot_cnt++] = (struct slot){row->slot_s, row->window_cnt};
	return 0;
}

/* The id of the store stands in its parcels. */
static int read_id(struct round *round, struct pathprof_error *error)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	int r = pathprof_store_parcel(round->store, round->slots[0].slot_s, &parcel, error);

	if (r == 0)
		memcpy(round->id, parcel.store, sizeof(round->id));
	pathprof_parcel_release(&parcel);
	return r;
}

static int look(struct round *round, struct pathprof_error *error)
{
	const struct pathprof_filter all = {0};
	int r = pathprof_store_open(&round->store, round->options->db, PATHPROF_STORE_READ, error);

	if (r == 0)
		r = pathprof_store_slots(round->store, &all, take_slot, round, error);
	if (r == 0 && round->slot_cnt)
		r = read_id(round, error);
	pathprof_parcel_this_host(&round->host);
	round->open_s = round->options->once ? INT64_MAX : pathprof_parcel_slot(pp_realtime_ns());
	return r;
}

static void release_round(struct round *round)
{
	pathprof_store_free(round->store);
	json_decref(round->have);
	free(round->slots);
	hub_client_close(&round->client);
}

static void say_round(const struct round *round)
{
	char status[160];

	snprintf(status, sizeof(status),
		 "STATUS=%" PRIu64 " parcels sent, %" PRIu64 " there already, %" PRIu64 " refused",
		 round->sent_cnt, round->known_cnt, round->refused_cnt);
	sd_notify(0, status);
	if (round->options->once)
		printf("%s\n", status + strlen("STATUS="));
}

/* *ret_id: the store's, for who comes when. */
static enum outcome run_round(const struct hub_options *options, long *ret_retry_after_s,
			      uint8_t ret_id[PATHPROF_PARCEL_STORE_BYTES])
{
	struct round round = {.options = options};
	struct pathprof_error error = {""};
	enum outcome outcome = LATER;
	int r = look(&round, &error);

	if (r == 0)
		r = hub_client_open(&round.client, options);
	if (r < 0) {
		hub_note("%s: %s", options->db, error.text[0] ? error.text : strerror(-r));
	} else if (!round.slot_cnt) {
		outcome = TAKEN;
	} else {
		outcome = ask_have(&round);
		if (outcome == TAKEN)
			outcome = send_slots(&round);
	}
	if (r == 0)
		say_round(&round);
	*ret_retry_after_s = round.retry_after_s;
	memcpy(ret_id, round.id, sizeof(round.id));
	release_round(&round);
	return outcome;
}

/* ---------------------------------------------------------------- again and again */

/* Until the store's own second of the next slot. */
static int64_t until_next_slot_s(const uint8_t id[PATHPROF_PARCEL_STORE_BYTES])
{
	int64_t now_s = pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
	int64_t phase_s = (id[0] << 8 | id[1]) % PATHPROF_PARCEL_SLOT_S;
	int64_t wait_s = PATHPROF_PARCEL_SLOT_S - (now_s - phase_s) % PATHPROF_PARCEL_SLOT_S;

	return wait_s;
}

/* Full jitter: anything up to a bound that doubles, so that hosts do not come back together. */
static int64_t pause_s(unsigned int failures, long retry_after_s)
{
	int64_t bound = failures < 10 ? 1ll << failures : PAUSE_MAX_S;
	uint32_t chance = 0;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance = (uint32_t)pp_monotonic_ns();
	bound = bound < PAUSE_MAX_S ? bound : PAUSE_MAX_S;
	return retry_after_s + 1 + chance % (bound ? bound : 1);
}

int hub_send(const struct hub_options *options)
{
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES] = {0};
	unsigned int failures = 0;
	long retry_after_s = 0;
	int r = options->argc ? hub_usage(options, "%s: not expected", options->argv[0])
			      : hub_client_check(options);

	if (r)
		return r;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	sd_notify(0, "READY=1");
	for (;;) {
		enum outcome outcome = run_round(options, &retry_after_s, id);
		int64_t wait_s = until_next_slot_s(id);

		if (options->once)
			return outcome == TAKEN ? HUB_OK : HUB_FAILURE;
		failures = outcome == LATER ? failures + 1 : 0;
		if (outcome == LATER)
			wait_s = pause_s(failures, retry_after_s);
		else if (outcome == FORBIDDEN)
			wait_s = FORBIDDEN_S;
		nanosleep(&(struct timespec){.tv_sec = wait_s}, NULL);
	}
}
