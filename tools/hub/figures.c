// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures and news for pathprof-relay: see figures.h. */
#include "figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "../../daemon/shared/metrics_text.h"
#include "../../daemon/shared/outlet.h"

struct hub_figures {
	sd_event *event;
	struct pp_outlet *outlet;
	struct hub_tenants *tenants;
	const struct hub_watch *watch;
	const uint64_t *denied_cnt;
	uint64_t told; /* changes of alerts that the relay was poked about */
};

static void put(FILE *to, const char *name, const char *label, const char *value, uint64_t cnt)
{
	const char *labels[] = {label, value, NULL};

	pp_metrics_sample(to, name, labels, (double)cnt);
}

static void put_parcels(const struct hub_figures *figures, FILE *to)
{
	static const char name[] = "pathprof_hub_parcels_total";
	const struct hub_ingest_counts counts = hub_tenants_counts(figures->tenants);

	pp_metrics_head(to, name, "counter", "Parcels that hosts sent, by what became of them.");
	put(to, name, "result", "added", counts.added);
	put(to, name, "result", "replaced", counts.replaced);
	put(to, name, "result", "beside", counts.beside);
	put(to, name, "result", "known", counts.known);
	put(to, name, "result", "refused", counts.refused);
	pp_metrics_one(to, "pathprof_hub_denied_total", "counter",
		       "Requests of those who may not ask.", (double)*figures->denied_cnt);
}

static void put_judging(const struct hub_figures *figures, FILE *to)
{
	static const char spans[] = "pathprof_hub_spans_total";
	static const char left_out[] = "pathprof_hub_left_out_total";
	const struct hub_watch_counts *counts = hub_watch_counts(figures->watch);

	pp_metrics_head(to, spans, "counter", "Spans of time, by whether they were judged.");
	put(to, spans, "result", "judged", counts->judged);
	put(to, spans, "result", "failed", counts->failed);
	put(to, spans, "result", "skipped", counts->skipped);
	pp_metrics_head(to, left_out, "counter", "What was left out of judgements.");
	put(to, left_out, "what", "hosts", counts->hosts_left_out);
	put(to, left_out, "what", "builds", counts->builds_left_out);
	put(to, left_out, "what", "alerts", counts->alerts.left_out);
}

struct firing {
	uint64_t host, release;
};

static int count_firing(void *context, const struct pathprof_alert_row *row)
{
	struct firing *firing = context;

	if (row->state.phase != PATHPROF_ALERT_FIRING)
		return 0;
	if (strncmp(row->container, "host:", 5) == 0)
		firing->host++;
	else
		firing->release++;
	return 0;
}

static void put_alerts(const struct hub_figures *figures, FILE *to)
{
	static const char name[] = "pathprof_hub_alerts_firing";
	struct firing firing = {0, 0};
	struct hub_ingest *ingest;

	for (size_t i = 0; (ingest = hub_tenants_at(figures->tenants, i)); i++)
		pathprof_store_alerts(hub_ingest_store(ingest), count_firing, &firing, NULL);
	pp_metrics_head(to, name, "gauge", "Alerts that fire, by what they are about.");
	put(to, name, "scope", "host", firing.host);
	put(to, name, "scope", "release", firing.release);
}

static void write_figures(void *context, FILE *to)
{
	const struct hub_figures *figures = context;

	put_parcels(figures, to);
	put_judging(figures, to);
	put_alerts(figures, to);
}

int hub_figures_new(struct hub_figures **ret_figures, const char *db, struct hub_tenants *tenants,
		    const struct hub_watch *watch, const uint64_t *denied_cnt,
		    struct pathprof_error *error)
{
	struct hub_figures *figures = calloc(1, sizeof(*figures));
	int r;

	if (!figures)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	figures->tenants = tenants;
	figures->watch = watch;
	figures->denied_cnt = denied_cnt;
	r = sd_event_new(&figures->event);
	if (r < 0)
		pathprof_fail(error, r, "%s", strerror(-r));
	else
		r = pp_outlet_new(&figures->outlet, figures->event, db, write_figures, figures,
				  error);
	if (r < 0)
		hub_figures_free(figures);
	else
		*ret_figures = figures;
	return r;
}

void hub_figures_free(struct hub_figures *figures)
{
	if (!figures)
		return;
	pp_outlet_free(figures->outlet);
	sd_event_unref(figures->event);
	free(figures);
}

int hub_figures_fd(const struct hub_figures *figures)
{
	return sd_event_get_fd(figures->event);
}

void hub_figures_turn(struct hub_figures *figures)
{
	const struct hub_alert_counts *alerts = &hub_watch_counts(figures->watch)->alerts;

	if (alerts->fired + alerts->resolved != figures->told) {
		figures->told = alerts->fired + alerts->resolved;
		pp_outlet_poke(figures->outlet);
	}
	while (sd_event_run(figures->event, 0) > 0)
		;
}
