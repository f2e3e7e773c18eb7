// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl processes: the processes seen, by paths or by the clock. TIME is that of the clock,
 * the kernel's on their behalf included; RUNS that of their user code and its paths.
 */
#include "ctl.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cleanup.h"
#include "text.h"
#include "view.h"

struct process {
	struct pathprof_process_row row; /* its strings are the process's own */
	uint64_t clock_samples, kernel_samples;
	struct figures figures;
};

struct processes {
	struct process *list;
	size_t cnt, room;
};

static void add_cells(struct view_query *query, const struct process *process)
{
	const struct pathprof_process_row *row = &process->row;
	char when[32];

	table_row(query->table, row->id);
	view_figure_cells(query, &process->figures);
	if (row->pid)
		table_cell(query->table, CTL_PLAIN, "%" PRIu32, row->pid);
	else
		table_cell(query->table, CTL_DIM, "-"); /* a workload that came in a parcel */
	table_cell(query->table, CTL_NAME, "%s", row->comm);
	table_cell(query->table, CTL_PLAIN, "%s", *row->container ? row->container : "-");
	table_cell(query->table, CTL_DIM, "%s", *row->binary_name ? row->binary_name : "-");
	table_cell(query->table, CTL_DIM, "%s", text_time(when, sizeof(when), row->last_seen_ns));
}

static void add_json(struct view_query *query, const struct process *process)
{
	const struct pathprof_process_row *row = &process->row;
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
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
	int r;

	every.limit = 0;
	r = pathprof_store_processes(query->store, &every, take, processes, error);
	if (r < 0 || !processes->cnt)
		return r;
	qsort(processes->list, processes->cnt, sizeof(*processes->list), by_id);
	return pathprof_store_clock_processes(query->store, &every, take_clock, processes, error);
}

/* ---------------------------------------------------------------- rows */

/* Of its paths only sums are known: as if each process ran one path, of its user code's time. */
static void work_out_runs(struct processes *processes, const struct shares *shares)
{
	struct pathprof_shares work = {
		.functions = ctl_alloc((processes->cnt + 1) * sizeof(*work.functions)),
		.function_cnt = processes->cnt,
		.paths = ctl_alloc((processes->cnt + 1) * sizeof(*work.paths)),
		.clock_samples = shares->clock_samples,
		.bursts = shares->observations,
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
			processes->list[i].figures.runs = work.functions[i].runs;
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
	}
	work_out_runs(processes, shares);
}

static int before(const void *a, const void *b, void *context)
{
	const struct process *x = a, *y = b;
	int order = view_compare(context, &x->figures, &y->figures);

	return order ? order : by_id(a, b);
}

static void emit(struct processes *processes, struct view_query *query)
{
	size_t cnt = processes->cnt;

	if (cnt)
		qsort_r(processes->list, cnt, sizeof(*processes->list), before, query);
	if (query->filter.limit && query->filter.limit < cnt)
		cnt = query->filter.limit;
	view_tell_limit(query, cnt, processes->cnt);
	for (size_t i = 0; i < cnt; i++) {
		if (query->json)
			add_json(query, &processes->list[i]);
		else
			add_cells(query, &processes->list[i]);
	}
}

static void release(struct processes *processes)
{
	for (size_t i = 0; i < processes->cnt; i++) {
		free((char *)processes->list[i].row.comm);
		free((char *)processes->list[i].row.container);
		free((char *)processes->list[i].row.binary_name);
	}
	free(processes->list);
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	struct processes processes = {0};
	int r;

	view_begin_rows(query, &view_processes, query->shares->clock_samples > 0);
	r = read_all(&processes, query, error);
	if (r == 0) {
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

int cmd_processes(const struct ctl_options *options)
{
	return view_verb(&view_processes, options, VIEW_LIST_LIMIT);
}
