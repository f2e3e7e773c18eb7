// SPDX-License-Identifier: GPL-2.0-or-later
/* The contents of a parcel: see parcel_show.h. */
#include "parcel_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "json.h"
#include "window_text.h"

char *parcel_store_text(const uint8_t store[PATHPROF_PARCEL_STORE_BYTES],
			char text[PARCEL_STORE_TEXT])
{
	for (size_t i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", store[i]);
	return text;
}

/* A window of the part, or all of them as one, in the form that a store has. */
static struct pathprof_window_row row_of(const struct pathprof_profile *p, int64_t id,
					 int64_t begin_ns, int64_t end_ns,
					 const struct pathprof_totals *totals)
{
	return (struct pathprof_window_row){
		.id = id,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.source = p->source,
		.basis = p->basis,
		.taken_wanted = p->taken_wanted,
		.horizon = p->horizon,
		.clock_hz = p->clock_hz,
		.clock_kernel = p->clock_kernel,
		.weighed = p->weighed,
		.totals = *totals,
	};
}

/* CPU time that the clock saw; 0: no clock ran. */
static double cpu_s(const struct pathprof_profile *p)
{
	return p->clock_hz ? (double)p->totals.clock_samples / p->clock_hz : 0;
}

/* ---------------------------------------------------------------- for people */

static const struct table_column columns[] = {
	{"SLOT", 0},
	{"STORE", 0},
	{"HOST", TABLE_SHRINK},
	{"SOURCE", TABLE_SPARE},
	{"KIND", 0},
	{"WINDOWS", TABLE_RIGHT},
	{"CPU", TABLE_RIGHT},
	{"BURSTS", TABLE_RIGHT},
	{"PATHS", TABLE_RIGHT},
	{"EDGES", TABLE_RIGHT | TABLE_SPARE},
	{"PLACES", TABLE_RIGHT | TABLE_SPARE},
	{"WORKLOADS", TABLE_RIGHT | TABLE_SPARE},
	{"DROPS", TABLE_SHRINK | TABLE_SPARE | TABLE_LIST},
};

void parcel_table_init(struct table *table)
{
	table_init(table, columns, sizeof(columns) / sizeof(columns[0]));
}

static void add_part(struct table *table, const struct pathprof_parcel *parcel,
		     const struct pathprof_parcel_part *part)
{
	const struct pathprof_profile *p = &part->profile;
	const struct pathprof_window_row row = row_of(p, 0, p->begin_ns, p->end_ns, &p->totals);
	_cleanup_free_ char *drops = window_drops_text(&p->totals);
	char store[PARCEL_STORE_TEXT], text[32];

	table_row(table, 0);
	table_cell(table, CTL_PLAIN, "%s",
		   text_time(text, sizeof(text), parcel->slot_s * CTL_NS_PER_S));
	table_cell(table, CTL_DIM, "%.8s", parcel_store_text(parcel->store, store));
	table_cell(table, CTL_NAME, "%s", parcel->host.name[0] ? parcel->host.name : "-");
	table_cell(table, CTL_PLAIN, "%s", window_source_name(&row));
	table_cell(table, CTL_PLAIN, "%s", window_kind_name(&row));
	table_cell(table, CTL_PLAIN, "%u", part->window_cnt);
	if (p->clock_hz)
		table_cell(table, CTL_PLAIN, "%.1fs", cpu_s(p));
	else
		table_cell(table, CTL_DIM, "-");
	table_cell(table, CTL_PLAIN, "%" PRIu64, p->totals.bursts);
	table_cell(table, CTL_PLAIN, "%u", p->path_cnt);
	table_cell(table, CTL_PLAIN, "%u", p->edge_cnt);
	table_cell(table, CTL_PLAIN, "%u", p->clock_cnt);
	table_cell(table, CTL_PLAIN, "%u", p->process_cnt);
	table_cell(table, CTL_DIM, "%s", drops);
}

void parcel_add_cells(struct table *table, const struct pathprof_parcel *parcel)
{
	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		add_part(table, parcel, &parcel->parts[i]);
}

/* ---------------------------------------------------------------- JSON */

json_t *parcel_host_json(const struct pathprof_parcel_host *host)
{
	json_t *object = json_object();

	json_add_text(object, "name", host->name);
	json_add_text(object, "model", host->model);
	json_add_text(object, "kernel", host->kernel);
	json_add_text(object, "os", host->os);
	json_add_count(object, "cpus", host->cpus);
	json_add_ns(object, "sent_ns", host->sent_ns);
	json_add_text(object, "labels", host->labels);
	return object;
}

static json_t *windows_json(const struct pathprof_parcel_part *part)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < part->window_cnt; i++) {
		const struct pathprof_parcel_window *w = &part->windows[i];
		const struct pathprof_window_row row =
			row_of(&part->profile, w->id, w->begin_ns, w->end_ns, &w->totals);

		json_array_append_new(array, window_json(&row));
	}
	return array;
}

static void add_binary(json_t *object, const char *key, const struct pathprof_profile *p,
		       uint32_t binary)
{
	if (binary == PATHPROF_NO_INDEX)
		json_add(object, key, json_null());
	else
		json_add_binary(object, key, &p->binaries[binary].id, p->binaries[binary].name);
}

static json_t *workloads_json(const struct pathprof_profile *p)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < p->process_cnt; i++) {
		json_t *object = json_object();

		json_add_text(object, "comm", p->processes[i].comm);
		json_add_text(object, "container", p->processes[i].container);
		add_binary(object, "binary", p, p->processes[i].binary);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *paths_json(const struct pathprof_profile *p)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *row = &p->paths[i];
		char outcomes[TEXT_OUTCOMES_SIZE];
		json_t *object = json_object();

		add_binary(object, "binary", p, row->binary);
		json_add_hex(object, "start", row->start);
		json_add_text(object, "outcomes",
			      text_outcomes(outcomes, row->length, row->outcomes));
		json_add_count(object, "workload", row->process);
		json_add_count(object, "samples", row->samples);
		json_add_count(object, "squares", row->squares);
		json_add_real(object, "weight", row->weight);
		json_add_real(object, "insns", row->insns);
		json_add_real(object, "weight_squares", row->weight_squares);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *edges_json(const struct pathprof_profile *p)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *row = &p->edges[i];
		json_t *object = json_object();

		add_binary(object, "from_binary", p, row->from_binary);
		json_add_hex(object, "from", row->from);
		add_binary(object, "to_binary", p, row->to_binary);
		json_add_hex(object, "to", row->to);
		json_add_count(object, "workload", row->process);
		json_add_count(object, "count", row->count);
		json_add_count(object, "mispredicted", row->mispredicted);
		json_add_real(object, "weight", row->weight);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *places_json(const struct pathprof_profile *p)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < p->clock_cnt; i++) {
		const struct pathprof_clock_count *row = &p->clocks[i];
		json_t *object = json_object();

		add_binary(object, "binary", p, row->binary);
		if (row->binary == PATHPROF_NO_INDEX)
			json_add_text(object, "place",
				      row->place == PATHPROF_PLACE_KERNEL ? "kernel" : "unknown");
		else
			json_add_hex(object, "place", row->place);
		json_add_count(object, "workload", row->process);
		json_add_count(object, "samples", row->samples);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *part_json(const struct pathprof_parcel_part *part)
{
	const struct pathprof_profile *p = &part->profile;
	const struct pathprof_window_row all = row_of(p, 0, p->begin_ns, p->end_ns, &p->totals);
	json_t *object = json_object();

	json_add_text(object, "source", window_source_name(&all));
	json_add_text(object, "basis", window_basis_name(&all));
	json_add_text(object, "kind", window_kind_name(&all));
	json_add_count(object, "clock_hz", p->clock_hz);
	json_add(object, "cpu_s", p->clock_hz ? json_real(cpu_s(p)) : json_null());
	json_add(object, "windows", windows_json(part));
	json_add(object, "workloads", workloads_json(p));
	json_add(object, "paths", paths_json(p));
	json_add(object, "edges", edges_json(p));
	json_add(object, "places", places_json(p));
	return object;
}

json_t *parcel_json(const struct pathprof_parcel *parcel)
{
	json_t *object = json_object(), *parts = json_array();
	char store[PARCEL_STORE_TEXT];

	json_add_text(object, "store", parcel_store_text(parcel->store, store));
	json_add_ns(object, "slot", parcel->slot_s);
	json_add(object, "host", parcel_host_json(&parcel->host));
	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		json_array_append_new(parts, part_json(&parcel->parts[i]));
	json_add(object, "parts", parts);
	return object;
}
