// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop and its timers: see service.h. */
#include "service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "callers/tables.h"
#include "clock/cpu_clock.h"
#include "service_state.h"
#include "values/values.h"

/* The bound on tables of frames: those of a hundred large libraries. */
#define TABLES_MAX_BYTES  (64u << 20)
#define SECOND_US         UINT64_C(1000000)
#define STATUS_EVERY_US   (2 * SECOND_US)
#define TIMER_ACCURACY_US 10000
/* The first window of a service ends early: who has just started it wants to see something. */
#define FIRST_WINDOW_US (20 * SECOND_US)
/* A user who asks for windows longer than this wants few of them. */
#define LONGEST_CUT_US (600 * SECOND_US)

/* Events that are ready at once come in this order: no flood of mappings or bursts holds up a
 * window's end, and what is known of mappings is applied before bursts are resolved. */
#define PRIORITY_WINDOW (SD_EVENT_PRIORITY_NORMAL - 20)
#define PRIORITY_TRACK  (SD_EVENT_PRIORITY_NORMAL - 10)

static int rearm(sd_event_source *timer, uint64_t after_us)
{
	int r = sd_event_source_set_time_relative(timer, after_us);

	return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_track(sd_event_source *event_source, int fd, uint32_t events, void *context)
{
	struct pp_service *service = context;

	pp_track_dispatch(service->track);
	return 0;
}

static int on_window(sd_event_source *timer, uint64_t now_us, void *context)
{
	struct pp_service *service = context;

	pp_service_close_window(service);
	return rearm(timer, service->config.window_ns / 1000);
}

static int on_status(sd_event_source *timer, uint64_t now_us, void *context)
{
	pp_service_share_budget(context);
	pp_service_report(context);
	pp_service_miss_relay(context);
	return rearm(timer, STATUS_EVERY_US);
}

static int add_timer(struct pp_service *service, sd_event_source **ret_timer, uint64_t after_us,
		     sd_event_time_handler_t handler)
{
	return sd_event_add_time_relative(service->event, ret_timer, CLOCK_MONOTONIC, after_us,
					  TIMER_ACCURACY_US, handler, service);
}

static uint64_t first_window_us(const struct pp_service *service)
{
	uint64_t window_us = service->config.window_ns / 1000;

	return !service->only_pid && window_us > FIRST_WINDOW_US && window_us <= LONGEST_CUT_US
		       ? FIRST_WINDOW_US
		       : window_us;
}

static int open_loop(struct pp_service *service, struct pathprof_error *error)
{
	int r = sd_event_new(&service->event);

	if (r >= 0)
		r = sd_event_set_watchdog(service->event, true);
	if (r >= 0)
		r = add_timer(service, &service->window_timer, first_window_us(service), on_window);
	if (r >= 0)
		r = sd_event_source_set_priority(service->window_timer, PRIORITY_WINDOW);
	if (r >= 0)
		r = add_timer(service, &service->status_timer, STATUS_EVERY_US, on_status);
	return r < 0 ? pathprof_fail(error, r, "event loop: %s", strerror(-r)) : 0;
}

static int open_track(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_track_config config = {.only_pid = service->only_pid, .begin_later = true};
	int r = pp_track_new(&service->track, &config, error);

	if (r < 0)
		return r;
	r = sd_event_add_io(service->event, &service->track_event, pp_track_fd(service->track),
			    EPOLLIN, on_track, service);
	if (r >= 0)
		r = sd_event_source_set_priority(service->track_event, PRIORITY_TRACK);
	return r < 0 ? pathprof_fail(error, r, "event loop: %s", strerror(-r)) : 0;
}

static int begin_track(struct pp_service *service, struct pathprof_error *error)
{
	int r = pp_track_begin(service->track);

	if (r < 0)
		return pathprof_fail(error, r, "tracker: %s", strerror(-r));
	pp_window_begin(service->window);
	return 0;
}

static int open_window(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_window_config config = {
		.mapping = (enum pathprof_mapping)service->config.mapping,
		.source = service->source_ops->source,
		.basis = service->source_ops->basis,
		.taken_wanted = (uint32_t)service->config.taken_wanted,
		.horizon = pp_service_horizon(service),
		.memory_max_bytes = service->config.memory_max_bytes,
		.without_segments = !service->config.segments,
		.unknown_owner = service->only_pid ? geteuid() : PATHPROF_OWNER_UNKNOWN,
		.own_pid = service->only_pid ? 0 : getpid(),
	};
	int r;

	service->resolver = pp_window_track_resolver(service->track);
	r = pp_window_new(&service->window, &config, &service->resolver);
	if (r == 0 && service->config.callers)
		r = pp_tables_new(&service->tables, service->event, TABLES_MAX_BYTES);
	if (r == 0 && service->tables)
		r = pp_window_want_callers(service->window, pp_tables_find, service->tables);
	return r < 0 ? pathprof_fail(error, r, "window: %s", strerror(-r)) : 0;
}

static void start_clocks(struct pp_service *service)
{
	service->cpu_cnt = pp_service_cpus_online();
	service->started_ns = pp_realtime_ns();
	service->clock_ahead_ns = service->started_ns - (int64_t)pp_clock_ns(CLOCK_BOOTTIME);
	service->relay_seen_ns = pp_monotonic_ns();
	pp_allowance_init(&service->allowance, service->config.overhead_ppm, service->cpu_cnt,
			  service->relay_seen_ns, 0);
	pp_busy_init(&service->busy, service->cpu_cnt, service->relay_seen_ns);
}

/*
 * Starting costs as much as minutes of a small budget: the cost is shown, but never paid back.
 */
static void begin_account(struct pp_service *service)
{
	struct pp_costs costs;

	pp_service_account(service);
	pp_service_begin_budget(service);
	costs = pp_service_costs(service);
	service->start_cpu_ns = pp_costs_cpu_ns(&costs);
	service->start = pp_service_mark(service);
	service->window_begin = service->start;
	service->rate_begin = service->start;
}

/*
 * The tracker opens before the source: a burst must find its mappings. Events come first, then the
 * right to open them goes, and only then anything is read that others made.
 */
static int open_all(struct pp_service *service, struct pathprof_error *error)
{
	int r = pp_service_begin_rights(service, error);

	if (r == 0)
		r = open_loop(service, error);
	if (r == 0)
		r = pp_service_pick_source(service, error);
	if (r == 0)
		r = open_track(service, error);
	if (r == 0)
		r = open_window(service, error);
	if (r == 0)
		r = pp_service_open_first_source(service, error);
	if (r == 0)
		pp_service_open_clock(service);
	if (r == 0)
		r = pp_service_settle_rights(service, error);
	if (r == 0)
		r = pp_service_open_store(service, error);
	if (r == 0)
		r = begin_track(service, error);
	if (r == 0)
		r = pp_service_open_drift(service, error);
	return r;
}

/*
 * The clock, the tracker and the stepper of one process each take a descriptor a thread and CPU.
 * The soft limit is low for the sake of select(), which nobody here uses; where the hard one is too
 * low, the open that fails says so.
 */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int pp_service_new_from(struct pp_service **ret_service, const struct pp_config *config,
			pid_t only_pid, const struct pp_source_ops *source,
			struct pathprof_error *error)
{
	struct pp_service *service = calloc(1, sizeof(*service));
	int r;

	if (!service)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	raise_descriptor_limit();
	service->config = *config;
	service->only_pid = only_pid;
	service->source_ops = source;
	start_clocks(service);
	r = open_all(service, error);
	if (r < 0) {
		pp_service_free(service);
		return r;
	}
	service->started = true;
	begin_account(service);
	pp_service_report(service);
	*ret_service = service;
	return 0;
}

int pp_service_new(struct pp_service **ret_service, const struct pp_config *config, pid_t only_pid,
		   struct pathprof_error *error)
{
	return pp_service_new_from(ret_service, config, only_pid, NULL, error);
}

void pp_service_finish(struct pp_service *service)
{
	if (service->finished)
		return;
	service->finished = true;
	pp_service_close_source(service);
	pp_values_stop(service->values);
	/* a service that did not start has profiled nothing: there is no window to write */
	if (service->started)
		pp_service_close_window(service);
}

void pp_service_free(struct pp_service *service)
{
	if (!service)
		return;
	pp_service_finish(service);
	pp_service_close_clock(service);
	pp_cpu_clock_free(service->events);
	if (service->opener_fd)
		close(service->opener_fd);
	pp_values_free(service->values);
	pp_service_close_drift(service);
	sd_event_source_unref(service->exit_timer);
	sd_event_source_unref(service->status_timer);
	sd_event_source_unref(service->window_timer);
	sd_event_source_unref(service->track_event);
	pp_window_free(service->window);
	pp_tables_free(service->tables);
	pp_track_free(service->track);
	(service->started ? pathprof_store_free : pathprof_store_free_unused)(service->store);
	sd_event_unref(service->event);
	free(service);
}

void pp_service_abandon(struct pp_service *service)
{
	if (service)
		service->started = false;
}

int pp_service_add_values(struct pp_service *service, const struct pp_values_request *request,
			  struct pathprof_error *error)
{
	return pp_values_new(&service->values, request, service->event, error);
}

void pp_service_describe_values(const struct pp_service *service, char *ret_text, size_t text_size)
{
	ret_text[0] = '\0';
	if (service->values)
		pp_values_describe(service->values, ret_text, text_size);
}

sd_event *pp_service_event(struct pp_service *service)
{
	return service->event;
}

int pp_service_run(struct pp_service *service)
{
	return sd_event_loop(service->event);
}

void pp_service_close_window(struct pp_service *service)
{
	struct pp_mark end;

	pp_service_flush_source(service);
	pp_service_read_clock(service);
	pp_service_account(service);
	end = pp_service_mark(service);
	pp_service_store_window(service);
	pp_service_measure_window(service, &end);
	pp_service_report(service);
}

void pp_service_reconfigure(struct pp_service *service, const struct pp_config *config)
{
	const uint64_t window_ns = service->config.window_ns;
	const uint64_t taken = service->config.taken_wanted;
	const uint32_t horizon = pp_service_horizon(service);
	char rest[1024];

	service->settings_refused = (struct pathprof_error){""};
	pp_config_adopt(&service->config, config, rest, sizeof(rest));
	if (rest[0])
		pp_log(LOG_NOTICE,
		       "these settings have changed and take effect at the next start: %s", rest);
	/* one window holds bursts of one length */
	if (service->config.taken_wanted != taken || pp_service_horizon(service) != horizon) {
		pp_service_close_window(service);
		pp_window_set_taken(service->window, (uint32_t)service->config.taken_wanted);
		pp_window_set_horizon(service->window, pp_service_horizon(service));
	}
	if (service->config.window_ns != window_ns)
		rearm(service->window_timer, service->config.window_ns / 1000);
	pp_allowance_set_budget(&service->allowance, service->config.overhead_ppm);
	pp_service_configure_source(service);
	pp_service_configure_drift(service);
}

void pp_service_refuse_settings(struct pp_service *service, const struct pathprof_error *why)
{
	service->settings_refused = *why;
	pp_log(LOG_ERR, "settings unchanged: %s", why->text);
}

static int on_exit_time(sd_event_source *timer, uint64_t now_us, void *context)
{
	int r = (int)(intptr_t)context;

	return sd_event_exit(sd_event_source_get_event(timer), r);
}

int pp_service_exit_after(struct pp_service *service, uint64_t duration_ns, int code)
{
	return sd_event_add_time_relative(service->event, &service->exit_timer, CLOCK_MONOTONIC,
					  duration_ns / 1000, TIMER_ACCURACY_US, on_exit_time,
					  (void *)(intptr_t)code);
}

uint64_t pp_service_bursts(const struct pp_service *service)
{
	return service->sum.bursts + pp_window_profile(service->window)->totals.bursts;
}

uint64_t pp_service_paths(const struct pp_service *service)
{
	return service->sum.paths + pp_window_profile(service->window)->totals.paths;
}

const char *pp_service_db(const struct pp_service *service)
{
	return service->db_path;
}
