/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Prometheus endpoint: GET /metrics, text format 0.0.4, by libmicrohttpd on the event loop's
 * own thread (external select or its epoll fd), on loopback unless told otherwise. What it shows is
 * asked of a callback at each request, so nothing is kept twice.
 *
 * Workload: a scrape every few seconds; at most some thousand lines. Limits: 16 connections, 10 s
 * each, one request a connection, without a body; anything else is answered 4xx.
 */
#ifndef PP_METRICS_H
#define PP_METRICS_H

#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "pathprof/error.h"

struct pp_metrics;

/* Writes all metrics; names, labels and values by the functions below. */
typedef void pp_metrics_fn(void *context, FILE *to);

struct pp_metrics_config {
	const char *address; /* "127.0.0.1:9753", "[::1]:9753" */
	pp_metrics_fn *fn;
	void *context;
	uint32_t connection_ms; /* at most so long each; 0: 10 s */
};
/* -EADDRINUSE, -EINVAL..., error says what to do. */
int pp_metrics_new(struct pp_metrics **ret_metrics, sd_event *event,
		   const struct pp_metrics_config *config, struct pathprof_error *error);
void pp_metrics_free(struct pp_metrics *metrics);
/* The port it listens on: another than asked for only when that was 0. */
uint16_t pp_metrics_port(const struct pp_metrics *metrics);

/* # HELP and # TYPE ("counter", "gauge"); once a name, before its samples. */
void pp_metrics_head(FILE *to, const char *name, const char *type, const char *help);
/* labels: name, value, name, value, ..., NULL; values are escaped here. */
void pp_metrics_sample(FILE *to, const char *name, const char *const *labels, double value);

#endif
