/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running daemon: source, tracker, open window and store around one event loop.
 *
 * Workload: a few hundred bursts a second at most, a window every second to every minute, a
 * status row every two seconds. One thread. It does not end because something failed under way: a
 * source that dies is opened again, a window that cannot be written is counted and dropped.
 *
 * pathprofd the service (main.c) and a recording (oneshot.c) are both made of this.
 */
#ifndef PP_SERVICE_H
#define PP_SERVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "shared/config.h"
#include "pathprof/error.h"

struct pp_service;

/*
 * Opens everything; from here on targets are profiled. only_pid: 0 for the whole system.
 * config is copied.
 */
int pp_service_new(struct pp_service **ret_service, const struct pp_config *config, pid_t only_pid,
		   struct pathprof_error *error);
/*
 * Lets the targets go and writes the last window: the counts below are whole then. A service that
 * was abandoned, or did this before, writes nothing.
 */
void pp_service_finish(struct pp_service *service);
/* Finishes it and closes the store. NULL-safe. */
void pp_service_free(struct pp_service *service);
/* Nothing will have been profiled: there is no window to write. NULL-safe. */
void pp_service_abandon(struct pp_service *service);

/* Records parameters' values of the process, into its windows. */
struct pp_values_request;
int pp_service_add_values(struct pp_service *service, const struct pp_values_request *request,
			  struct pathprof_error *error);
/* A line about them in ret_text; "" when they were not asked for. */
void pp_service_describe_values(const struct pp_service *service, char *ret_text, size_t text_size);

/*
 * A line when the clock has seen less than half of the user_ns that a command and its children ran
 * user code, by the kernel's account; else "".
 */
void pp_service_describe_unseen(struct pp_service *service, uint64_t user_ns, char *ret_text,
				size_t text_size);

/* Borrowed. */
sd_event *pp_service_event(struct pp_service *service);
/* Runs until sd_event_exit. Returns its code, or -errno. */
int pp_service_run(struct pp_service *service);

/* Takes over what can change while running and logs what cannot. */
void pp_service_reconfigure(struct pp_service *service, const struct pp_config *config);
/* The file could not be read again: the status says so until it can. */
void pp_service_refuse_settings(struct pp_service *service, const struct pathprof_error *why);
/* Writes the open window and opens the next. */
void pp_service_close_window(struct pp_service *service);
/* Calls sd_event_exit(code) once duration_ns is over. */
int pp_service_exit_after(struct pp_service *service, uint64_t duration_ns, int code);

/*
 * The whole life of pathprofd the service: signals, notifications, reloads. args for reloading.
 * Returns the exit status.
 */
struct pp_args;
int pp_service_main(const struct pp_args *args, const struct pp_config *config);

uint64_t pp_service_bursts(const struct pp_service *service);
uint64_t pp_service_paths(const struct pp_service *service);
const char *pp_service_db(const struct pp_service *service);

#endif
