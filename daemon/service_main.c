// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofd as a service: what signals ask for, and what systemd is told. */
#include "service.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/children.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "config_args.h"
#include "shared/log.h"
#include "oom_score.h"
#include "service_state.h"

struct daemon {
	const struct pp_args *args;
	struct pp_service *service;
};

static void free_service(struct pp_service **service)
{
	pp_service_free(*service);
}

static void reload(struct daemon *daemon)
{
	struct pathprof_error error = {""};
	struct pp_config config;

	if (pp_args_config(daemon->args, &config, &error) < 0) {
		pp_service_refuse_settings(daemon->service, &error);
		return;
	}
	pp_service_reconfigure(daemon->service, &config);
	pp_log(LOG_INFO, "settings read again");
}

static int on_reload(sd_event_source *event_source, const struct signalfd_siginfo *info,
		     void *context)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, pp_monotonic_ns() / 1000);
	reload(context);
	sd_notify(0, "READY=1");
	return 0;
}

static int on_end(sd_event_source *event_source, const struct signalfd_siginfo *info, void *context)
{
	return sd_event_exit(sd_event_source_get_event(event_source), 0);
}

static int on_close_window(sd_event_source *event_source, const struct signalfd_siginfo *info,
			   void *context)
{
	const struct daemon *daemon = context;

	pp_service_close_window(daemon->service);
	return 0;
}

static const struct {
	int signal;
	sd_event_signal_handler_t handler;
} signals[] = {
	{SIGTERM, on_end}, {SIGINT, on_end}, {SIGHUP, on_reload}, {SIGUSR1, on_close_window}};

#define SIGNAL_CNT (sizeof(signals) / sizeof(signals[0]))

/* Before anything is opened: a signal that comes early waits for the loop. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNAL_CNT; i++)
		sigaddset(&set, signals[i].signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	pp_children_leave_status(NULL);
}

/* The end comes before everything else that is ready. */
static int watch_signals(struct daemon *daemon)
{
	sd_event *event = pp_service_event(daemon->service);
	sd_event_source *added;
	int r = 0;

	for (size_t i = 0; i < SIGNAL_CNT && r >= 0; i++) {
		r = sd_event_add_signal(event, &added, signals[i].signal, signals[i].handler,
					daemon);
		if (r < 0)
			break;
		r = sd_event_source_set_priority(added, SD_EVENT_PRIORITY_IMPORTANT);
		/* the loop keeps it from here on */
		if (r >= 0)
			r = sd_event_source_set_floating(added, 1);
		sd_event_source_unref(added);
	}
	return r;
}

static int serve(struct daemon *daemon)
{
	int r = watch_signals(daemon);

	if (r >= 0 && daemon->args->duration_ns)
		r = pp_service_exit_after(daemon->service, daemon->args->duration_ns, 0);
	if (r >= 0) {
		pp_log(LOG_INFO, "profiling to %s", pp_service_db(daemon->service));
		sd_notify(0, "READY=1");
		r = pp_service_run(daemon->service);
	}
	sd_notify(0, "STOPPING=1");
	if (r >= 0)
		return r;
	pp_log(LOG_ERR, "event loop: %s", strerror(-r));
	return 1;
}

/*
 * Errors of settings that ask for something that is not here: a directory, a control group, an
 * event, or what the source cannot do. Trying again does not mend them.
 */
static bool is_final(int code)
{
	return code == -EINVAL || code == -ENOENT || code == -ENOTDIR || code == -EOPNOTSUPP ||
	       code == -ENAMETOOLONG;
}

int pp_service_main(const struct pp_args *args, const struct pp_config *config)
{
	_cleanup_(free_service) struct pp_service *service = NULL;
	struct daemon daemon = {.args = args};
	struct pathprof_error error = {""};
	int r;

	block_signals();
	pp_oom_score_become_ordinary();
	r = pp_service_new(&service, config, 0, &error);
	if (r < 0) {
		pp_log(LOG_ERR, "%s", error.text);
		sd_notifyf(0, "STATUS=%s", error.text);
		return is_final(r) ? PP_EXIT_CONFIG : 1;
	}
	daemon.service = service;
	return serve(&daemon);
}
