// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service's store: opening it, writing windows and the status row, retention. A disk that is
 * full or broken costs windows, which are counted, never the daemon; each kind of trouble is
 * logged once until a write succeeds again.
 */
#include "service_state.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "drift/drift.h"
#include "tested/tested_alerts.h"
#include "tested/tested_sets.h"
#include "values/values.h"

#define RETAIN_EVERY_NS UINT64_C(30000000000)
/* A clock that jumps by more was set by somebody; retention by age doubts it for so long. */
#define CLOCK_STEP_NS  INT64_C(1000000000)
#define CLOCK_DOUBT_NS UINT64_C(3600000000000)
/* However little is free, recent windows keep this much. */
#define USE_LEAST_BYTES (UINT64_C(4) << 20)

/* Makes the directories above file that are missing. */
static int make_parents(const char *file)
{
	char path[PP_CONFIG_PATH_MAX];

	if (strlen(file) >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, file, strlen(file) + 1);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0750) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static const char *own_user(void)
{
	const struct passwd *user = getpwuid(geteuid());

	return user ? user->pw_name : "the service's user";
}

/* Which command gives the service its database back. A service of systemd sees most of the machine
 * read-only, whatever the rights. */
static int explain_rights(const char *file, struct pathprof_error *error)
{
	struct stat status;

	if (stat(file, &status) == 0 && status.st_uid != geteuid())
		return pathprof_fail(error, -EACCES, "%s: belongs to another user: chown %s %s*",
				     file, own_user(), file);
	return pathprof_fail(error, -EACCES,
			     "%s: %s may not write there; under systemd a place outside of "
			     "/var/lib/pathprof takes ReadWritePaths= in a drop-in of the unit",
			     file, own_user());
}

int pp_service_open_store(struct pp_service *service, struct pathprof_error *error)
{
	int r = pp_config_db_path(&service->config, service->db_path, sizeof(service->db_path));

	if (r < 0)
		return pathprof_fail(error, r,
				     "no place for the database: give --db FILE or set "
				     "Path= in [Store]");
	/* what was named explicitly must exist: a slip of the pen makes no directories */
	if (!service->config.db_path[0])
		r = make_parents(service->db_path);
	if (r < 0)
		return pathprof_fail(error, r, "%s: %s", service->db_path, strerror(-r));
	r = pathprof_store_open(&service->store, service->db_path, PATHPROF_STORE_WRITE, error);
	return r == -EACCES || r == -EROFS ? explain_rights(service->db_path, error) : r;
}

/* Bound by MaxUse= and by what KeepFree= leaves; 0: none. */
static uint64_t most_bytes(struct pp_service *service)
{
	uint64_t most = service->config.max_use_bytes, used = 0, room, keep;
	struct statvfs fs;

	keep = service->config.keep_free_bytes;
	if (!keep || statvfs(service->db_path, &fs) < 0 ||
	    pathprof_store_size(service->store, &used) < 0)
		return most;
	room = used + (uint64_t)fs.f_bavail * fs.f_frsize;
	room = room > keep + USE_LEAST_BYTES ? room - keep : USE_LEAST_BYTES;
	return most && most < room ? most : room;
}

/* Windows do not go for their age by a clock that was set just now: it may be set right again. */
static bool is_clock_doubtful(const struct pp_service *service)
{
	return service->clock_set_ns && pp_monotonic_ns() - service->clock_set_ns < CLOCK_DOUBT_NS;
}

static void retain(struct pp_service *service)
{
	const struct pathprof_retention retention = {
		.max_bytes = most_bytes(service),
		.max_age_ns =
			is_clock_doubtful(service) ? 0 : (int64_t)service->config.max_retention_ns,
	};
	struct pathprof_error error = {""};
	uint64_t removed = 0;
	int r;

	service->retained_ns = pp_monotonic_ns();
	if (!retention.max_bytes && !retention.max_age_ns)
		return;
	r = pathprof_store_retain(service->store, &retention, &removed, &error);
	if (r < 0 && pp_log_once(&service->retain_trouble, r))
		pp_log(LOG_ERR, "%s: retention: %s", service->db_path, error.text);
	if (r < 0)
		return;
	service->retain_trouble = (struct pp_log_seen){0};
	service->windows_removed += removed;
}

static void window_lost(struct pp_service *service, int code, const char *why)
{
	service->windows_dropped++;
	if (pp_log_once(&service->store_trouble, code))
		pp_log(LOG_ERR, "%s: window not written: %s", service->db_path, why);
	/* make room, so that the next one may fit */
	if (code == -ENOSPC)
		retain(service);
}

static void window_written(struct pp_service *service)
{
	service->windows_stored++;
	if (!pp_log_any(&service->store_trouble))
		return;
	pp_log(LOG_NOTICE, "%s: can be written again; windows lost so far: %" PRIu64,
	       service->db_path, service->windows_dropped);
	service->store_trouble = (struct pp_log_seen){0};
}

/* The window itself is there, and counts as written. */
static void part_lost(struct pp_service *service, int code, const char *what, const char *why)
{
	if (pp_log_once(&service->part_trouble, code))
		pp_log(LOG_ERR, "%s: %s of a window not written: %s", service->db_path, what, why);
}

static int add_window(void *context, const struct pathprof_profile *profile,
		      struct pathprof_error *error)
{
	struct pp_service *service = context;
	struct pathprof_error why = {""};
	int64_t id = 0;
	int r = pathprof_store_add_window(service->store, profile, &id, error);

	if (r < 0)
		return r;
	r = pp_values_store(service->values, service->store, id, &why);
	if (r < 0)
		part_lost(service, r, "values", why.text);
	pp_drift_window(service->drift, profile, id);
	pp_tested_sets_window(service->tested, profile);
	pp_tested_alerts_window(service->tested_alerts, profile);
	return 0;
}

static int add_jit_symbols(void *context, const struct pathprof_jit_symbol *symbols, size_t cnt,
			   struct pathprof_error *error)
{
	struct pp_service *service = context;
	int r = pathprof_store_add_jit_symbols(service->store, symbols, cnt, error);

	if (r < 0)
		part_lost(service, r, "names of generated code", error ? error->text : "");
	return 0;
}

/*
 * Call after a window, which still ends by the clock it began by: finds out whether the clock was
 * set since the last one, during which the machine may have slept.
 */
static void follow_clock(struct pp_service *service)
{
	int64_t ahead_ns = pp_realtime_ns() - (int64_t)pp_clock_ns(CLOCK_BOOTTIME);
	int64_t by_ns = ahead_ns - service->clock_ahead_ns;

	service->clock_ahead_ns = ahead_ns;
	if (by_ns < CLOCK_STEP_NS && by_ns > -CLOCK_STEP_NS)
		return;
	service->clock_set_ns = pp_monotonic_ns();
	pp_log(LOG_NOTICE, "the clock was set %s by %" PRId64 " s", by_ns > 0 ? "forward" : "back",
	       (by_ns > 0 ? by_ns : -by_ns) / 1000000000);
	pp_drift_clock_set(service->drift, by_ns);
	pp_tested_alerts_clock_set(service->tested_alerts, by_ns);
}

void pp_service_store_window(struct pp_service *service)
{
	const struct pp_window_sink sink = {
		.context = service,
		.add_window = add_window,
		.add_jit_symbols = add_jit_symbols,
	};
	const struct pathprof_totals *totals = &pp_window_profile(service->window)->totals;
	struct pathprof_error error = {""};
	int r;

	pathprof_totals_add(&service->sum, totals);
	service->sum.clock_samples += totals->clock_samples;
	r = pp_window_close(service->window, &sink, &error);
	if (r < 0)
		window_lost(service, r, error.text);
	else
		window_written(service);
	follow_clock(service);
	if (pp_monotonic_ns() - service->retained_ns >= RETAIN_EVERY_NS)
		retain(service);
}

void pp_service_store_status(struct pp_service *service, const char *json)
{
	struct pathprof_error error = {""};
	int r = pathprof_store_set_status(service->store, json, &error);

	if (r == 0)
		service->status_trouble = (struct pp_log_seen){0};
	else if (pp_log_once(&service->status_trouble, r))
		pp_log(LOG_WARNING, "%s: status not written: %s", service->db_path, error.text);
}
