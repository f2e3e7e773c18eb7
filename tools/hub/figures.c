// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures and news for pathprof-relay: see figures.h. */
#include "figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "../../daemon/shared/metrics_text.h"
#include "../../daemon/shared/outlet.h"
#include "base/clock.h"

#define SAID_NS (3600 * PP_NSEC_PER_SEC)

/* A figure that cannot be read is left out, counted, and told once an hour. */
struct unread {
	const char *what;
	uint64_t cnt, said_ns;
};

enum { UNREAD_ALERTS, UNREAD_BACKLOG, UNREAD_CNT };

struct hub_figures {
	sd_event *event;
	struct pp_outlet *outlet; /* NULL: the socket failed, and nobody is answered any more */
	struct hub_tenants *tenants;
	const struct hub_watch *watch;
	const uint64_t *denied_cnt;
	uint64_t told; /* number of changes of alerts of which the relay was told */
	struct unread unread[UNREAD_CNT];
};

static void say_unread(struct unread *unread, const char *tenant,
		       const struct pathprof_error *error)
{
	uint64_t now_ns = pp_monotonic_ns();

	unread->cnt++;
	if (unread->said_ns && now_ns - unread->said_ns < SAID_NS)
		return;
	unread->said_ns = now_ns;
	hub_note("figures: %s of tenant %s cannot be read and are left out, which is said once an "
		 "hour: %s",
		 unread->what, tenant, error->text);
}

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
	pp_metrics_one(to, "pathprof_hub_judging_put_off_total", "counter",
		       "Tries of judging that failed and are made again.", (double)counts->put_off);
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

/* A sum over only those tenants whose alerts can be read would be wrong. */
static bool count_alerts(struct hub_figures *figures, struct firing *firing)
{
	struct hub_ingest *ingest;
	bool is_whole = true;

	for (size_t i = 0; (ingest = hub_tenants_at(figures->tenants, i)); i++) {
		struct pathprof_error error = {""};

		if (pathprof_store_alerts(hub_ingest_store(ingest), count_firing, firing, &error) ==
		    0)
			continue;
		say_unread(&figures->unread[UNREAD_ALERTS], hub_tenants_name(figures->tenants, i),
			   &error);
		is_whole = false;
	}
	return is_whole;
}

static void put_alerts(struct hub_figures *figures, FILE *to)
{
	static const char name[] = "pathprof_hub_alerts_firing";
	struct firing firing = {0, 0};

	if (!count_alerts(figures, &firing))
		return;
	pp_metrics_head(to, name, "gauge", "Alerts that fire, by what they are about.");
	put(to, name, "scope", "host", firing.host);
	put(to, name, "scope", "release", firing.release);
}

static void put_rolling(struct hub_figures *figures, FILE *to)
{
	static const char name[] = "pathprof_hub_roll_backlog_seconds";
	struct hub_ingest *ingest;

	pp_metrics_one(to, "pathprof_hub_rolled_hours_total", "counter",
		       "Hours of hosts that were summed up.",
		       (double)hub_tenants_counts(figures->tenants).rolled);
	pp_metrics_head(to, name, "gauge",
			"How long the oldest hour waits to be summed up, by tenant.");
	for (size_t i = 0; (ingest = hub_tenants_at(figures->tenants, i)); i++) {
		const char *tenant = hub_tenants_name(figures->tenants, i);
		struct pathprof_error error = {""};
		int64_t backlog_s = 0;

		if (hub_ingest_backlog(ingest, &backlog_s, &error) < 0)
			say_unread(&figures->unread[UNREAD_BACKLOG], tenant, &error);
		else
			put(to, name, "tenant", tenant, (uint64_t)backlog_s);
	}
}

static void put_unread(const struct hub_figures *figures, FILE *to)
{
	static const char name[] = "pathprof_hub_figures_unread_total";

	pp_metrics_head(to, name, "counter", "Figures that were left out, by what was not read.");
	for (size_t i = 0; i < UNREAD_CNT; i++)
		put(to, name, "what", figures->unread[i].what, figures->unread[i].cnt);
}

static void write_figures(void *context, FILE *to)
{
	struct hub_figures *figures = context;

	put_parcels(figures, to);
	put_judging(figures, to);
	put_alerts(figures, to);
	put_rolling(figures, to);
	put_unread(figures, to);
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
	figures->unread[UNREAD_ALERTS].what = "alerts";
	figures->unread[UNREAD_BACKLOG].what = "hours to sum up";
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
	return figures->outlet ? sd_event_get_fd(figures->event) : -1;
}

/* Closes the socket and its connections. Otherwise the descriptor would wake the hub again and
 * again, and a relay whose connection stayed open would take the hub for one without news. */
static void give_up(struct hub_figures *figures, int code)
{
	pp_outlet_free(figures->outlet);
	figures->outlet = NULL;
	hub_note("figures: pathprof-relay gets none, and looks for alerts by itself, until the hub "
		 "starts again: its socket failed: %s",
		 strerror(-code));
}

void hub_figures_turn(struct hub_figures *figures)
{
	const struct hub_alert_counts *alerts = &hub_watch_counts(figures->watch)->alerts;
	int r;

	if (!figures->outlet)
		return;
	if (alerts->fired + alerts->resolved != figures->told) {
		figures->told = alerts->fired + alerts->resolved;
		pp_outlet_poke(figures->outlet);
	}
	do
		r = sd_event_run(figures->event, 0);
	while (r > 0);
	if (r < 0 && r != -EINTR)
		give_up(figures, r);
}
