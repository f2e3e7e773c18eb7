/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling people: where a change of an alert goes. One operations struct for all sinks: journal,
 * exec hook, webhook. None may block the event loop or lose it: each has a bounded queue, its own
 * retries with growing pauses, and counts what it had to drop.
 *
 * Workload: a few messages an hour, hundreds at once when a fleet rolls out. One owner, the event
 * loop.
 */
#ifndef PP_TELL_H
#define PP_TELL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "pathprof/alert.h"
#include "pathprof/error.h"

/* What happened; valid during the call. */
struct pp_tell_message {
	/*
	 * FIRED, RESOLVED; or SAME: it has been firing since before the daemon was started, which
	 * only a sink that sends again what fires takes in, and the others pass over.
	 */
	enum pathprof_alert_change change;
	const char *rule, *binary, *container, *baseline, *metric;
	double value, threshold;
	int64_t begin_ns, end_ns; /* since when it fires; end: when resolved, else 0 */
	/* All of it as one JSON object: version, status ("firing", "resolved"), rule, metric,
	   value, low, high, threshold, samples, binary, build_id, container, host, baseline,
	   starts_at, ends_at, paths: [{path_id, function, source, share, baseline_share, bits},
	   ...]. */
	const char *json;
	const char *summary; /* one line for people */
};

struct pp_tell_stats {
	uint64_t told, failed_tries, dropped; /* messages; tries; messages */
	uint64_t queued; /* messages that wait now, the one under way included */
};

struct pp_tell; /* each implementation has its own; the first member is the ops pointer */

struct pp_tell_ops {
	const char *name;
	/* Never blocks. -ENOBUFS: the queue is full, the message was dropped (and counted). */
	int (*tell)(struct pp_tell *tell, const struct pp_tell_message *message);
	void (*stats)(struct pp_tell *tell, struct pp_tell_stats *ret_stats);
	/* What is queued gets one last try within wait_ms. NULL-safe. */
	void (*free)(struct pp_tell *tell, uint32_t wait_ms);
};
struct pp_tell {
	const struct pp_tell_ops *ops;
};

/*
 * One entry a message, with fields (docs/alerting.md); without a journal a line on standard error.
 * A journal that does not keep up loses the message, which is counted: it has no queue.
 */
int pp_tell_journal_new(struct pp_tell **ret_tell);
/* The same at another socket. */
int pp_tell_journal_at(struct pp_tell **ret_tell, const char *socket_path);
/*
 * Runs `command` (words between blanks, the first an absolute path; no shell, no quoting) with the
 * JSON on standard input, one at a time, in the order told, at most timeout_ms each (then killed
 * with its group). What fails is tried three times in all. 256 messages wait at most.
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
 * every resend_ms, as it expects, until resolved; should the daemon die, they end four times
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

/* For the endpoint: pathprof_tell_*, by sink; cnt may be 0. */
void pp_tell_metrics(struct pp_tell *const *tells, size_t cnt, FILE *to);

#endif
