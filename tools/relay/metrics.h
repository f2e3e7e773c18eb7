/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Prometheus endpoint: GET /metrics, text format 0.0.4, by libmicrohttpd on the event loop's
 * own thread (its epoll fd), on loopback unless told otherwise. The figures are asked for at each
 * request and may come later, so nothing is kept twice; requests that wait meanwhile get the same
 * answer.
 *
 * Workload: a scrape every few seconds; at most some thousand lines. Limits: 16 connections, 10 s
 * each, one request a connection, without a body; anything else is answered 4xx.
 */
#ifndef PP_METRICS_H
#define PP_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "pathprof/error.h"

struct pp_metrics;

/* A client waits for all metrics: pp_metrics_answer() is to be called, from inside or later. */
typedef void pp_metrics_ask_fn(void *context);

struct pp_metrics_config {
	const char *address; /* "127.0.0.1:9753", "[::1]:9753" */
	pp_metrics_ask_fn *ask;
	void *context;
	uint32_t connection_ms; /* at most so long each; 0: 10 s */
};
/* -EADDRINUSE, -EINVAL..., error says what to do. */
int pp_metrics_new(struct pp_metrics **ret_metrics, sd_event *event,
		   const struct pp_metrics_config *config, struct pathprof_error *error);
void pp_metrics_free(struct pp_metrics *metrics);
/* Sends the text, which is copied, to all clients that wait. */
void pp_metrics_answer(struct pp_metrics *metrics, const char *text, size_t len_bytes);
/* The port it listens on, which differs from the one asked for only if that was 0. */
uint16_t pp_metrics_port(const struct pp_metrics *metrics);

#endif
