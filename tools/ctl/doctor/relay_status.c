// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-relay as `status` shows it: see relay_status.h. The number of alerts that wait: for each
 * configured receiver, those in the database after the last one that the relay noted as told.
 *
 * Source: told.json, pathprof-relay(8).
 */
#include "relay_status.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "../text/unit.h"
#include "base/plural.h"
#include "pathprof/foreign.h"
#include "status.h"

/* ---------------------------------------------------------------- what waits */

#define NOTES_MAX 4096 /* bytes */

static const struct {
	const char *setting, *receiver;
} receivers[] = {
	{"Exec=", "exec"},
	{"Alertmanager=", "alertmanager"},
	{"Webhook=", "webhook"},
};
#define RECEIVER_CNT (sizeof(receivers) / sizeof(receivers[0]))

/* Reads the relay's notes, empty if there is no file. The directory belongs to the relay's user,
 * and the caller may be root. */
static int read_notes(json_t **ret_notes, const char *directory, struct pathprof_error *error)
{
	_cleanup_free_ char *path = ctl_printf("%s/told.json", directory);
	_cleanup_close_ int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error);
	char text[NOTES_MAX] = "{}";
	ssize_t len = 2;
	json_t *notes;

	if (fd < 0 && fd != -ENOENT)
		return fd;
	if (fd >= 0)
		len = read(fd, text, sizeof(text));
	notes = len < 0 ? NULL : json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(notes)) {
		json_decref(notes);
		return pathprof_fail(error, -EBADMSG, "%s: damaged", path);
	}
	*ret_notes = notes;
	return 0;
}

static int count(void *context, const struct pathprof_message_row *row)
{
	int64_t *cnt = context;

	++*cnt;
	return 0;
}

/* A receiver that was never told anything begins with firing alerts. Ids of another store are
 * ignored. */
static int count_for(int64_t *ret_cnt, struct pathprof_store *store, const json_t *notes,
		     const char *receiver, struct pathprof_error *error)
{
	const json_t *told = json_object_get(json_object_get(notes, "told"), receiver);
	const char *noted = json_string_value(json_object_get(notes, "store"));
	char identity[PATHPROF_STORE_IDENTITY_LEN];
	int64_t newest, after;
	int r;

	if (!json_is_integer(told))
		return pathprof_store_firing(store, count, ret_cnt, error);
	r = pathprof_store_newest_message(store, &newest, identity, error);
	if (r < 0)
		return r;
	after = noted && !strcmp(noted, identity) ? json_integer_value(told) : 0;
	return pathprof_store_messages(store, after, count, ret_cnt, error);
}

/*
 * notes: the relay's directory; it need not be there. settings: "Exec=, Webhook=" as the daemon has
 * them. ret_cnt: of the receiver for which most wait; 0 where none is named. -EACCES: the caller
 * may not read the notes; -EBADMSG: they are damaged.
 */
static int relay_wait_count(int64_t *ret_cnt, struct pathprof_store *store, const char *notes,
			    const char *settings, struct pathprof_error *error)
{
	_cleanup_json_ json_t *noted = NULL;
	int64_t most = 0;
	int r = read_notes(&noted, notes, error);

	for (size_t i = 0; i < RECEIVER_CNT && r >= 0; i++) {
		int64_t cnt = 0;

		if (!strstr(settings, receivers[i].setting))
			continue;
		r = count_for(&cnt, store, noted, receivers[i].receiver, error);
		most = cnt > most ? cnt : most;
	}
	if (r < 0)
		return r;
	*ret_cnt = most;
	return 0;
}

/* ---------------------------------------------------------------- status */

#define SERVICE_NOTES "/var/lib/pathprof-relay"

/* Whether the daemon is that of systemd's unit. If so, ret_relay is the relay's unit. */
static bool read_service(struct unit *ret_relay, const json_t *members)
{
	struct unit daemon;
	bool is_it = unit_read(&daemon, UNIT_SERVICE) && daemon.pid > 0 &&
		     daemon.pid == (long)daemon_status_number(members, "pid", 0);

	unit_release(&daemon);
	*ret_relay = (struct unit){0};
	return is_it && unit_read(ret_relay, UNIT_RELAY) && !strcmp(ret_relay->load, "loaded");
}

/* The directory of notes that the last relay of this daemon named. "": none did, or the relay was
 * connected to another daemon. */
static const char *told_notes(const json_t *members)
{
	return daemon_status_text(members, "relay_notes", "");
}

static int count_waiting(int64_t *ret_cnt, const json_t *members, struct pathprof_store *store,
			 const char *path, bool is_service, struct pathprof_error *error)
{
	_cleanup_free_ char *beside = ctl_printf("%s.relay", path);
	const char *by_hand = *told_notes(members) ? told_notes(members) : beside;

	return relay_wait_count(ret_cnt, store, is_service ? SERVICE_NOTES : by_hand,
				daemon_status_text(members, "relay_settings", ""), error);
}

static bool has_receiver(const json_t *members)
{
	const char *settings = daemon_status_text(members, "relay_settings", "");

	for (size_t i = 0; i < RECEIVER_CNT; i++)
		if (strstr(settings, receivers[i].setting))
			return true;
	return false;
}

/* "; 3 alerts wait"; "" if there is no receiver. */
static char *waiting_text(const json_t *members, struct pathprof_store *store, const char *path,
			  bool is_service)
{
	struct pathprof_error error = {""};
	int64_t cnt = 0;
	int r;

	if (!has_receiver(members))
		return ctl_strdup("");
	r = count_waiting(&cnt, members, store, path, is_service, &error);
	if (r == -EACCES)
		return ctl_strdup("; how many alerts wait is for root to see");
	if (r < 0)
		return ctl_printf("; how many alerts wait is not known: %s", error.text);
	return ctl_printf("; %" PRId64 " %s", cnt,
			  pp_plural((uint64_t)cnt, "alert waits", "alerts wait"));
}

/* The text for a missing relay if the daemon is not that of systemd's unit. */
static char *missing_by_hand(const json_t *members, const char *waiting, const char *path)
{
	const char *notes = told_notes(members);
	const char *words = "missing: none is connected";

	if (*notes)
		return ctl_printf("%s%s: run pathprof-relay --db %s --state %s", words, waiting,
				  path, notes);
	return ctl_printf("%s%s: run pathprof-relay --db %s", words, waiting, path);
}

static char *missing_text(const struct unit *relay, const char *waiting)
{
	_cleanup_free_ char *words = unit_last_words(relay);

	if (!strcmp(relay->active, "inactive"))
		return ctl_printf("missing: %s%s: systemctl restart pathprof-relay",
				  unit_down(relay), waiting);
	if (unit_is_starting(relay))
		return ctl_printf("missing: %s%s", unit_down(relay), waiting);
	if (!strcmp(relay->active, "active"))
		return ctl_printf("missing: it runs and is not connected%s: journalctl -u "
				  "pathprof-relay",
				  waiting);
	return ctl_printf("missing: %s: %s%s: mend the setting that it names, then systemctl "
			  "restart pathprof-relay",
			  unit_down(relay), words, waiting);
}

char *relay_status_text(const json_t *members, struct pathprof_store *store, const char *path)
{
	const char *state = daemon_status_text(members, "relay", "");
	_cleanup_free_ char *waiting = NULL;
	struct unit relay;
	bool is_service;
	char *text;

	if (strcmp(state, "missing") != 0 && strcmp(state, "connected") != 0)
		return *state ? ctl_strdup(state) : NULL;
	is_service = read_service(&relay, members);
	waiting = waiting_text(members, store, path, is_service);
	if (!strcmp(state, "missing"))
		text = is_service ? missing_text(&relay, waiting)
				  : missing_by_hand(members, waiting, path);
	else if (relay.text && *relay.text)
		text = ctl_printf("connected; %s", relay.text);
	else
		text = ctl_printf("connected%s", waiting);
	unit_release(&relay);
	return text;
}

void relay_status_json(json_t *object, const json_t *members, struct pathprof_store *store,
		       const char *path)
{
	struct pathprof_error error = {""};
	struct unit relay;
	bool is_service = read_service(&relay, members);
	int64_t cnt = 0;

	unit_release(&relay);
	if (has_receiver(members) &&
	    count_waiting(&cnt, members, store, path, is_service, &error) == 0)
		json_object_set_new(object, "relay_waiting", json_integer(cnt));
}
