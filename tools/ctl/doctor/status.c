// SPDX-License-Identifier: GPL-2.0-or-later
/* The daemon's state: see status.h. */
#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/clock.h"

#define OLD_AT_LEAST_S 30

double daemon_status_number(const json_t *object, const char *key, double fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : fallback;
}

const char *daemon_status_text(const json_t *object, const char *key, const char *fallback)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : fallback;
}

static bool is_pathprofd(long pid)
{
	_cleanup_free_ char *path = ctl_printf("/proc/%ld/comm", pid);
	_cleanup_free_ char *comm = ctl_read_line(path);

	return comm && strcmp(comm, "pathprofd") == 0;
}

static double age_s(const json_t *members)
{
	return (double)pp_realtime_ns() / 1e9 -
	       daemon_status_number(members, "updated_ns", 0) / 1e9;
}

static void judge(struct daemon_status *status)
{
	long pid = (long)daemon_status_number(status->members, "pid", 0);
	double allowed_s = 3 * daemon_status_number(status->members, "window_s", 0);
	double silent_s = age_s(status->members);
	char age[32];

	if (allowed_s < OLD_AT_LEAST_S)
		allowed_s = OLD_AT_LEAST_S;
	if (pid <= 0 || !is_pathprofd(pid))
		snprintf(status->why_down, sizeof(status->why_down),
			 "pathprofd ran as process %ld and has ended", pid);
	else if (silent_s > allowed_s)
		snprintf(status->why_down, sizeof(status->why_down), "process %ld is silent for %s",
			 pid,
			 text_duration(age, sizeof(age),
				       silent_s < 9e9 ? (int64_t)(silent_s * 1e9) : 0));
	else
		status->running = true;
}

int daemon_status_read(struct daemon_status *ret_status, struct pathprof_store *store,
		       struct pathprof_error *error)
{
	struct daemon_status status = {.members = NULL};
	_cleanup_free_ char *text = NULL;
	json_error_t trouble;
	int r = pathprof_store_status(store, &text, error);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0) {
		status.members = json_loads(text, JSON_REJECT_DUPLICATES, &trouble);
		if (!json_is_object(status.members)) {
			json_decref(status.members);
			return pathprof_fail(error, -EBADMSG,
					     "status: not an object: written by "
					     "another program?");
		}
		judge(&status);
	} else {
		snprintf(status.why_down, sizeof(status.why_down),
			 "no daemon ever wrote to this database");
	}
	*ret_status = status;
	return 0;
}

void daemon_status_release(struct daemon_status *status)
{
	json_decref(status->members);
	status->members = NULL;
}
