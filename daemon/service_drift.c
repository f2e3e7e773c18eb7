// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift, alerts and the Prometheus endpoint, as the service has them. A recording has neither: it
 * is one program, looked at once.
 */
#include "service_state.h"

#include "drift/drift.h"
#include "tell/metrics.h"
#include "tell/metrics_service.h"

static void show_metrics(void *context, FILE *to)
{
	struct pp_service *service = context;

	pp_metrics_service(service, to);
	pp_drift_metrics(service->drift, to);
}

int pp_service_open_drift(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_config *config = &service->config;
	const struct pp_metrics_config metrics = {
		.address = config->metrics_listen, .fn = show_metrics, .context = service};
	int r = 0;

	if (service->only_pid)
		return 0;
	if (config->drift)
		r = pp_drift_new(&service->drift, config, service->store, service->event, error);
	if (r == 0 && config->metrics_listen[0])
		r = pp_metrics_new(&service->metrics, service->event, &metrics, error);
	return r;
}

void pp_service_close_drift(struct pp_service *service)
{
	pp_metrics_free(service->metrics);
	service->metrics = NULL;
	pp_drift_free(service->drift);
	service->drift = NULL;
}

void pp_service_configure_drift(struct pp_service *service)
{
	struct pathprof_error error = {""};

	if (pp_drift_configure(service->drift, &service->config, &error) < 0)
		pp_log(LOG_WARNING, "drift: new settings refused: %s", error.text);
}
