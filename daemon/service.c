// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop and its timers: see service.h. */
#include "service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "service_state.h"
#include "values/values.h"

#define SECOND_US         UINT64_C(1000000)
#define STATUS_EVERY_US   (2 * SECOND_US)
#define TIMER_ACCURACY_US 10000

/* Events that are ready at once come in this order: what is known of mappings is applied before
 * bursts are resolved, and no flood of bursts holds up a window's end. */
#define PRIORITY_TRACK  (SD_EVENT_PRIORITY_NORMAL - 20)
#define PRIORITY_WINDOW (SD_EVENT_PRIORITY_NORMAL - 10)

uint64_t pp_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int64_t pp_realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

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
	pp_service_report(context);
	return rearm(timer, STATUS_EVERY_US);
}

static int add_timer(struct pp_service *service, sd_event_source **ret_timer, uint64_t after_us,
		     sd_event_time_handler_t handler)
{
	return sd_event_add_time_relative(service->event, ret_timer, CLOCK_MONOTONIC, after_us,
					  TIMER_ACCURACY_US, handler, service);
}

static int open_loop(struct pp_service *service, struct pathprof_error *error)
{
	int r = sd_event_new(&service->event);

	if (r >= 0)
		r = sd_event_set_watchdog(service->event, true);
	if (r >= 0)
		r = add_timer(service, &service->window_timer, service->config.window_ns / 1000,
			      on_window);
	if (r >= 0)
		r = sd_event_source_set_priority(service->window_timer, PRIORITY_WINDOW);
	if (r >= 0)
		r = add_timer(service, &service->status_timer, STATUS_EVERY_US, on_status);
	return r < 0 ? pathprof_fail(error, r, "event loop: %s", strerror(-r)) : 0;
}

static int open_track(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_track_config config = {.only_pid = service->only_pid};
	int r = pp_track_new(&service->track, &config, error);

	if (r < 0)
		return r;
	r = sd_event_add_io(service->event, &service->track_event, pp_track_fd(service->track),
			    EPOLLIN, on_track, service);
	if (r >= 0)
		r = sd_event_source_set_priority(service->track_event, PRIORITY_TRACK);
	return r < 0 ? pathprof_fail(error, r, "event loop: %s", strerror(-r)) : 0;
}

static int open_window(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_window_config config = {
		.mapping = (enum pathprof_mapping)service->config.mapping,
		.source = service->source_ops->source,
		.basis = service->source_ops->basis,
		.taken_wanted = (uint32_t)service->config.taken_wanted,
		.memory_max_bytes = service->config.memory_max_bytes,
	};
	int r;

	service->resolver = pp_window_track_resolver(service->track);
	r = pp_window_new(&service->window, &config, &service->resolver);
	return r < 0 ? pathprof_fail(error, r, "window: %s", strerror(-r)) : 0;
}

static void start_clocks(struct pp_service *service)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	service->cpu_cnt = cpus > 0 ? (unsigned int)cpus : 1;
	service->started_ns = pp_realtime_ns();
	service->start.time_ns = pp_monotonic_ns();
	service->window_begin = service->start;
	service->rate_begin = service->start;
}

/* The tracker opens before the source: a burst must find its mappings. */
static int open_all(struct pp_service *service, struct pathprof_error *error)
{
	int r = open_loop(service, error);

	if (r == 0)
		r = pp_service_pick_source(service, error);
	if (r == 0)
		r = pp_service_open_store(service, error);
	if (r == 0)
		r = open_track(service, error);
	if (r == 0)
		r = open_window(service, error);
	if (r == 0)
		r = pp_service_open_first_source(service, error);
	if (r == 0)
		r = pp_service_open_drift(service, error);
	return r;
}

int pp_service_new(struct pp_service **ret_service, const struct pp_config *config, pid_t only_pid,
		   struct pathprof_error *error)
{
	struct pp_service *service = calloc(1, sizeof(*service));
	int r;

	if (!service)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	service->config = *config;
	service->only_pid = only_pid;
	start_clocks(service);
	r = open_all(service, error);
	if (r < 0) {
		/* nothing was profiled: no window to write */
		pp_window_free(service->window);
		service->window = NULL;
		pp_service_free(service);
		return r;
	}
	pp_service_report(service);
	*ret_service = service;
	return 0;
}

void pp_service_free(struct pp_service *service)
{
	if (!service)
		return;
	pp_service_close_source(service);
	pp_values_stop(service->values);
	if (service->window)
		pp_service_close_window(service);
	pp_values_free(service->values);
	pp_service_close_drift(service);
	sd_event_source_unref(service->exit_timer);
	sd_event_source_unref(service->status_timer);
	sd_event_source_unref(service->window_timer);
	sd_event_source_unref(service->track_event);
	pp_window_free(service->window);
	pp_track_free(service->track);
	pathprof_store_free(service->store);
	sd_event_unref(service->event);
	free(service);
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
	char rest[256];

	pp_config_adopt(&service->config, config, rest, sizeof(rest));
	if (rest[0])
		pp_log(LOG_NOTICE, "changed, but takes effect at the next start: %s", rest);
	/* one window holds bursts of one length */
	if (service->config.taken_wanted != taken) {
		pp_service_close_window(service);
		pp_window_set_taken(service->window, (uint32_t)service->config.taken_wanted);
	}
	if (service->config.window_ns != window_ns)
		rearm(service->window_timer, service->config.window_ns / 1000);
	pp_service_configure_source(service);
	pp_service_configure_drift(service);
}

static int on_exit_time(sd_event_source *timer, uint64_t now_us, void *context)
{
	int code = (int)(intptr_t)context;

	return sd_event_exit(sd_event_source_get_event(timer), code);
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

uint64_t pp_service_windows_dropped(const struct pp_service *service)
{
	return service->windows_dropped;
}

const char *pp_service_db(const struct pp_service *service)
{
	return service->db_path;
}
