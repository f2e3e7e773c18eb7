/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording the values that functions' parameters had (VP 3, RPS 2): probes, their messages, a
 * table of top values a parameter, and all of it into the store when a window closes. Only on
 * request, and only of the process asked for and its descendants: values can be secrets.
 *
 * Workload: drained every 20 ms; a window's rows once a window. The event loop owns it.
 *
 * A process is probed from its first instruction when it is the one asked for; a descendant from
 * when the loop has heard of it, a millisecond or so after its fork.
 */
#ifndef PP_VALUES_H
#define PP_VALUES_H

#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "pathprof/error.h"
#include "pathprof/store.h"

#define PP_VALUES_SAMPLER "H[PR16]1024"

struct pp_values;

struct pp_values_request {
	const char *const *specs; /* as --value has them */
	unsigned int spec_cnt;
	const char *sampler; /* NULL: PP_VALUES_SAMPLER */
	pid_t pid;           /* whom to record */
	const char *command; /* what pid is about to execute; NULL: it runs already */
};

/* From here on executions count. Errors say which --value, what, and what to do. */
int pp_values_new(struct pp_values **ret_values, const struct pp_values_request *request,
		  sd_event *event, struct pathprof_error *error);
/* NULL-safe, as the two below. */
void pp_values_free(struct pp_values *values);
/* Takes the probes away. What was recorded stays, for the last window. */
void pp_values_stop(struct pp_values *values);

/* Stores what came since the last window as this one's. */
int pp_values_store(struct pp_values *values, struct pathprof_store *store, int64_t window,
		    struct pathprof_error *error);

/* One line about it: how many parameters, executions, by which probes. */
void pp_values_describe(const struct pp_values *values, char *ret_text, size_t text_size);

#endif
