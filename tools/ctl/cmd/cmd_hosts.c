// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl hosts: whose parcels were added to the database. */
#include "../ctl.h"

#include <inttypes.h>
#include <stdio.h>

#include "../text/text.h"
#include "../view/listing.h"
#include "../view/parcel_show.h"
#include "pathprof/parcel_store.h"

static const struct table_column columns[] = {
	{"HOST", TABLE_SHRINK},
	{"LABELS", TABLE_SHRINK},
	{"STORE", 0},
	{"CPUS", TABLE_RIGHT},
	{"CPU", TABLE_RIGHT},
	{"PARCELS", TABLE_RIGHT},
	{"WINDOWS", TABLE_RIGHT},
	{"FIRST", TABLE_SPARE},
	{"LAST", 0},
	{"OS", TABLE_SHRINK | TABLE_SPARE},
	{"KERNEL", TABLE_SHRINK | TABLE_SPARE},
	{"MODEL", TABLE_SHRINK | TABLE_SPARE},
};

static void add_text(struct table *table, enum ctl_style style, const char *text)
{
	table_cell(table, style, "%s", text[0] ? text : "-");
}

static void add_cells(struct table *table, const struct pathprof_host_row *row)
{
	char text[PARCEL_STORE_TEXT];

	table_row(table, 0);
	add_text(table, CTL_NAME, row->host.name);
	add_text(table, CTL_PLAIN, row->host.labels);
	table_cell(table, CTL_DIM, "%.8s", parcel_store_text(row->store, text));
	if (row->host.cpus)
		table_cell(table, CTL_PLAIN, "%u", row->host.cpus);
	else
		table_cell(table, CTL_DIM, "-");
	table_cell(table, CTL_PLAIN, "%.1fs", row->cpu_s);
	table_cell(table, CTL_PLAIN, "%" PRIu64, row->parcel_cnt);
	table_cell(table, CTL_PLAIN, "%" PRIu64, row->window_cnt);
	table_cell(table, CTL_PLAIN, "%s",
		   text_time(text, sizeof(text), row->first_slot_s * CTL_NS_PER_S));
	table_cell(table, CTL_PLAIN, "%s",
		   text_time(text, sizeof(text), row->last_slot_s * CTL_NS_PER_S));
	add_text(table, CTL_DIM, row->host.os);
	add_text(table, CTL_DIM, row->host.kernel);
	add_text(table, CTL_DIM, row->host.model);
}

static json_t *object_of(const struct pathprof_host_row *row)
{
	json_t *object = parcel_host_json(&row->host);
	char store[PARCEL_STORE_TEXT];

	json_add_text(object, "store", parcel_store_text(row->store, store));
	json_add_count(object, "parcels", row->parcel_cnt);
	json_add_count(object, "windows", row->window_cnt);
	json_add_count(object, "first_slot", (uint64_t)row->first_slot_s);
	json_add_count(object, "last_slot", (uint64_t)row->last_slot_s);
	json_add_real(object, "cpu_s", row->cpu_s);
	return object;
}

static int add(void *context, const struct pathprof_host_row *row)
{
	struct listing *listing = context;

	if (listing->json)
		json_rows_add(&listing->rows, object_of(row));
	else
		add_cells(&listing->table, row);
	return 0;
}

static int fill(struct listing *listing, struct pathprof_store *store,
		const struct pathprof_filter *filter, struct pathprof_error *error)
{
	return pathprof_store_hosts(store, filter, add, listing, error);
}

int cmd_hosts(const struct ctl_options *options)
{
	static const struct listing_verb verb = {
		"hosts", columns, sizeof(columns) / sizeof(columns[0]), fill,
		"no parcels were added to this database: it holds what was recorded here"};

	return listing_of_store(&verb, options);
}
