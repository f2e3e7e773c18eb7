// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub send: what a host does. Nothing that matters is kept between two rounds: each asks
 * the hub which slots of this store it has, and sends those of which the hub has none or fewer
 * windows; so a hub that lost its database gets it again. A slot of which the hub has windows that
 * are not here (the machine was cloned, or put back from a snapshot) is asked for by its windows,
 * and the others are sent. The newest slot goes first, then from the oldest on. A slot is sent when
 * it is over, at a second of the next one that is the store's own, so hosts do not come together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/vector.h"
#include "client.h"
#include "upload.h"
#include "pathprof/parcel_names.h"
#include "pathprof/parcel_store.h"

#define PAUSE_MAX_S 900
#define FORBIDDEN_S 3600
/* The hub refuses parcels of a host whose clock is further off. */
#define SKEW_MAX_S 3600
/* Names are sent again after a week, and when the hub has this many fewer slots than before. */
#define NAMES_NS (7 * 86400 * PP_NSEC_PER_SEC)
#define LOST_MIN 4

struct slot {
	int64_t slot_s;
	uint32_t window_cnt;
	uint64_t digest;
};

/* The hub's windows of a slot. */
struct there {
	int64_t window_cnt;
	bool is_known; /* the digest is: older hubs have none */
	uint64_t digest;
};

/* One round: the slots here, the slots at the hub, and the results. */
struct round {
	const struct hub_options *options;
	struct hub_client client;
	struct pathprof_store *store;
	struct slot *slots;
	size_t slot_cnt;
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_parcel_host host;
	json_t *have;                 /* object: from a slot to its row in the hub's answer */
	json_t *files;                /* array: builds that the hub asks for; NULL: none */
	struct pathprof_namer *namer; /* NULL: no names are sent */
	json_t *settled; /* object: slot to the hub's digest at which nothing was left to send */
	bool *said_shared;
	uint32_t version; /* the newest version of parcels that both sides know */
	int64_t since_s;  /* the hub wants no slots before this one */
	int64_t open_s;   /* this slot and later ones are not sent yet */
	uint64_t sent_cnt, known_cnt, refused_cnt, file_cnt;
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

static const char *name_slot(char name[24], int64_t slot_s)
{
	snprintf(name, 24, "%" PRId64, slot_s);
	return name;
}

/* The newest version of parcels that both sides know. Older hubs announce none, and read the
 * first. */
static uint32_t version_of(const json_t *answer)
{
	json_int_t newest = json_integer_value(json_object_get(answer, "parcels"));

	if (newest < 1)
		return 1;
	return newest < PATHPROF_PARCEL_VERSION ? (uint32_t)newest : PATHPROF_PARCEL_VERSION;
}

static int keep_have(struct round *round, json_t *answer)
{
	json_t *slots = json_object_get(answer, "slots"), *row;
	size_t i;

	round->since_s = json_integer_value(json_object_get(answer, "since"));
	round->version = version_of(answer);
	round->have = json_object();
	round->files = json_incref(json_object_get(answer, "files"));
	if (!json_is_array(slots))
		return -EBADMSG;
	json_array_foreach(slots, i, row)
	{
		char name[24];

		name_slot(name, json_integer_value(json_array_get(row, 0)));
		json_object_set(round->have, name, row);
	}
	return 0;
}

static struct there there_of(const struct round *round, const struct slot *slot)
{
	char name[24];
	const json_t *row = json_object_get(round->have, name_slot(name, slot->slot_s));
	const json_t *digest = json_array_get(row, 2);

	return (struct there){
		.window_cnt = json_integer_value(json_array_get(row, 1)),
		.is_known = json_is_integer(digest),
		.digest = (uint64_t)json_integer_value(digest),
	};
}

/* Nothing is sent while the clocks disagree: the hub would refuse all of it. */
static bool is_clock_right(const struct round *round, const json_t *answer)
{
	int64_t hub_s = json_integer_value(json_object_get(answer, "now"));
	int64_t apart_s = hub_s - pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;

	if (!hub_s || (apart_s <= SKEW_MAX_S && apart_s >= -SKEW_MAX_S))
		return true;
	hub_note("%s: the hub's clock and this host's are %" PRId64 " s apart: nothing is sent "
		 "until they agree",
		 round->options->hub, apart_s);
	return false;
}

/* Returns the answer to GET /v1/have, for one slot or for all. Caller frees. NULL: *ret_outcome
 * says why. */
static json_t *ask_about(struct round *round, const struct slot *slot, enum outcome *ret_outcome)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	char path[96 + HUB_STORE_TEXT], id[HUB_STORE_TEXT];
	json_t *object = NULL;
	int len = snprintf(path, sizeof(path), "/v1/have?store=%s", hub_store_text(round->id, id));

	if (slot)
		snprintf(path + len, sizeof(path) - (size_t)len, "&slot=%" PRId64, slot->slot_s);
	hub_client_ask(&round->client, path, NULL, 0, &answer);
	*ret_outcome = outcome_of(round, &answer);
	if (*ret_outcome == TAKEN)
		object = hub_answer_json(&answer);
	else
		hub_client_say(&round->client, "what it has", &answer);
	return object;
}

static enum outcome not_an_answer(const struct round *round)
{
	hub_note("%s: what it has: an answer that is none", round->options->hub);
	return LATER;
}

/*
 * A host that was renamed or cloned goes on under its new name; one that has another's certificate
 * does the same by mistake, and would count as that one. Told once.
 */
static void say_shared(struct round *round, const json_t *answer)
{
	const char *name = json_string_value(json_object_get(answer, "host"));

	if (*round->said_shared || !name || !json_is_true(json_object_get(answer, "shared")))
		return;
	*round->said_shared = true;
	hub_note("%s: this database was sent under another name before, and --cert %s is that of "
		 "%s: if this host was neither renamed nor cloned, this is another host's "
		 "certificate: give --cert and --key of its own",
		 round->options->hub, round->options->certificate, name);
}

static enum outcome ask_have(struct round *round)
{
	enum outcome outcome;
	json_t *object = ask_about(round, NULL, &outcome);

	if (outcome != TAKEN)
		return outcome;
	if (keep_have(round, object) < 0)
		outcome = not_an_answer(round);
	else if (!is_clock_right(round, object))
		outcome = REFUSED;
	say_shared(round, object);
	json_decref(object);
	return outcome;
}

static bool is_settled(const struct round *round, const struct slot *slot, uint64_t digest)
{
	char name[24];
	const json_t *at = json_object_get(round->settled, name_slot(name, slot->slot_s));

	return at && (uint64_t)json_integer_value(at) == digest;
}

static void settle(struct round *round, const struct slot *slot, uint64_t digest)
{
	char name[24];

	json_object_set_new(round->settled, name_slot(name, slot->slot_s),
			    json_integer((json_int_t)digest));
}

static bool is_wanted(const struct round *round, const struct slot *slot)
{
	return slot->slot_s < round->open_s && slot->slot_s >= round->since_s;
}

/* ---------------------------------------------------------------- sending */

/* Leaves out the names that the hub has. */
static int name(struct round *round, struct pathprof_parcel *parcel, struct pathprof_error *error)
{
	if (!round->namer) {
		pathprof_parcel_names_release(parcel);
		return 0;
	}
	if (pathprof_namer_name(round->namer, parcel) < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	return 0;
}

/* left_out: keys of windows, ascending. The caller always releases the parcel. */
static int pack(struct round *round, int64_t slot_s, const uint64_t *left_out, size_t cnt,
		struct pathprof_parcel *parcel, uint8_t **ret_bytes, size_t *ret_len)
{
	struct pathprof_error error = {""};
	int r = pathprof_store_parcel_rest(round->store, slot_s, left_out, cnt, parcel, &error);

	if (r == 0)
		r = name(round, parcel, &error);
	if (r == 0) {
		parcel->version = pathprof_parcel_version_to_send(parcel, round->version);
		parcel->host = round->host;
		parcel->host.sent_ns = pp_realtime_ns();
		r = pathprof_parcel_write(parcel, ret_bytes, ret_len, &error);
	}
	return r < 0 ? hub_fail("slot %" PRId64 ": %s", slot_s, error.text) : 0;
}

static enum outcome send_windows(struct round *round, const struct slot *slot,
				 const uint64_t *left_out, size_t cnt)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	_cleanup_free_ uint8_t *bytes = NULL;
	struct pathprof_parcel parcel = {.slot_s = 0};
	enum outcome outcome = REFUSED;
	size_t len = 0;

	if (pack(round, slot->slot_s, left_out, cnt, &parcel, &bytes, &len) == 0) {
		hub_client_ask(&round->client, "/v1/parcels", bytes, len, &answer);
		outcome = outcome_of(round, &answer);
		if (outcome == TAKEN)
			round->sent_cnt++;
		else
			hub_client_say(&round->client, "a parcel", &answer);
	}
	if (outcome == TAKEN && round->namer)
		pathprof_namer_told(round->namer, &parcel);
	pathprof_parcel_release(&parcel);
	return outcome;
}

/* ---------------------------------------------------------------- a slot that differs */

static int compare_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Windows that the hub has of a slot: this host's, and behind them those under another's name. */
struct there_windows {
	uint64_t *keys;
	size_t own_cnt, cnt;
	uint64_t digest; /* of the slot at the hub */
};

static size_t add_keys(uint64_t *keys, const json_t *windows)
{
	const json_t *key;
	size_t i;

	json_array_foreach(windows, i, key)
	{
		keys[i] = (uint64_t)json_integer_value(key);
	}
	return json_array_size(windows);
}

/* Returns false if there is no memory. */
static bool read_windows(struct there_windows *there, const json_t *answer)
{
	const json_t *own = json_object_get(answer, "windows");
	const json_t *others = json_object_get(answer, "others");

	there->keys =
		calloc(json_array_size(own) + json_array_size(others) + 1, sizeof(*there->keys));
	if (!there->keys)
		return false;
	there->own_cnt = add_keys(there->keys, own);
	there->cnt = there->own_cnt + add_keys(there->keys + there->own_cnt, others);
	return true;
}

/* How many of the slot's windows here are among the keys, which are sorted. -errno, said. */
static int64_t count_common(struct round *round, const struct slot *slot, uint64_t *keys,
			    size_t cnt)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_error error = {""};
	int64_t rest;
	int r;

	qsort(keys, cnt, sizeof(*keys), compare_key);
	r = pathprof_store_parcel_rest(round->store, slot->slot_s, keys, cnt, &parcel, &error);
	rest = r == 0 ? pathprof_parcel_window_cnt(&parcel) : 0;
	pathprof_parcel_release(&parcel);
	if (r == 0 || r == -ENODATA)
		return (int64_t)slot->window_cnt - rest;
	hub_note("slot %" PRId64 ": %s", slot->slot_s, error.text);
	return r;
}

/*
 * Sends a slot whose windows at the hub differ from those here. If all windows that the hub has
 * under this name are here too, the whole slot is sent and replaces them, without the windows that
 * the hub has under other names. Otherwise only the windows that the hub lacks are sent.
 */
static enum outcome send_others(struct round *round, const struct slot *slot,
				struct there_windows *there)
{
	uint64_t *others = there->keys + there->own_cnt;
	size_t other_cnt = there->cnt - there->own_cnt;
	int64_t own = count_common(round, slot, there->keys, there->own_cnt);
	int64_t other = count_common(round, slot, others, other_cnt);

	if (own < 0 || other < 0)
		return REFUSED;
	if (own + other < slot->window_cnt && (size_t)own == there->own_cnt)
		return send_windows(round, slot, others, other_cnt);
	if (own + other < slot->window_cnt) {
		qsort(there->keys, there->cnt, sizeof(*there->keys), compare_key);
		return send_windows(round, slot, there->keys, there->cnt);
	}
	settle(round, slot, there->digest);
	round->known_cnt++;
	return TAKEN;
}

static enum outcome send_lacking(struct round *round, const struct slot *slot, uint64_t digest)
{
	struct there_windows there = {.digest = digest};
	enum outcome outcome;
	json_t *object = ask_about(round, slot, &outcome);

	if (outcome == TAKEN && !json_is_array(json_object_get(object, "windows")))
		outcome = not_an_answer(round);
	else if (outcome == TAKEN)
		outcome = read_windows(&there, object) ? send_others(round, slot, &there) : LATER;
	json_decref(object);
	free(there.keys);
	return outcome;
}

/* ---------------------------------------------------------------- all slots */

static enum outcome send_slot(struct round *round, const struct slot *slot)
{
	struct there there = there_of(round, slot);

	if (!is_wanted(round, slot))
		return TAKEN;
	if (there.is_known && there.digest != slot->digest &&
	    !is_settled(round, slot, there.digest))
		return send_lacking(round, slot, there.digest);
	if (there.is_known || there.window_cnt >= slot->window_cnt) {
		round->known_cnt++;
		return TAKEN;
	}
	return send_windows(round, slot, NULL, 0);
}

/* Sends the newest slot first, then from the oldest on. A refused parcel does not stop the
 * others. */
static enum outcome send_slots(struct round *round)
{
	for (size_t i = 0; i < round->slot_cnt; i++) {
		enum outcome outcome = send_slot(
			round, &round->slots[(i + round->slot_cnt - 1) % round->slot_cnt]);

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
	round->slots[round->slot_cnt++] = (struct slot){row->slot_s, row->window_cnt, row->digest};
	return 0;
}

static int read_id_of(struct round *round, const struct slot *slot, struct pathprof_error *error)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	int r = pathprof_store_parcel(round->store, slot->slot_s, &parcel, error);

	if (r == 0)
		memcpy(round->id, parcel.store, sizeof(round->id));
	pathprof_parcel_release(&parcel);
	return r;
}

/* Reads the id of the store from a parcel of it. A slot that cannot be read does not stop the
 * others. */
static int read_id(struct round *round, struct pathprof_error *error)
{
	int r = -ENODATA;

	for (size_t i = 0; r < 0 && i < round->slot_cnt; i++)
		r = read_id_of(round, &round->slots[i], error);
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
	if (round->options->labels)
		pathprof_labels_add(round->host.labels, round->options->labels);
	round->open_s = round->options->once ? INT64_MAX : pathprof_parcel_slot(pp_realtime_ns());
	return r;
}

static void release_round(struct round *round)
{
	pathprof_store_free(round->store);
	json_decref(round->have);
	json_decref(round->files);
	free(round->slots);
	hub_client_close(&round->client);
}

/* Without this, the counts of a hub that does not answer would look as if there were nothing to
 * send. */
static const char *why_not_all(const struct round *round, enum outcome outcome)
{
	if (outcome == LATER)
		return "; the hub could not take the rest now";
	if (outcome == FORBIDDEN)
		return "; the hub refuses this certificate";
	if (outcome == REFUSED && !round->refused_cnt)
		return "; nothing goes until the clocks agree";
	return "";
}

static void say_round(const struct round *round, enum outcome outcome)
{
	char status[224], files[48] = "";

	if (round->file_cnt)
		snprintf(files, sizeof(files), ", %" PRIu64 " %s uploaded", round->file_cnt,
			 pp_plural(round->file_cnt, "file", "files"));
	snprintf(status, sizeof(status),
		 "STATUS=%" PRIu64 " %s sent, %" PRIu64 " there already, %" PRIu64 " refused%s%s",
		 round->sent_cnt, pp_plural(round->sent_cnt, "parcel", "parcels"), round->known_cnt,
		 round->refused_cnt, files, why_not_all(round, outcome));
	sd_notify(0, status);
	if (round->options->once)
		printf("%s\n", status + strlen("STATUS="));
}

/* State that one round leaves to the next. */
struct left {
	json_t *settled;
	struct pathprof_namer *namer; /* NULL: no names are sent */
	uint64_t named_ns;            /* since when names are not sent again, CLOCK_MONOTONIC */
	size_t have_cnt;              /* slots that the hub had */
	bool said_shared;             /* another name for this database was logged */
};

/* Forgets which names were sent if the hub lost slots, since then it lost names too; and at regular
 * times, since the hub forgets names that are not used for long. */
static void forget_names(struct left *left, size_t have_cnt)
{
	uint64_t now_ns = pp_monotonic_ns();
	bool is_due = now_ns - left->named_ns > NAMES_NS || have_cnt + LOST_MIN <= left->have_cnt;

	left->have_cnt = have_cnt;
	if (!left->namer || !is_due)
		return;
	pathprof_namer_forget(left->namer);
	left->named_ns = now_ns;
}

/* *ret_id: the id of the store, from which its second within a slot is computed. */
static enum outcome run_round(const struct hub_options *options, struct left *left,
			      long *ret_retry_after_s, uint8_t ret_id[PATHPROF_PARCEL_STORE_BYTES])
{
	struct round round = {.options = options,
			      .namer = left->namer,
			      .settled = left->settled,
			      .said_shared = &left->said_shared};
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
		if (outcome == TAKEN) {
			forget_names(left, json_object_size(round.have));
			outcome = send_slots(&round);
			if (options->upload && outcome != LATER && outcome != FORBIDDEN)
				round.file_cnt =
					hub_upload_files(&round.client, round.store, round.files);
		}
	}
	if (r == 0)
		say_round(&round, outcome);
	*ret_retry_after_s = round.retry_after_s;
	memcpy(ret_id, round.id, sizeof(round.id));
	release_round(&round);
	return outcome;
}

/* ---------------------------------------------------------------- again and again */

/* Returns the seconds until the store's own second of a slot comes next. */
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

/* _exit() skips the libraries' exit handlers, which would bring 0.7 MiB of code into memory. */
static _Noreturn void end(enum outcome outcome)
{
	_exit(fflush(stdout) == 0 && outcome == TAKEN ? HUB_OK : HUB_FAILURE);
}

int hub_send(const struct hub_options *options)
{
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES] = {0};
	unsigned int failures = 0;
	struct left left;
	long retry_after_s = 0;
	int r = options->argc ? hub_usage(options, "%s: not expected", options->argv[0])
			      : hub_client_check(options);

	if (r)
		return r;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	left = (struct left){.settled = json_object(), .named_ns = pp_monotonic_ns()};
	if (!options->no_names && pathprof_namer_new(&left.namer) < 0)
		return hub_fail("out of memory");
	sd_notify(0, "READY=1");
	for (;;) {
		enum outcome outcome = run_round(options, &left, &retry_after_s, id);
		int64_t wait_s = until_next_slot_s(id);

		if (options->once) {
			json_decref(left.settled);
			pathprof_namer_free(left.namer);
			end(outcome);
		}
		failures = outcome == LATER ? failures + 1 : 0;
		if (outcome == LATER)
			wait_s = pause_s(failures, retry_after_s);
		else if (outcome == FORBIDDEN)
			wait_s = FORBIDDEN_S;
		nanosleep(&(struct timespec){.tv_sec = wait_s}, NULL);
	}
}
