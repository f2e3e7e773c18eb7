// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service's clock: every sample of it goes into the open window. It runs beside any source;
 * without it the windows of a source that samples on a clock are its samples.
 */
#include "service_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "clock/clock.h"
#include "shared/config_value.h"
#include "step/source_step.h"

/* The clock may miss half of less user time by chance. */
#define UNSEEN_LEAST_NS PP_NSEC_PER_SEC

/* The stepper works for us and is no part of what is profiled. */
static pid_t helper_of(const struct pp_service *service)
{
	if (service->source && service->source_ops == &pp_source_step)
		return pp_source_step_pid(service->source);
	return 0;
}

/* The tracker has heard of all that is of the family, ended or not. */
static bool is_of_others(const struct pp_service *service, const struct pp_cpu_sample *sample)
{
	const struct pp_resolver *resolver = &service->resolver;

	return pp_clock_sees_others(service->clock) && resolver->in_view &&
	       !resolver->in_view(resolver->context, sample->pid);
}

static void on_sample(void *context, const struct pp_cpu_sample *sample)
{
	struct pp_service *service = context;

	if (is_of_others(service, sample))
		return;
	service->clock_own_cnt++;
	if (!sample->kernel && sample->pid > 0)
		service->user_ns += PP_NSEC_PER_SEC / service->config.clock_hz;
	pp_window_add_clock(service->window, sample);
}

void pp_service_read_clock(struct pp_service *service)
{
	uint64_t lost;

	if (!service->clock)
		return;
	/* a sample must find its process and its mapping, and the burst that held its thread */
	pp_service_drain_source(service);
	service->resolver.dispatch(service->resolver.context);
	service->clock_own_cnt = 0;
	lost = pp_clock_read(service->clock, helper_of(service), on_sample, service);
	if (pp_clock_sees_others(service->clock))
		lost = pp_clock_own_loss(lost, service->clock_own_cnt,
					 pp_clock_read_cnt(service->clock));
	pp_window_clock_lost(service->window, lost);
}

static int on_clock(sd_event_source *timer, uint64_t now_us, void *context)
{
	int r = sd_event_source_set_time_relative(timer, PP_CLOCK_EVERY_NS / 1000);

	pp_service_read_clock(context);
	return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int open_clock(struct pp_service *service, struct pathprof_error *error)
{
	struct pp_clock_config config = {
		.only_pid = service->only_pid,
		.isolated = service->config.realtime != 0,
		.hz = (uint32_t)service->config.clock_hz,
	};
	int r;

	if (service->config.cgroup[0])
		return pathprof_fail(error, -EOPNOTSUPP, "it cannot follow Cgroup=%s",
				     service->config.cgroup);
	/* text that is no range was refused before */
	if (service->config.addresses[0])
		(void)pp_value_addresses(service->config.addresses, &config.ip_min, &config.ip_max);
	r = pp_clock_open(&service->clock, &config, error);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(service->event, &service->clock_timer, CLOCK_MONOTONIC,
				       PP_CLOCK_EVERY_NS / 1000, 0, on_clock, service);
	if (r < 0) {
		pp_clock_free(service->clock);
		service->clock = NULL;
		return pathprof_fail(error, r, "event loop: %s", strerror(-r));
	}
	return 0;
}

void pp_service_open_clock(struct pp_service *service)
{
	struct pathprof_error error = {""};
	int r;

	if (!service->config.clock_hz)
		return;
	r = open_clock(service, &error);
	/* service_rights.c tells of all events that are refused */
	if (r == -EACCES || r == -EPERM)
		service->clock_code = r;
	else if (r < 0)
		pp_log(LOG_WARNING,
		       "no clock samples: TIME is estimated from windows alone, and not at all "
		       "from windows of hardware: %s",
		       error.text);
	if (r < 0)
		return;
	pp_window_set_clock(service->window, (uint32_t)service->config.clock_hz,
			    pp_clock_sees_kernel(service->clock));
}

void pp_service_describe_unseen(struct pp_service *service, uint64_t user_ns, char *ret_text,
				size_t text_size)
{
	ret_text[0] = '\0';
	/* the kernel keeps no account of some addresses alone */
	if (!service->clock || service->config.addresses[0] || user_ns < UNSEEN_LEAST_NS)
		return;
	pp_service_read_clock(service);
	if (service->user_ns >= user_ns / 2)
		return;
	snprintf(ret_text, text_size,
		 "the clock saw %.1f of %.1f s in user code: TIME and RUNS leave out the rest%s",
		 (double)service->user_ns / 1e9, (double)user_ns / 1e9,
		 pp_clock_sees_others(service->clock)
			 ? ""
			 : ", for threads and processes that soon end are not seen without "
			   "CAP_PERFMON: record as root");
}

void pp_service_close_clock(struct pp_service *service)
{
	sd_event_source_disable_unref(service->clock_timer);
	service->clock_timer = NULL;
	pp_clock_free(service->clock);
	service->clock = NULL;
}
