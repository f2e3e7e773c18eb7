// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl hosts: whose parcels were added to the database. */
#include "../ctl.h"

#include <inttypes.h>
#include <stdio.h>

#include "../text/cleanup.h"
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
	json_add_ns(object, "first_slot", row->first_slot_s);
	json_add_ns(object, "last_slot", row->last_slot_s);
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

int cmd_hosts(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct listing listing = {.json = options->json};
	struct pathprof_error error = {""};
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	table_init(&listing.table, columns, sizeof(columns) / sizeof(columns[0]));
	listing_begin(&listing);
	r = pathprof_store_hosts(store, &options->filter, add, &listing, &error);
	listing_end(
		&listing,
		r == 0 ? "no parcels were added to this database: it holds what was recorded here"
		       : NULL);
	return r < 0 ? ctl_fail_error("hosts", r, &error) : CTL_OK;
}
