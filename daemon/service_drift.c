// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift, alerts and tested sets, as the service has them, and the outlet at which pathprof-relay
 * hears of them and reads figures. A recording has neither: it is one program, looked at once.
 */
#include "service_state.h"

#include <string.h>

#include "base/clock.h"
#include "drift/drift.h"
#include "shared/outlet.h"
#include "tested/tested_alerts.h"
#include "tested/tested_sets.h"

#define RELAY_PATIENCE_NS UINT64_C(60000000000)

static void show_figures(void *context, FILE *to)
{
	struct pp_service *service = context;

	pp_service_metrics(service, to);
	pp_drift_metrics(service->drift, to);
	pp_tested_sets_metrics(service->tested, to);
	pp_tested_alerts_metrics(service->tested_alerts, to);
}

static void on_news(void *context)
{
	const struct pp_service *service = context;

	pp_outlet_poke(service->outlet);
}

/* Tested sets are of paths as pathprof-trace counts them. */
static int open_tested(struct pp_service *service)
{
	const struct pp_config *config = &service->config;

	if (!config->tested[0])
		return 0;
	if (config->mapping == PATHPROF_MAPPING_BL && !pp_service_compresses(service))
		return pp_tested_sets_new(&service->tested, config->tested);
	pp_log(LOG_WARNING,
	       "tested sets in %s not used: the paths of this source or Mapping= end at calls, "
	       "those of "
	       "a tested set do not",
	       config->tested);
	return 0;
}

int pp_service_open_drift(struct pp_service *service, struct pathprof_error *error)
{
	const struct pp_config *config = &service->config;
	struct pathprof_error why = {""};
	int r = 0;

	if (service->only_pid)
		return 0;
	if (config->drift)
		r = pp_drift_new(&service->drift, config, service->store, service->event, error);
	if (r < 0)
		return r;
	pp_drift_on_news(service->drift, on_news, service);
	r = open_tested(service);
	if (r < 0)
		return pathprof_fail(error, r, "out of memory");
	r = pp_tested_alerts_new(&service->tested_alerts, config, service->tested, service->store,
				 service->event, error);
	if (r < 0)
		return r;
	pp_tested_alerts_on_news(service->tested_alerts, on_news, service);
	/* the messages are in the store in any case, and a relay looks there now and then */
	if (pp_outlet_new(&service->outlet, service->event, service->db_path, show_figures, service,
			  &why) < 0)
		pp_log(LOG_WARNING, "pathprof-relay cannot connect to this service: %s", why.text);
	return 0;
}

/* Drift comes first: what it still has to tell is told by the outlet. */
void pp_service_close_drift(struct pp_service *service)
{
	pp_drift_free(service->drift);
	service->drift = NULL;
	pp_tested_alerts_free(service->tested_alerts);
	service->tested_alerts = NULL;
	pp_tested_sets_free(service->tested);
	service->tested = NULL;
	pp_outlet_free(service->outlet);
	service->outlet = NULL;
}

void pp_service_relay_settings(const struct pp_config *config, char *ret_text, size_t size)
{
	const struct {
		const char *name, *value;
	} settings[] = {
		{"Exec=", config->tell_exec},
		{"Alertmanager=", config->tell_alertmanager},
		{"Webhook=", config->tell_webhook},
		{"Listen=", config->metrics_listen},
	};
	size_t len = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (settings[i].value[0] && len < size)
			len += (size_t)snprintf(ret_text + len, size - len, "%s%s", len ? ", " : "",
						settings[i].name);
}

const char *pp_service_relay(const struct pp_service *service)
{
	char settings[PP_RELAY_SETTINGS_MAX];

	if (pp_outlet_has_relay(service->outlet))
		return "connected";
	pp_service_relay_settings(&service->config, settings, sizeof(settings));
	return settings[0] ? "missing" : "not needed";
}

void pp_service_miss_relay(struct pp_service *service)
{
	char settings[PP_RELAY_SETTINGS_MAX];

	if (!service->outlet || strcmp(pp_service_relay(service), "missing") != 0) {
		service->relay_seen_ns = pp_monotonic_ns();
		service->relay_missed = false;
		return;
	}
	if (service->relay_missed || pp_monotonic_ns() - service->relay_seen_ns < RELAY_PATIENCE_NS)
		return;
	service->relay_missed = true;
	pp_service_relay_settings(&service->config, settings, sizeof(settings));
	pp_log(LOG_WARNING,
	       "%s: pathprof-relay does this, and none is connected: systemctl start "
	       "pathprof-relay, or run pathprof-relay --db %s",
	       settings, service->db_path);
}

void pp_service_configure_drift(struct pp_service *service)
{
	struct pathprof_error error = {""};

	if (pp_drift_configure(service->drift, &service->config, &error) < 0)
		pp_log(LOG_WARNING, "drift: new settings refused: %s", error.text);
}
