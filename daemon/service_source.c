// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service's branch source: picking, opening, draining, and opening again with growing pauses
 * when it died.
 */
#include "service_state.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "chain/taken_event.h"
#include "clock/cpu_clock.h"
#include "shared/config_value.h"
#include "pathprof/machine.h"
#include "privilege.h"
#include "step/sampler.h"
#include "step/step_opener.h"
#include "track/cgroup_tree.h"

#define REOPEN_FIRST_NS UINT64_C(500000000)
#define REOPEN_MOST_NS  UINT64_C(60000000000)

#define OPS(id, name, needs, what, help) &pp_source_##id,
static const struct pp_source_ops *const sources[] = {PATHPROF_SOURCES(OPS)};
#define SOURCE_CNT (sizeof(sources) / sizeof(sources[0]))

static bool is_candidate(const struct pp_service *service, size_t i)
{
	return service->config.source == PP_CONFIG_SOURCE_AUTO || service->config.source == i + 1;
}

/* Picks the next that can run here, from sources[i] on; error: the last one's if none can. */
static int pick_from(struct pp_service *service, size_t i, struct pathprof_error *error)
{
	const struct pp_source_config config = {.event = service->config.event};
	int r = -ENOTSUP;

	for (; i < SOURCE_CNT; i++) {
		if (!is_candidate(service, i))
			continue;
		r = sources[i]->probe(&config, error);
		if (r == 0) {
			service->source_ops = sources[i];
			service->source_rank = i;
			return 0;
		}
	}
	return r;
}

/* Whether it samples an event of the hardware; the others sample a clock. */
static bool has_event(const struct pp_source_ops *ops)
{
	return ops->basis != PATHPROF_BASIS_TIME;
}

static int refuse_event(const struct pp_service *service, struct pathprof_error *error)
{
	for (size_t i = 0; i < SOURCE_CNT; i++)
		if (is_candidate(service, i) && has_event(sources[i]))
			return 0;
	return pathprof_fail(error, -EOPNOTSUPP,
			     "Event=%s takes a source that samples events: kmod-lbr or bpf; leave "
			     "it out, or write Source=auto",
			     service->config.event);
}

/*
 * Source=auto would go on with a source that has no event. Where there are hardware counters, an
 * event that nobody here knows is rather a slip of the pen.
 */
static int check_event(const struct pp_service *service, struct pathprof_error *error)
{
	struct pathprof_machine machine;
	struct pp_taken_event event;

	if (!service->config.event[0])
		return 0;
	if (service->config.source != PP_CONFIG_SOURCE_AUTO)
		return refuse_event(service, error);
	pathprof_machine_read(&machine, "");
	if (!machine.has_counters)
		return 0;
	return pp_taken_event_find(&event, service->config.event, PP_TAKEN_EVENT_SYSFS, error);
}

/* Takes the source that the service was made with, and no other. */
static int take_given(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_source_config config = {.event = service->config.event};

	service->source_rank = SOURCE_CNT;
	return service->source_ops->probe(&config, error);
}

int pp_service_pick_source(struct pp_service *service, struct pathprof_error *error)
{
	int r = check_event(service, error);

	if (r < 0)
		return r;
	return service->source_ops ? take_given(service, error) : pick_from(service, 0, error);
}

/*
 * A window that begins where a clock strikes must cover an equal stretch of the program; one of
 * hardware begins and ends at taken branches.
 */
uint32_t pp_service_horizon(const struct pp_service *service)
{
	const struct pp_source_ops *ops = service->source_ops;
	uint32_t wanted = (uint32_t)service->config.horizon;

	if (ops->basis != PATHPROF_BASIS_TIME)
		return 0;
	return ops->horizon_max && wanted > ops->horizon_max ? ops->horizon_max : wanted;
}

bool pp_service_compresses(const struct pp_service *service)
{
	const uint64_t wanted = service->config.compress;

	if (service->source_ops->only_counts)
		return true;
	if (!service->source_ops->compresses || wanted == PP_CONFIG_COMPRESS_NO)
		return false;
	return wanted == PP_CONFIG_COMPRESS_YES || !service->only_pid;
}

void pp_service_flush_source(struct pp_service *service)
{
	const struct pp_source_sink sink = pp_window_source_sink(service->window);
	const struct pp_source_ops *ops = service->source_ops;

	if (service->source)
		(void)(ops->flush ? ops->flush : ops->drain)(service->source, &sink);
}

static void read_stats(struct pp_service *service, struct pp_source_stats *ret_stats)
{
	if (service->source)
		service->source_ops->stats(service->source, ret_stats);
	else
		*ret_stats = service->source_seen;
}

/* Copies what stats point to, which belongs to the source and is shown after it is gone. */
static void keep_seen(struct pp_service *service, const struct pp_source_stats *stats)
{
	struct pp_source_stats seen = *stats;

	if (stats->counter_cnt && stats->counters != service->source_counters)
		memcpy(service->source_counters, stats->counters,
		       stats->counter_cnt * sizeof(service->source_counters[0]));
	if (stats->sampler != service->source_sampler)
		snprintf(service->source_sampler, sizeof(service->source_sampler), "%s",
			 stats->sampler ? stats->sampler : "");
	seen.counters = service->source_counters;
	seen.sampler = service->source_sampler;
	service->source_seen = seen;
}

void pp_service_account(struct pp_service *service)
{
	struct pp_source_stats now;
	struct pp_track_stats track;

	read_stats(service, &now);
	pp_window_account(service->window, &service->source_seen, &now);
	keep_seen(service, &now);
	/* how long bursts really are, where the source knows better than the settings */
	if (now.taken_wanted)
		pp_window_set_taken(service->window, now.taken_wanted);
	pp_track_stats(service->track, &track);
	track.lost += track.drops[PP_TRACK_DROP_CPU_TIME];
	pp_window_lost(service->window, track.lost - service->track_lost_seen);
	service->track_lost_seen = track.lost;
}

/* Sets which threads and addresses are sampled. */
static int select_samples(const struct pp_service *service, struct pp_source_config *config,
			  struct pathprof_error *error)
{
	const struct pp_config *wanted = &service->config;
	struct pp_cgroup_places places;
	struct pp_cgroup_choice choice;
	int r;

	/* text that is no range was refused before */
	if (wanted->addresses[0])
		(void)pp_value_addresses(wanted->addresses, &config->ip_min, &config->ip_max);
	if (!wanted->cgroup[0])
		return 0;
	pp_cgroup_places_read(&places, PP_CGROUP_MOUNTS);
	r = pp_cgroup_find(&places, wanted->cgroup, &choice, error);
	if (r)
		return r;
	config->cgroup = choice.id;
	config->cgroup_level = choice.level;
	return 0;
}

/* All settings but the selection of samples, which is made when a source is opened. */
static struct pp_source_config source_config(const struct pp_service *service)
{
	return (struct pp_source_config){
		.only_pid = service->only_pid,
		.compress = pp_service_compresses(service),
		.event = service->config.event,
		.notation = service->config.sampler,
		/* a recording may have its parameters' probes to load */
		.keep_bpf = service->only_pid != 0,
		.resolver = &service->resolver,
		.taken_wanted = (uint32_t)service->config.taken_wanted,
		.horizon = pp_service_horizon(service),
		.hold_max_ns = service->config.hold_max_ns,
		.overhead_ppm = (uint32_t)pp_service_source_ppm(service),
		.frequency_hz = (uint32_t)service->config.frequency_hz,
		.pin = service->config.pin != 0,
		.realtime = service->config.realtime != 0,
		.stacks = service->tables != NULL,
		.events = service->events,
		.opener_fd = service->opener_fd,
	};
}

void pp_service_close_source(struct pp_service *service)
{
	if (service->source) {
		pp_service_flush_source(service);
		pp_service_account(service);
	}
	sd_event_source_disable_unref(service->source_event);
	service->source_event = NULL;
	sd_event_source_disable_unref(service->reopen_timer);
	service->reopen_timer = NULL;
	if (service->source)
		service->source_ops->free(service->source);
	service->source = NULL;
}

static int on_reopen(sd_event_source *timer, uint64_t now_us, void *context);

static void reopen_later(struct pp_service *service)
{
	uint64_t wait_ns = service->reopen_wait_ns ? service->reopen_wait_ns : REOPEN_FIRST_NS;
	int r;

	service->reopen_wait_ns = wait_ns * 2 < REOPEN_MOST_NS ? wait_ns * 2 : REOPEN_MOST_NS;
	r = sd_event_add_time_relative(service->event, &service->reopen_timer, CLOCK_MONOTONIC,
				       wait_ns / 1000, 0, on_reopen, service);
	if (r < 0)
		pp_log(LOG_ERR, "source %s: no timer to open it again: %s",
		       service->source_ops->name, strerror(-r));
}

/* A stepper that got no CPU yet is no reason for a service not to start. */
static int wait_for_it(struct pp_service *service, int r, const struct pathprof_error *error)
{
	if (r != -ETIMEDOUT || service->only_pid)
		return r;
	pp_log(LOG_WARNING, "%s: the machine is busy; trying again", error->text);
	reopen_later(service);
	return 0;
}

static void tell_unused_event(const struct pp_service *service)
{
	if (service->config.event[0] && !has_event(service->source_ops))
		pp_log(LOG_NOTICE, "Event=%s is not used: source %s samples a clock",
		       service->config.event, service->source_ops->name);
}

int pp_service_open_first_source(struct pp_service *service, struct pathprof_error *error)
{
	for (;;) {
		struct pathprof_error why = {""};
		int r = pp_service_open_source(service, error), next;

		if (r == 0) {
			tell_unused_event(service);
			return 0;
		}
		next = pick_from(service, service->source_rank + 1, &why);
		if (next < 0)
			return wait_for_it(service, r, error);
		pp_log(LOG_NOTICE, "%s; going on with source %s", error->text,
		       service->source_ops->name);
		pp_window_set_source(service->window, service->source_ops->source,
				     service->source_ops->basis);
		pp_window_set_horizon(service->window, pp_service_horizon(service));
	}
}

static int on_reopen(sd_event_source *timer, uint64_t now_us, void *context)
{
	struct pp_service *service = context;
	struct pathprof_error error = {""};

	service->reopen_timer = sd_event_source_disable_unref(service->reopen_timer);
	if (pp_service_open_source(service, &error) < 0) {
		pp_log(LOG_WARNING, "source %s: %s", service->source_ops->name, error.text);
		reopen_later(service);
		return 0;
	}
	pp_log(LOG_NOTICE, "source %s: open again", service->source_ops->name);
	return 0;
}

void pp_service_drain_source(struct pp_service *service)
{
	const struct pp_source_sink sink = pp_window_source_sink(service->window);
	uint64_t before = pp_window_profile(service->window)->totals.paths;
	int r = service->source ? service->source_ops->drain(service->source, &sink) : 0;

	/* it delivers, so the next death starts with a short pause again */
	if (pp_window_profile(service->window)->totals.paths != before)
		service->reopen_wait_ns = 0;
	if (r >= 0)
		return;
	service->source_deaths++;
	pp_log(LOG_WARNING, "source %s: %s; opening it again", service->source_ops->name,
	       r == -EPIPE ? "died" : strerror(-r));
	pp_service_close_source(service);
	reopen_later(service);
}

static int on_bursts(sd_event_source *event_source, int fd, uint32_t events, void *context)
{
	pp_service_drain_source(context);
	return 0;
}

/*
 * The right to open events is here only where the level asks for it (service_rights.c), and will be
 * given up: one process keeps it, for breakpoints. Without it they are set by ptrace.
 */
static void start_opener(struct pp_service *service)
{
	pid_t opener;

	if (!pp_privilege_has(PP_PRIVILEGE(CAP_SYS_ADMIN)))
		return;
	opener = pp_step_opener_start(&service->opener_fd);
	if (opener < 0)
		pp_log(LOG_WARNING,
		       "the process that sets breakpoints with perf cannot be started: %s; ptrace "
		       "sets them",
		       strerror(-opener));
}

/*
 * Kept for each stepper to come: the right to open them is given up. Where they are refused the
 * stepper looks into /proc.
 */
static int new_events(const struct pp_service *service, struct pp_cpu_clock **ret_events)
{
	const struct pp_sampler_config config = {
		.frequency_hz = (uint32_t)service->config.frequency_hz,
		.realtime = service->config.realtime != 0,
	};

	return pp_sampler_perf_events(ret_events, &config);
}

static void open_events(struct pp_service *service)
{
	if (service->source_ops != &pp_source_step || service->only_pid)
		return;
	if (!service->events)
		(void)new_events(service, &service->events);
	if (!service->opener_fd)
		start_opener(service);
}

int pp_service_open_source(struct pp_service *service, struct pathprof_error *error)
{
	struct pp_source_config config;
	int r;

	open_events(service);
	config = source_config(service);
	r = select_samples(service, &config, error);
	if (!r)
		r = service->source_ops->open(&service->source, &config, error);
	if (r < 0)
		return r;
	service->source_seen = (struct pp_source_stats){0};
	pp_window_source_opened(service->window);
	r = sd_event_add_io(service->event, &service->source_event,
			    service->source_ops->fd(service->source), EPOLLIN, on_bursts, service);
	if (r < 0) {
		pp_service_close_source(service);
		return pathprof_fail(error, r, "event loop: %s", strerror(-r));
	}
	return 0;
}

static bool needs_events(struct pp_service *service)
{
	struct pp_source_stats stats;

	if (!service->source || !service->events)
		return false;
	service->source_ops->stats(service->source, &stats);
	return stats.events_stale || pp_cpu_clock_lacks_cpus(service->events);
}

void pp_service_renew_events(struct pp_service *service)
{
	struct pathprof_error error = {""};
	struct pp_cpu_clock *events;

	service->events_code = 0;
	if (!needs_events(service))
		return;
	service->events_code = new_events(service, &events);
	if (service->events_code)
		return;
	pp_log(LOG_INFO, "source %s: CPUs have come: it is opened again",
	       service->source_ops->name);
	pp_service_close_source(service);
	pp_cpu_clock_free(service->events);
	service->events = events;
	if (pp_service_open_source(service, &error) < 0) {
		pp_log(LOG_WARNING, "source %s: %s", service->source_ops->name, error.text);
		reopen_later(service);
	}
}

void pp_service_configure_source(struct pp_service *service)
{
	struct pp_source_config config;
	int r;

	if (!service->source)
		return;
	config = source_config(service);
	r = service->source_ops->configure(service->source, &config);
	if (r < 0)
		pp_log(LOG_WARNING, "source %s: new settings refused: %s",
		       service->source_ops->name, strerror(-r));
}
