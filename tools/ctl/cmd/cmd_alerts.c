// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl alerts: the alerts' states and when they last fired and resolved. */
#include <stdio.h>

#include "../ctl.h"
#include "../text/text.h"
#include "../view/listing.h"

static const char *state_name(const struct pathprof_alert_state *state)
{
	switch (state->phase) {
	case PATHPROF_ALERT_FIRING:
		return "firing";
	case PATHPROF_ALERT_PENDING:
		return "pending";
	default:
		return state->resolved_ns ? "resolved" : "quiet";
	}
}

static void add_time(struct table *table, int64_t ns)
{
	char text[32];

	table_cell(table, CTL_PLAIN, "%s", ns ? text_time(text, sizeof(text), ns) : "-");
}

static void add_cells(struct table *table, const struct pathprof_alert_row *row)
{
	bool firing = row->state.phase == PATHPROF_ALERT_FIRING;

	table_row(table, 0);
	table_cell(table, firing ? CTL_HOT : CTL_PLAIN, "%s", state_name(&row->state));
	table_cell(table, CTL_NAME, "%s", row->rule);
	table_cell(table, CTL_PLAIN, "%s", row->binary);
	table_cell(table, CTL_DIM, "%s", row->container[0] ? row->container : "-");
	table_cell(table, CTL_DIM, "%s", row->baseline);
	table_cell(table, CTL_PLAIN, "%.4f", row->state.value);
	add_time(table, row->state.since_ns);
	add_time(table, row->state.fired_ns);
	add_time(table, row->state.resolved_ns);
}

static json_t *object_of(const struct pathprof_alert_row *row)
{
	json_t *object = json_object(), *told = json_loads(row->json, 0, NULL);

	json_add_text(object, "state", state_name(&row->state));
	json_add_text(object, "rule", row->rule);
	json_add_text(object, "binary", row->binary);
	json_add_text(object, "container", row->container);
	json_add_text(object, "baseline", row->baseline);
	json_add_real(object, "value", row->state.value);
	json_add_count(object, "streak", row->state.streak_cnt);
	json_add_ns(object, "since_ns", row->state.since_ns);
	json_add_ns(object, "fired_ns", row->state.fired_ns);
	json_add_ns(object, "resolved_ns", row->state.resolved_ns);
	json_add_ns(object, "seen_ns", row->state.seen_ns);
	json_add(object, "told", told ? told : json_null());
	return object;
}

static int add(void *context, const struct pathprof_alert_row *row)
{
	struct listing *listing = context;

	if (listing->json)
		json_rows_add(&listing->rows, object_of(row));
	else
		add_cells(&listing->table, row);
	return 0;
}

static const struct table_column columns[] = {
	{"STATE", 0},
	{"RULE", 0},
	{"BINARY", TABLE_SHRINK},
	{"CONTAINER", TABLE_SHRINK | TABLE_SPARE},
	{"BASELINE", TABLE_SPARE},
	{"VALUE", TABLE_RIGHT},
	{"SINCE", 0},
	{"FIRED", TABLE_SPARE},
	{"RESOLVED", TABLE_SPARE},
};

static int fill(struct listing *listing, struct pathprof_store *store,
		const struct pathprof_filter *filter, struct pathprof_error *error)
{
	(void)filter;
	return pathprof_store_alerts(store, add, listing, error);
}

int cmd_alerts(const struct ctl_options *options)
{
	static const struct listing_verb verb = {"alerts", columns,
						 sizeof(columns) / sizeof(columns[0]), fill,
						 "no alert fires, is pending, or ever fired"};

	return listing_of_store(&verb, options);
}
