/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling people: where a change of an alert goes. One operations struct for all sinks. pathprofd
 * tells the journal itself; what needs the network or runs programs is pathprof-relay's
 * (tools/relay/sinks.h), which finds the messages in the store. No sink may block its event loop:
 * each has a bounded queue or none, its own retries with growing pauses, and counts what it had to
 * drop.
 *
 * Workload: a few messages an hour, hundreds at once when a fleet rolls out. One owner, the event
 * loop.
 */
#ifndef PP_TELL_H
#define PP_TELL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/alert.h"
#include "pathprof/error.h"

/* A change of an alert; valid during the call. */
struct pp_tell_message {
	/*
	 * FIRED, RESOLVED; or SAME: it was told already and fires still, which only a sink that
	 * sends again what fires takes in, and the others pass over.
	 */
	enum pathprof_alert_change change;
	int64_t id; /* of the store; they grow; 0: not there */
	const char *rule, *binary, *container, *baseline, *metric;
	double value, threshold;
	int64_t begin_ns, end_ns; /* since when it fires; end: when resolved, else 0 */
	/* All of it as one JSON object: version, status ("firing", "resolved"), rule, metric,
	   value, low, high, threshold, samples, binary, build_id, container, host, baseline,
	   starts_at, ends_at, paths: [{path_id, function, source, share, baseline_share, bits},
	   ...], command. */
	const char *json;
	const char *summary; /* one line for people */
};

struct pp_tell_stats {
	uint64_t told, failed_tries, dropped; /* messages; tries; messages */
	uint64_t queued;          /* messages that wait now, the one under way included */
	int64_t settled;          /* id up to which every message was told or dropped */
	const char *why;          /* of the last try, valid until the next; NULL: it did not fail */
	int64_t failing_since_ns; /* CLOCK_REALTIME of the first try that failed in a row */
};

struct pp_tell; /* each implementation has its own; the first member is the ops pointer */

struct pp_tell_ops {
	const char *name;
	/* Never blocks. -ENOBUFS: the queue is full, the message was dropped (and counted). */
	int (*tell)(struct pp_tell *tell, const struct pp_tell_message *message);
	void (*stats)(struct pp_tell *tell, struct pp_tell_stats *ret_stats);
	/* Waits so long for what is under way, and begins nothing more. NULL: nothing ever is. */
	void (*finish)(struct pp_tell *tell, uint32_t wait_ms);
	/* Breaks off what is under way, and frees. NULL-safe. */
	void (*free)(struct pp_tell *tell);
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

#endif
