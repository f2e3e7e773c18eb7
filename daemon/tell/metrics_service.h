/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the service itself shows at the Prometheus endpoint: source, rates, overhead against its
 * budget, drops, windows, store. Called at each scrape, on the event loop's thread; keeps nothing.
 */
#ifndef PP_METRICS_SERVICE_H
#define PP_METRICS_SERVICE_H

#include <stdio.h>

struct pp_service;

void pp_metrics_service(struct pp_service *service, FILE *to);

#endif
