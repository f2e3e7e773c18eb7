// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl processes: the processes seen, by paths or by the clock. TIME is a process's share
 * of clock samples, with those in the kernel on its behalf; RUNS is the share that its paths, which
 * are user code, have of all runs. The same summed up by container, unit or name.
 */
#include "../ctl.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/view.h"
#include "processes_hosts.h"

#define CONTAINER_ID_LEN   64
#define CONTAINER_ID_SHOWN 12

/* A process, or a group of them. */
struct process {
	struct pathprof_process_row row; /* its strings are owned by this struct */
	const char *group;               /* the group's name, a string of row */
	struct process_host host;
	uint64_t process_cnt;
	uint64_t clock_samples, kernel_samples;
	struct figures figures;
};

struct processes {
	struct process *list;
	size_t cnt, room;
	struct process_hosts *hosts; /* NULL: the database is not one of a fleet */
};

/* The first twelve digits of a container's id of 64 are enough; --container takes them, too. */
static char *container_text(const char *container)
{
	bool is_id = strlen(container) == CONTAINER_ID_LEN &&
		     strspn(container, "0123456789abcdef") == CONTAINER_ID_LEN;

	return ctl_printf("%.*s", is_id ? CONTAINER_ID_SHOWN : INT_MAX,
			  *container ? container : "-");
}

/* If several hosts sent a store, its workload stands for all of them. */
static void add_host_cell(struct table *table, const struct process_host *host)
{
	if (host->cnt > 1)
		table_cell(table, CTL_DIM, "%" PRIu32 " hosts", host->cnt);
	else
		table_cell(table, host->name ? CTL_PLAIN : CTL_DIM, "%s",
			   host->name ? host->name : "-");
}

static void add_cells(const struct processes *processes, struct view_query *query,
		      const struct process *process)
{
	const struct pathprof_process_row *row = &process->row;
	_cleanup_free_ char *container = container_text(row->container);
	char when[32];

	table_row(query->table, row->id);
	view_figure_cells(query, &process->figures);
	if (processes->hosts)
		add_host_cell(query->table, &process->host);
	if (row->pid)
		table_cell(query->table, CTL_PLAIN, "%" PRIu32, row->pid);
	else
		table_cell(query->table, CTL_DIM, "-"); /* a workload from a parcel */
	table_cell(query->table, CTL_NAME, "%s", row->comm);
	table_cell(query->table, CTL_PLAIN, "%s", container);
	table_cell(query->table, CTL_DIM, "%s", *row->binary_name ? row->binary_name : "-");
	table_cell(query->table, CTL_DIM, "%s", text_time(when, sizeof(when), row->last_seen_ns));
}

static void add_json(const struct processes *processes, struct view_query *query,
		     const struct process *process)
{
	const struct pathprof_process_row *row = &process->row;
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	if (processes->hosts && process->host.cnt == 1)
		json_add_text(object, "host", process->host.name);
	else if (processes->hosts)
		json_add(object, "host", json_null());
	json_add_count(object, "pid", row->pid);
	json_add_count(object, "start_time", row->start_time);
	json_add_count(object, "exec_cnt", row->exec_cnt);
	json_add_text(object, "comm", row->comm);
	json_add_text(object, "container", row->container);
	json_add_text(object, "binary", row->binary_name);
	view_figure_members(query, object, &process->figures);
	json_add_real(
		object, "kernel_time",
		pathprof_share_of_samples(process->kernel_samples, query->shares->clock_samples)
			.value);
	json_add_ns(object, "first_seen_ns", row->first_seen_ns);
	json_add_ns(object, "last_seen_ns", row->last_seen_ns);
	json_rows_add(query->json, object);
}

static void add_group_cells(struct view_query *query, const struct process *process)
{
	_cleanup_free_ char *name = container_text(process->group);

	table_row(query->table, 0);
	view_figure_cells(query, &process->figures);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, process->process_cnt);
	table_cell(query->table, CTL_NAME, "%s", name);
}

static void add_group_json(struct view_query *query, const struct process *process)
{
	json_t *object = json_object();

	json_add_text(object, "name", process->group);
	json_add_count(object, "processes", process->process_cnt);
	view_figure_members(query, object, &process->figures);
	json_rows_add(query->json, object);
}

/* ---------------------------------------------------------------- reading */

static int take(void *context, const struct pathprof_process_row *row)
{
	struct processes *processes = context;
	struct process *process;

	ctl_grow(&processes->list, processes->cnt, &processes->room);
	process = &processes->list[processes->cnt++];
	process->row = *row;
	process->row.comm = ctl_strdup(row->comm ? row->comm : "");
	process->row.container = ctl_strdup(row->container ? row->container : "");
	process->row.binary_name = ctl_strdup(row->binary_name ? row->binary_name : "");
	process->row.boot = NULL;
	if (processes->hosts)
		process->host = process_hosts_of(processes->hosts, row->boot);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->row.id > y->row.id) - (x->row.id < y->row.id);
}

static int take_clock(void *context, const struct pathprof_clock_process_row *row)
{
	struct processes *processes = context;
	const struct process key = {.row.id = row->process};
	struct process *process =
		bsearch(&key, processes->list, processes->cnt, sizeof(key), by_id);

	if (process && row->kernel_samples <= row->samples) {
		process->clock_samples = row->samples;
		process->kernel_samples = row->kernel_samples;
	}
	return 0;
}

static int read_all(struct processes *processes, const struct view_query *query,
		    struct pathprof_error *error)
{
	struct pathprof_filter every = query->filter;
	int r = process_hosts_new(&processes->hosts, query->store, &query->filter, error);

	every.limit = 0;
	if (r == 0)
		r = pathprof_store_processes(query->store, &every, take, processes, error);
	if (r < 0 || !processes->cnt)
		return r;
	qsort(processes->list, processes->cnt, sizeof(*processes->list), by_id);
	return pathprof_store_clock_processes(query->store, &every, take_clock, processes, error);
}

/* ---------------------------------------------------------------- groups */

/* Returns the name under which a process is summed up. If group is NULL, each process has its own
 * row. */
typedef const char *group_fn(const struct pathprof_process_row *row);

struct grouping {
	group_fn *group;
};

static bool is_unit(const char *container)
{
	static const char suffix[] = ".service";
	size_t len = strlen(container);

	return len > strlen(suffix) && strcmp(container + len - strlen(suffix), suffix) == 0;
}

static const char *container_of(const struct pathprof_process_row *row)
{
	return is_unit(row->container) ? "" : row->container;
}

static const char *unit_of(const struct pathprof_process_row *row)
{
	return is_unit(row->container) ? row->container : "";
}

static const char *comm_of(const struct pathprof_process_row *row)
{
	return row->comm;
}

static int by_group(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return strcmp(x->group, y->group);
}

/* Sorts the processes of one host together, so that hosts are counted once. */
static int by_group_and_host(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int order = by_group(a, b);

	return order ? order : process_host_compare(&x->host, &y->host);
}

static void free_strings(struct process *process)
{
	free((char *)process->row.comm);
	free((char *)process->row.container);
	free((char *)process->row.binary_name);
}

/* The group keeps the strings of one of its processes. */
static void add_to_group(struct process *sum, struct process *process)
{
	sum->process_cnt += process->process_cnt;
	sum->row.samples += process->row.samples;
	sum->row.weight += process->row.weight;
	sum->row.insns += process->row.insns;
	sum->row.share += process->row.share;
	sum->clock_samples += process->clock_samples;
	sum->kernel_samples += process->kernel_samples;
	process_host_add(&sum->host, &process->host);
	free_strings(process);
}

static void sum_up(struct processes *processes, group_fn *group)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->cnt; i++) {
		processes->list[i].process_cnt = 1;
		processes->list[i].group = group ? group(&processes->list[i].row) : "";
	}
	if (!group || !processes->cnt)
		return;
	qsort(processes->list, processes->cnt, sizeof(*processes->list), by_group_and_host);
	for (size_t i = 0; i < processes->cnt; i++) {
		struct process *last = kept ? &processes->list[kept - 1] : NULL;

		if (last && !by_group(last, &processes->list[i]))
			add_to_group(last, &processes->list[i]);
		else
			processes->list[kept++] = processes->list[i];
	}
	processes->cnt = kept;
}

/* ---------------------------------------------------------------- rows */

/* Exact counts cannot be off by chance. */
static struct pathprof_share runs_of(const struct shares *shares, struct pathprof_share runs)
{
	if (shares->observations == SHARES_EXACT)
		runs.low = runs.high = runs.value;
	return runs;
}

/* Only the sums of a process's paths are known, so each process is treated as one path that takes
 * the time of its user code. */
static void work_out_runs(struct processes *processes, const struct shares *shares)
{
	struct pathprof_shares work = {
		.functions = ctl_alloc((processes->cnt + 1) * sizeof(*work.functions)),
		.function_cnt = processes->cnt,
		.paths = ctl_alloc((processes->cnt + 1) * sizeof(*work.paths)),
		.clock_samples = shares->clock_samples,
		.bursts = shares->observations,
		.insns_a_sample = shares->insns_a_sample,
		.horizon = shares->horizon,
		.cut_samples = shares->cut_samples,
	};

	for (size_t i = 0; i < processes->cnt; i++) {
		const struct process *process = &processes->list[i];

		work.functions[i].clock_samples = process->clock_samples - process->kernel_samples;
		if (process->row.samples && process->row.weight > 0)
			work.paths[work.path_cnt++] = (struct pathprof_shares_path){
				.function = (uint32_t)i,
				.samples = process->row.samples,
				.weight = process->row.weight,
				.insns = process->row.insns,
			};
	}
	if (shares->kind != PATHPROF_KIND_TAKEN && pathprof_shares_work_out(&work) == 0)
		for (size_t i = 0; i < processes->cnt; i++)
			processes->list[i].figures.runs = runs_of(shares, work.functions[i].runs);
	free(work.functions);
	free(work.paths);
}

static void work_out(struct processes *processes, const struct shares *shares)
{
	for (size_t i = 0; i < processes->cnt; i++) {
		struct process *process = &processes->list[i];

		process->figures = shares_of_samples(shares, process->clock_samples);
		process->figures.samples = process->row.samples;
		process->figures.weight = process->row.weight;
		process->figures.share = process->row.share;
		process->figures.hosts = process->host.cnt;
	}
	work_out_runs(processes, shares);
}

/* Their properties come before their ids, which differ between databases of the same counts. */
static int by_identity(const struct process *x, const struct process *y)
{
	int order = strcmp(x->group, y->group);

	if (!order && x->row.start_time != y->row.start_time)
		return x->row.start_time < y->row.start_time ? -1 : 1;
	if (!order && x->row.pid != y->row.pid)
		return x->row.pid < y->row.pid ? -1 : 1;
	if (!order && x->row.exec_cnt != y->row.exec_cnt)
		return x->row.exec_cnt < y->row.exec_cnt ? -1 : 1;
	order = order ? order : process_host_compare(&x->host, &y->host);
	return order ? order : by_id(x, y);
}

static int before(const void *a, const void *b, void *context)
{
	const struct process *x = a, *y = b;
	int order = view_compare(context, &x->figures, &y->figures);

	return order ? order : by_identity(x, y);
}

static void emit(struct processes *processes, struct view_query *query)
{
	const struct grouping *grouping = query->context;
	size_t cnt = processes->cnt;

	if (cnt)
		qsort_r(processes->list, cnt, sizeof(*processes->list), before, query);
	if (query->filter.limit && query->filter.limit < cnt)
		cnt = query->filter.limit;
	view_tell_limit(query, cnt, processes->cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct process *process = &processes->list[i];

		if (grouping && query->json)
			add_group_json(query, process);
		else if (grouping)
			add_group_cells(query, process);
		else if (query->json)
			add_json(processes, query, process);
		else
			add_cells(processes, query, process);
	}
}

static void release(struct processes *processes)
{
	for (size_t i = 0; i < processes->cnt; i++)
		free_strings(&processes->list[i]);
	free(processes->list);
	process_hosts_free(processes->hosts);
}

/* A view of which only the columns are used. */
static const struct view *view_of(const struct processes *processes,
				  const struct grouping *grouping)
{
	static const struct table_column fleet_columns[] = {
		{"HOST", TABLE_SHRINK},
		{"PID", TABLE_RIGHT},
		{"COMM", 0},
		{"CONTAINER", TABLE_SHRINK | TABLE_SPARE},
		{"BINARY", TABLE_SHRINK},
		{"LAST SEEN", TABLE_SPARE},
	};
	static const struct view of_fleet = {
		.columns = fleet_columns,
		.column_cnt = sizeof(fleet_columns) / sizeof(fleet_columns[0]),
	};

	if (grouping)
		return &view_comms;
	return processes->hosts ? &of_fleet : &view_processes;
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	const struct grouping *grouping = query->context;
	struct processes processes = {0};
	int r;

	r = read_all(&processes, query, error);
	view_begin_rows(query, view_of(&processes, grouping), query->shares->clock_samples > 0);
	if (r == 0) {
		sum_up(&processes, grouping ? grouping->group : NULL);
		work_out(&processes, query->shares);
		emit(&processes, query);
	}
	release(&processes);
	return r;
}

static const struct table_column columns[] = {
	{"PID", TABLE_RIGHT},
	{"COMM", 0},
	{"CONTAINER", TABLE_SHRINK | TABLE_SPARE},
	{"BINARY", TABLE_SHRINK},
	{"LAST SEEN", TABLE_SPARE},
};

const struct view view_processes = {
	.name = "processes",
	.key = 'r',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.figures = true,
	.rows = rows,
};

static const struct table_column group_columns[] = {
	{"PROCESSES", TABLE_RIGHT | TABLE_SPARE},
	{"NAME", TABLE_SHRINK},
};

#define GROUP_VIEW(view_name, view_key, grouping)                                                  \
	{                                                                                          \
		.name = (view_name), .key = (view_key), .columns = group_columns,                  \
		.column_cnt = sizeof(group_columns) / sizeof(group_columns[0]), .figures = true,   \
		.rows = rows, .context = (void *)&(grouping),                                      \
	}

static const struct grouping by_container = {container_of}, by_unit = {unit_of},
			     by_comm = {comm_of};
const struct view view_containers = GROUP_VIEW("containers", 'c', by_container);
const struct view view_units = GROUP_VIEW("units", 'u', by_unit);
const struct view view_comms = GROUP_VIEW("comms", 'n', by_comm);

int cmd_processes(const struct ctl_options *options)
{
	return view_verb(&view_processes, options, VIEW_LIST_LIMIT);
}
