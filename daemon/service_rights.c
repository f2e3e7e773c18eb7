// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CAP_SYS_ADMIN, for as long as it takes to open perf events. Some distributions' kernels, Debian's
 * among them, know a kernel.perf_event_paranoid above 2, by default, that takes events from
 * everybody who lacks it, CAP_PERFMON or not. A unit that lowers the setting would lower it for all
 * users of the machine; so the service holds the capability instead, opens its events, and gives it
 * up for good before it reads anything that others made: its database, /proc, a file. Where the
 * setting is 2 or less it is given up unused. The stepper does the same (step_main.c); the opener
 * alone keeps it (step/step_opener.h).
 *
 * CPUs that come later need another start, which the service asks systemd for.
 *
 * Workload: once, at the start; the telling, every other second. The main thread, before any other.
 */
#include "service_state.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "clock/clock.h"
#include "pathprof/machine.h"
#include "privilege.h"

/* The highest level that CAP_PERFMON is enough for; above it Debian asks for CAP_SYS_ADMIN. */
#define PARANOID_OF_PERFMON 2

/* CPUs that come and go all the time are no reason to start all the time. */
#define ANEW_AFTER_NS (300 * PP_NSEC_PER_SEC)

#define EVENTS_RIGHT PP_PRIVILEGE(CAP_SYS_ADMIN)

/* Events that are missing, in the order of describe()'s words. */
#define NO_MAPPINGS 1u
#define NO_SAMPLER  2u
#define NO_CLOCK    4u
#define NO_BREAKS   8u
#define NO_CPUS     16u

int pp_service_begin_rights(struct pp_service *service, struct pathprof_error *error)
{
	struct pathprof_machine machine;

	service->had_right = pp_privilege_has(EVENTS_RIGHT);
	pathprof_machine_read(&machine, "");
	if (service->only_pid || machine.paranoid > PARANOID_OF_PERFMON)
		return 0;
	return pp_privilege_drop(EVENTS_RIGHT, error);
}

/* A recording opens events of threads that start later, with the rights of who runs it. */
int pp_service_settle_rights(struct pp_service *service, struct pathprof_error *error)
{
	/* while the reason for a refusal is not this */
	pp_service_tell_refused(service);
	service->rights_settled = !service->only_pid;
	service->rights_settled_ns = pp_monotonic_ns();
	return service->only_pid ? 0 : pp_privilege_drop(EVENTS_RIGHT, error);
}

/* ---------------------------------------------------------------- telling */

/* Breakpoints are missing only where there were some: not every machine has them. */
static unsigned int refused_to_source(struct pp_service *service)
{
	struct pp_source_stats stats = {0};
	bool has_breaks;

	if (service->source)
		service->source_ops->stats(service->source, &stats);
	has_breaks = stats.stepping && !strcmp(stats.stepping, "breakpoints");
	service->had_breaks |= has_breaks;
	return (stats.sampler && !strcmp(stats.sampler, "proc") ? NO_SAMPLER : 0) |
	       (stats.stepping && service->had_breaks && !has_breaks ? NO_BREAKS : 0);
}

static unsigned int refused_now(struct pp_service *service, const struct pp_track_stats *track)
{
	int late = service->clock ? pp_clock_late_code(service->clock) : 0;

	return (track->perf_code ? NO_MAPPINGS : 0) | (late || service->events_code ? NO_CPUS : 0) |
	       (service->clock_code ? NO_CLOCK : 0) | refused_to_source(service);
}

/* "MAPPINGS; SAMPLER; CLOCK; BREAKPOINTS", those that are missing. */
static void describe(unsigned int refused, char *ret_text, size_t text_size)
{
	static const char *const words[] = {
		"mappings are read from /proc alone, so that short-lived programs are missed",
		"running threads are found by /proc, up to 20 times a second",
		"the time spent where is told by the windows alone, and not at all by those of "
		"hardware",
		"threads are stopped without perf's breakpoints, which costs more and takes debug "
		"registers of the machine",
		"nothing is sampled on CPUs that came online or were off for a while, as in a "
		"suspend",
	};
	size_t len = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (refused >> i & 1 && len < text_size)
			len += (size_t)snprintf(ret_text + len, text_size - len, "%s%s",
						len ? "; " : "", words[i]);
}

/* After the start the right to open events is gone, and a start has it. */
static void tell_late(struct pp_service *service, const char *lost)
{
	snprintf(service->refused, sizeof(service->refused),
		 "perf events that were opened late (a CPU came online, the source was opened "
		 "anew, kernel.perf_event_paranoid was raised) are refused, for the right to open "
		 "them was given up: %s; what would help: "
		 "systemctl restart pathprofd",
		 lost);
}

static void tell_first(struct pp_service *service, const char *lost, int code)
{
	struct pathprof_machine machine;
	struct pathprof_refused refused;

	pathprof_machine_read(&machine, "");
	refused = pathprof_explain(PATHPROF_ASK_EVENT, code, &machine);
	snprintf(service->refused, sizeof(service->refused),
		 "perf events are refused (%s: %s): %s; what would help: %s", refused.code,
		 refused.why, lost, refused.change ? refused.change : "nothing that is known");
}

void pp_service_start_anew(struct pp_service *service)
{
	struct pp_track_stats track;

	pp_track_stats(service->track, &track);
	if (!service->had_right || !service->rights_settled ||
	    !(refused_now(service, &track) & NO_CPUS) || !getenv("NOTIFY_SOCKET") ||
	    pp_monotonic_ns() - service->rights_settled_ns < ANEW_AFTER_NS)
		return;
	pp_log(LOG_NOTICE, "CPUs came, as after a suspend, and the right to open events there was "
			   "given up: ending, so that systemd starts the service again");
	sd_event_exit(service->event, EX_TEMPFAIL);
}

void pp_service_tell_refused(struct pp_service *service)
{
	struct pp_track_stats track;
	unsigned int news;
	char lost[512];

	pp_track_stats(service->track, &track);
	news = refused_now(service, &track) & ~service->told_refused;
	if (!news)
		return;
	service->told_refused |= news;
	describe(news, lost, sizeof(lost));
	if (service->rights_settled)
		tell_late(service, lost);
	else
		tell_first(service, lost,
			   track.perf_code        ? track.perf_code
			   : service->clock_code  ? service->clock_code
			   : service->events_code ? service->events_code
						  : -EACCES);
	pp_log(LOG_WARNING, "%s", service->refused);
}
