// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl hosts: the hosts whose parcels were added to the database, or to a hub's. */
#include "../ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../hub.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/listing.h"
#include "../view/parcel_show.h"
#include "hosts_lost.h"
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

/* cnt is 0 only if the hub is too old to report it, since a host has at least one parcel. */
static void add_count(struct table *table, uint64_t cnt)
{
	if (cnt)
		table_cell(table, CTL_PLAIN, "%" PRIu64, cnt);
	else
		table_cell(table, CTL_DIM, "-");
}

static void add_slot(struct table *table, int64_t slot_s)
{
	char text[32];

	table_cell(table, CTL_PLAIN, "%s", text_time(text, sizeof(text), slot_s * CTL_NS_PER_S));
}

static int add_cells(struct table *table, const struct pathprof_host_row *row)
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
	add_count(table, row->parcel_cnt);
	add_count(table, row->window_cnt);
	if (row->parcel_cnt)
		add_slot(table, row->first_slot_s);
	else
		table_cell(table, CTL_DIM, "-");
	add_slot(table, row->last_slot_s);
	add_text(table, CTL_DIM, row->host.os);
	add_text(table, CTL_DIM, row->host.kernel);
	add_text(table, CTL_DIM, row->host.model);
	return 0;
}

static json_t *object_of(const struct pathprof_host_row *row)
{
	json_t *object = parcel_host_json(&row->host);
	char store[PARCEL_STORE_TEXT];

	json_add_text(object, "store", parcel_store_text(row->store, store));
	if (row->parcel_cnt) {
		json_add_count(object, "parcels", row->parcel_cnt);
		json_add_count(object, "windows", row->window_cnt);
		json_add_count(object, "first_slot", (uint64_t)row->first_slot_s);
	}
	json_add_count(object, "last_slot", (uint64_t)row->last_slot_s);
	json_add_real(object, "cpu_s", row->cpu_s);
	return object;
}

static int add(void *context, const struct pathprof_host_row *row)
{
	struct listing *listing = context;

	if (!listing->json)
		return add_cells(&listing->table, row);
	json_rows_add(&listing->rows, object_of(row));
	return 0;
}

static int fill(struct listing *listing, struct pathprof_store *store,
		const struct pathprof_filter *filter, struct pathprof_error *error)
{
	int r = pathprof_store_hosts(store, filter, add, listing, error);

	return r < 0 ? r : hosts_lost_tell(listing, store, filter, error);
}

/* ---------------------------------------------------------------- of a hub */

/* The answer has one parcel for each host, the sum of a span. The hub's list says how much it keeps
 * of the host. */
struct sums {
	struct listing *listing;
	const json_t *kept; /* NULL: not known */
};

static bool is_text(const json_t *object, const char *key, const char *want)
{
	const char *have = json_string_value(json_object_get(object, key));

	return have && !strcmp(have, want);
}

/* Returns NULL if the hub does not say. */
static const json_t *find_kept(const struct sums *sums, const struct pathprof_host_row *row)
{
	char store[PARCEL_STORE_TEXT];
	const json_t *object;
	size_t i;

	parcel_store_text(row->store, store);
	json_array_foreach(sums->kept, i, object)
	{
		if (is_text(object, "store", store) && is_text(object, "host", row->host.name))
			return object;
	}
	return NULL;
}

/* Hubs of earlier versions have none of these members. */
static bool get(const json_t *object, const char *key, int64_t *ret_number)
{
	const json_t *member = json_object_get(object, key);

	*ret_number = json_integer_value(member);
	return json_is_integer(member) && *ret_number >= 0;
}

static bool get_slot(const json_t *object, const char *key, int64_t *ret_slot_s)
{
	return get(object, key, ret_slot_s) && *ret_slot_s <= INT64_MAX / CTL_NS_PER_S;
}

static int add_sum(void *context, const struct pathprof_host_row *sum)
{
	const struct sums *sums = context;
	const json_t *kept = find_kept(sums, sum);
	struct pathprof_host_row row = *sum;
	int64_t parcels, windows, first_s, last_s;

	row.parcel_cnt = 0;
	row.window_cnt = 0;
	if (get(kept, "parcels", &parcels) && get(kept, "windows", &windows) &&
	    get_slot(kept, "first_slot", &first_s) && get_slot(kept, "last_slot", &last_s)) {
		row.parcel_cnt = (uint64_t)parcels;
		row.window_cnt = (uint64_t)windows;
		row.first_slot_s = first_s;
		row.last_slot_s = last_s;
	}
	return add(sums->listing, &row);
}

static int fill_sums(struct listing *listing, struct pathprof_store *store,
		     const struct pathprof_filter *filter, struct pathprof_error *error)
{
	_cleanup_json_ json_t *kept = hub_hosts();
	struct sums sums = {listing, kept};
	int r = pathprof_store_hosts(store, filter, add_sum, &sums, error);

	return r < 0 ? r : hosts_lost_tell(listing, store, filter, error);
}

static int hosts_of_hub(const struct ctl_options *options)
{
	static const struct listing_verb verb = {"hosts", columns,
						 sizeof(columns) / sizeof(columns[0]), fill_sums,
						 "no host sent anything in the last hour"};
	int r = listing_of_store(&verb, options);

	if (r == CTL_OK && !options->json)
		puts("\nCPU is of the last hour; a host that sent nothing of it is not listed. "
		     "PARCELS, WINDOWS,\nFIRST and LAST are of all that the hub keeps; - where a "
		     "hub of an earlier version does not say.");
	return r;
}

int cmd_hosts(const struct ctl_options *options)
{
	static const struct listing_verb verb = {
		"hosts", columns, sizeof(columns) / sizeof(columns[0]), fill,
		"no parcels were added to this database: it holds what was recorded here"};

	return options->hub ? hosts_of_hub(options) : listing_of_store(&verb, options);
}
