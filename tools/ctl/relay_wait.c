// SPDX-License-Identifier: GPL-2.0-or-later
/* Alerts that wait for pathprof-relay: see relay_wait.h. */
#include "relay_wait.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "pathprof/foreign.h"

#define NOTES_MAX 4096 /* bytes */

static const struct {
	const char *setting, *receiver;
} receivers[] = {
	{"Exec=", "exec"},
	{"Alertmanager=", "alertmanager"},
	{"Webhook=", "webhook"},
};

/* What the relay noted; without a file nothing. The directory is its user's, the caller may be
 * root. */
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

/* A receiver that was never told anything begins with what fires; ids of another store are void. */
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

int relay_wait_count(int64_t *ret_cnt, struct pathprof_store *store, const char *notes,
		     const char *settings, struct pathprof_error *error)
{
	_cleanup_json_ json_t *noted = NULL;
	int64_t most = 0;
	int r = read_notes(&noted, notes, error);

	for (size_t i = 0; i < sizeof(receivers) / sizeof(receivers[0]) && r >= 0; i++) {
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
