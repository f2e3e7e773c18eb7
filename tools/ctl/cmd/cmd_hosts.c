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

/* A hub's answer is one parcel a host: it does not say of how many that is the sum, nor since
 * when the host sends. */
static const struct table_column hub_columns[] = {
	{"HOST", TABLE_SHRINK},
	{"LABELS", TABLE_SHRINK},
	{"STORE", 0},
	{"CPUS", TABLE_RIGHT},
	{"CPU", TABLE_RIGHT},
	{"LAST", 0},
	{"OS", TABLE_SHRINK | TABLE_SPARE},
	{"KERNEL", TABLE_SHRINK | TABLE_SPARE},
	{"MODEL", TABLE_SHRINK | TABLE_SPARE},
};

static void add_text(struct table *table, enum ctl_style style, const char *text)
{
	table_cell(table, style, "%s", text[0] ? text : "-");
}

static void add_slot(struct table *table, int64_t slot_s)
{
	char text[32];

	table_cell(table, CTL_PLAIN, "%s", text_time(text, sizeof(text), slot_s * CTL_NS_PER_S));
}

static void add_cells(struct table *table, const struct pathprof_host_row *row, bool is_sum)
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
	if (!is_sum) {
		table_cell(table, CTL_PLAIN, "%" PRIu64, row->parcel_cnt);
		table_cell(table, CTL_PLAIN, "%" PRIu64, row->window_cnt);
		add_slot(table, row->first_slot_s);
	}
	add_slot(table, row->last_slot_s);
	add_text(table, CTL_DIM, row->host.os);
	add_text(table, CTL_DIM, row->host.kernel);
	add_text(table, CTL_DIM, row->host.model);
}

static json_t *object_of(const struct pathprof_host_row *row, bool is_sum)
{
	json_t *object = parcel_host_json(&row->host);
	char store[PARCEL_STORE_TEXT];

	json_add_text(object, "store", parcel_store_text(row->store, store));
	if (!is_sum) {
		json_add_count(object, "parcels", row->parcel_cnt);
		json_add_count(object, "windows", row->window_cnt);
		json_add_count(object, "first_slot", (uint64_t)row->first_slot_s);
	}
	json_add_count(object, "last_slot", (uint64_t)row->last_slot_s);
	json_add_real(object, "cpu_s", row->cpu_s);
	return object;
}

static int add(struct listing *listing, const struct pathprof_host_row *row, bool is_sum)
{
	if (listing->json)
		json_rows_add(&listing->rows, object_of(row, is_sum));
	else
		add_cells(&listing->table, row, is_sum);
	return 0;
}

static int add_host(void *context, const struct pathprof_host_row *row)
{
	return add(context, row, false);
}

static int add_sum(void *context, const struct pathprof_host_row *row)
{
	return add(context, row, true);
}

static int fill(struct listing *listing, struct pathprof_store *store,
		const struct pathprof_filter *filter, struct pathprof_error *error)
{
	return pathprof_store_hosts(store, filter, add_host, listing, error);
}

static int fill_sums(struct listing *listing, struct pathprof_store *store,
		     const struct pathprof_filter *filter, struct pathprof_error *error)
{
	return pathprof_store_hosts(store, filter, add_sum, listing, error);
}

static int hosts_of_hub(const struct ctl_options *options)
{
	static const struct listing_verb verb = {
		"hosts", hub_columns, sizeof(hub_columns) / sizeof(hub_columns[0]), fill_sums,
		"no host sent anything in the last hour"};
	int r = listing_of_store(&verb, options);

	if (r == CTL_OK && !options->json)
		puts("\nCPU is of the last hour; a host that sent nothing of it is not listed.");
	return r;
}

int cmd_hosts(const struct ctl_options *options)
{
	static const struct listing_verb verb = {
		"hosts", columns, sizeof(columns) / sizeof(columns[0]), fill,
		"no parcels were added to this database: it holds what was recorded here"};

	return options->hub ? hosts_of_hub(options) : listing_of_store(&verb, options);
}
