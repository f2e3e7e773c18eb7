// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The relay, as three tell of it: the daemon whether one is connected, systemd why its unit's does
 * not run, the relay's own notes what it has not told yet. See relay_status.h.
 */
#include "relay_status.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "relay_wait.h"
#include "status.h"
#include "unit.h"

#define SERVICE_NOTES "/var/lib/pathprof-relay"

/* Whether the daemon is the one of systemd's unit; then ret_relay is the relay's unit. */
static bool read_service(struct unit *ret_relay, const json_t *members)
{
	struct unit daemon;
	bool is_it = unit_read(&daemon, UNIT_SERVICE) && daemon.pid > 0 &&
		     daemon.pid == (long)daemon_status_number(members, "pid", 0);

	unit_release(&daemon);
	*ret_relay = (struct unit){0};
	return is_it && unit_read(ret_relay, UNIT_RELAY) && !strcmp(ret_relay->load, "loaded");
}

static int count_waiting(int64_t *ret_cnt, const json_t *members, struct pathprof_store *store,
			 const char *path, bool is_service, struct pathprof_error *error)
{
	_cleanup_free_ char *beside = ctl_printf("%s.relay", path);

	return relay_wait_count(ret_cnt, store, is_service ? SERVICE_NOTES : beside,
				daemon_status_text(members, "relay_settings", ""), error);
}

static char *waiting_text(const json_t *members, struct pathprof_store *store, const char *path,
			  bool is_service)
{
	struct pathprof_error error = {""};
	int64_t cnt = 0;
	int r = count_waiting(&cnt, members, store, path, is_service, &error);

	if (r == -EACCES)
		return ctl_strdup("how many alerts wait is for root to see");
	if (r < 0)
		return ctl_printf("how many alerts wait is not known: %s", error.text);
	return ctl_printf("%" PRId64 " alert%s", cnt, cnt == 1 ? " waits" : "s wait");
}

static char *missing_text(const struct unit *relay, bool is_service, const char *waiting,
			  const char *path)
{
	_cleanup_free_ char *words = is_service ? unit_last_words(relay) : NULL;

	if (!is_service)
		return ctl_printf("missing: none is connected; %s: run pathprof-relay --db %s",
				  waiting, path);
	if (!strcmp(relay->active, "inactive"))
		return ctl_printf("missing: %s; %s: systemctl restart pathprof-relay",
				  unit_down(relay), waiting);
	if (!strcmp(relay->active, "active"))
		return ctl_printf("missing: it runs and is not connected; %s: journalctl -u "
				  "pathprof-relay",
				  waiting);
	return ctl_printf("missing: %s: %s; %s: mend the setting that it names, then systemctl "
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
		text = missing_text(&relay, is_service, waiting, path);
	else if (relay.text && *relay.text)
		text = ctl_printf("connected; %s", relay.text);
	else
		text = ctl_printf("connected; %s", waiting);
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
	if (json_object_get(members, "relay_settings") &&
	    count_waiting(&cnt, members, store, path, is_service, &error) == 0)
		json_object_set_new(object, "relay_waiting", json_integer(cnt));
}
