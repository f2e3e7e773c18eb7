/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sinks of pathprof-relay: programs, and receivers of HTTP requests. See daemon/shared/tell.h
 * for what they have in common. Messages come in the order of their ids.
 */
#ifndef PP_SINKS_H
#define PP_SINKS_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "../../daemon/shared/tell.h"

/*
 * Runs `command` (words between blanks, the first an absolute path; no shell, no quoting) with the
 * JSON on standard input, one at a time, in the order told, at most timeout_ms each (then killed
 * with its group). A failing message is tried three times in all. 256 messages wait at most.
 */
struct pp_tell_exec_config {
	const char *command;
	uint32_t timeout_ms; /* 0: 10 s */
	uint32_t retry_ms;   /* pause after the first failure, then doubled; 0: 0.25 s */
};
int pp_tell_exec_new(struct pp_tell **ret_tell, sd_event *event,
		     const struct pp_tell_exec_config *config, struct pathprof_error *error);
/*
 * POSTs to an Alertmanager (URL up to and without /api/v2/alerts) or, for any other webhook, the
 * JSON as it is, one message a request, in order. To an Alertmanager firing alerts are sent again
 * every resend_ms, as it expects, until resolved; should the relay die, they end four times
 * resend_ms later. libcurl's multi interface on the event loop; proxies by its environment.
 */
enum pp_tell_webhook_kind { PP_TELL_WEBHOOK_ALERTMANAGER, PP_TELL_WEBHOOK_JSON };
struct pp_tell_webhook_config {
	enum pp_tell_webhook_kind kind;
	const char *url;         /* http or https */
	const char *bearer_file; /* token, read at each try; NULL: none */
	const char *ca_file;     /* NULL: the system's */
	uint32_t resend_ms;      /* 0: a minute */
	uint32_t queue_max;      /* messages, alerts that fire included; 0: 256 */
	uint32_t timeout_ms;     /* of one try; 0: 15 s */
	uint32_t retry_ms;       /* pause after the first failure, doubled up to 5 min; 0: 1 s */
};
int pp_tell_webhook_new(struct pp_tell **ret_tell, sd_event *event,
			const struct pp_tell_webhook_config *config, struct pathprof_error *error);
/* For an Alertmanager: stops repeating alerts that were sent; messages not sent yet stay. */
void pp_tell_webhook_forget(struct pp_tell *tell);
/* The same; and while pathprofd is away, alerts sent from here on are not repeated either. */
void pp_tell_webhook_set_away(struct pp_tell *tell, bool away);

/* For the endpoint: pathprof_tell_*, by sink; cnt may be 0. */
void pp_tell_metrics(struct pp_tell *const *tells, size_t cnt, FILE *to);

/*
 * tell_alertmanager.c: a message as Alertmanager's API (version 2) takes it: labels that say which
 * alert it is, and stay the same from its first message to its last; annotations for people. Pure
 * but for the JSON made.
 */
/* {labels, annotations, startsAt, and of a resolved one endsAt}; NULL: out of memory. */
json_t *pp_alertmanager_alert(const struct pp_tell_message *message, const char *host);
/* Sets the time until which the alert holds unless sent again. wall_ns: CLOCK_REALTIME. */
int pp_alertmanager_set_end(json_t *alert, int64_t wall_ns);

/*
 * tell_hook.c: starting the alert hook: a program of the operator's, which must not get the relay's
 * privileges. It gets a process group of its own, the three descriptors it is given, PATH for its
 * environment, the default of every signal, the ordinary place in the queue when memory runs out,
 * and no capability: neither inherited (systemd gives the service ambient ones) nor to be had by
 * executing a program (no_new_privs). Its user, groups and resource limits are the relay's.
 *
 * argv[0]: its path. input and output become its standard input and standard error; standard output
 * is /dev/null. -errno, that of execve() included: then there is no child.
 */
int pp_tell_hook_start(pid_t *ret_child, char *const *argv, int input, int output);

#endif
