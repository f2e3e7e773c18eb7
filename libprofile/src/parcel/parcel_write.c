// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A parcel to bytes: rows are sorted, which makes their steps small, and written by column, which
 * puts alike beside alike for zstd.
 *
 * Workload: some thousand rows every five minutes. Ownership: all of the message lies in an arena.
 */
#include "pp_parcel.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parcel.pb-c.h"
#include "pp_parcel_rows.h"

struct writer {
	struct pp_arena arena;
	uint32_t version;
};

static void *take(struct writer *w, size_t cnt, size_t size)
{
	return pp_arena_take(&w->arena, cnt, size);
}

/* A string of protobuf-c's, which asks for no const and changes nothing. */
static char *text(const char *in)
{
	union {
		const char *in;
		char *out;
	} cast = {.in = in ? in : ""};

	return cast.out;
}

/* A column that is all 0 is left out. */
static size_t unless_zero(const void *column, size_t cnt, size_t size)
{
	const uint8_t *bytes = column;

	for (size_t i = 0; i < cnt * size; i++)
		if (bytes[i])
			return cnt;
	return 0;
}

/* A copy of the rows, sorted. */
static void *sorted(struct writer *w, const void *rows, size_t cnt, size_t size,
		    int (*compare)(const void *, const void *))
{
	void *copy = take(w, cnt, size);

	if (copy && cnt) {
		memcpy(copy, rows, cnt * size);
		qsort(copy, cnt, size, compare);
	}
	return copy;
}

/* ---------------------------------------------------------------- orders */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_path(const void *a, const void *b)
{
	const struct pathprof_path_count *x = a, *y = b;
	int by = order(x->binary, y->binary);

	if (!by)
		by = order(x->start, y->start);
	if (!by)
		by = order(x->length, y->length);
	if (!by)
		by = order(x->outcomes, y->outcomes);
	return by ? by : order(x->process, y->process);
}

static int by_edge(const void *a, const void *b)
{
	const struct pathprof_edge_count *x = a, *y = b;
	int by = order(x->from_binary, y->from_binary);

	if (!by)
		by = order(x->from, y->from);
	if (!by)
		by = order(x->to_binary, y->to_binary);
	if (!by)
		by = order(x->to, y->to);
	return by ? by : order(x->process, y->process);
}

/* Those in no file are first. */
static int by_clock(const void *a, const void *b)
{
	const struct pathprof_clock_count *x = a, *y = b;
	int by = order(x->binary + 1u, y->binary + 1u);

	if (!by)
		by = order(x->place, y->place);
	return by ? by : order(x->process, y->process);
}

/* ---------------------------------------------------------------- columns */

static float insns_of_one(const struct pathprof_path_count *path)
{
	return path->weight > 0 ? (float)(path->insns / path->weight) : 0;
}

/* A known number stays one. */
static uint32_t looks(const struct pathprof_path_count *path)
{
	double units;

	if (!(path->weight_squares > 0) || !(path->weight > 0))
		return 0;
	units = round(256 * path->weight * path->weight / path->weight_squares);
	if (units < 1)
		return 1;
	return pp_parcel_round_looks(units < UINT32_MAX ? (uint32_t)units : UINT32_MAX);
}

/* Weights of counted windows are counts, and exact. */
static float weight_of_path(const struct pathprof_profile *p, double weight, uint32_t looks,
			    size_t row)
{
	return p->weighed && looks ? pp_parcel_round(weight, looks / 256.0, row) : (float)weight;
}

/* An edge was looked at once in each burst, and counts more often there. */
static float weight_of_edge(const struct pathprof_profile *p,
			    const struct pathprof_edge_count *edge, size_t row)
{
	return p->weighed ? pp_parcel_round(edge->weight, (double)edge->count, row)
			  : (float)edge->weight;
}

static bool take_path_columns(struct writer *w, size_t cnt, Pathprof__Paths *m)
{
	m->binary = take(w, cnt, sizeof(*m->binary));
	m->start = take(w, cnt, sizeof(*m->start));
	m->length = take(w, cnt, sizeof(*m->length));
	m->outcomes = take(w, cnt, sizeof(*m->outcomes));
	m->workload = take(w, cnt, sizeof(*m->workload));
	m->samples = take(w, cnt, sizeof(*m->samples));
	m->squares = take(w, cnt, sizeof(*m->squares));
	m->weight = take(w, cnt, sizeof(*m->weight));
	m->insns = take(w, cnt, sizeof(*m->insns));
	m->looks = take(w, cnt, sizeof(*m->looks));
	return !w->arena.failed;
}

static void leave_out_path_columns(Pathprof__Paths *m, size_t cnt)
{
	m->n_workload = cnt;
	m->n_binary = unless_zero(m->binary, cnt, sizeof(*m->binary));
	m->n_start = unless_zero(m->start, cnt, sizeof(*m->start));
	m->n_length = unless_zero(m->length, cnt, sizeof(*m->length));
	m->n_outcomes = unless_zero(m->outcomes, cnt, sizeof(*m->outcomes));
	m->n_samples = unless_zero(m->samples, cnt, sizeof(*m->samples));
	m->n_squares = unless_zero(m->squares, cnt, sizeof(*m->squares));
	m->n_weight = unless_zero(m->weight, cnt, sizeof(*m->weight));
	m->n_insns = unless_zero(m->insns, cnt, sizeof(*m->insns));
	m->n_looks = unless_zero(m->looks, cnt, sizeof(*m->looks));
}

static void write_paths(struct writer *w, const struct pathprof_profile *p, Pathprof__Paths *m)
{
	size_t cnt = p->path_cnt;
	const struct pathprof_path_count *rows = sorted(w, p->paths, cnt, sizeof(*rows), by_path);
	uint64_t start = 0;
	int64_t binary = 0;

	if (!take_path_columns(w, cnt, m))
		return;
	for (size_t i = 0; i < cnt; i++) {
		m->binary[i] = rows[i].binary - binary;
		m->start[i] = (int64_t)(rows[i].start - start);
		m->length[i] = rows[i].length;
		m->outcomes[i] = rows[i].outcomes;
		m->workload[i] = rows[i].process;
		m->samples[i] = rows[i].samples;
		m->squares[i] = rows[i].squares;
		m->insns[i] = insns_of_one(&rows[i]);
		m->looks[i] = looks(&rows[i]);
		m->weight[i] = weight_of_path(p, rows[i].weight, m->looks[i], i);
		binary = rows[i].binary;
		start = rows[i].start;
	}
	leave_out_path_columns(m, cnt);
}

static bool take_edge_columns(struct writer *w, size_t cnt, Pathprof__Edges *m)
{
	m->from_binary = take(w, cnt, sizeof(*m->from_binary));
	m->from = take(w, cnt, sizeof(*m->from));
	m->to_binary = take(w, cnt, sizeof(*m->to_binary));
	m->to = take(w, cnt, sizeof(*m->to));
	m->workload = take(w, cnt, sizeof(*m->workload));
	m->count = take(w, cnt, sizeof(*m->count));
	m->mispredicted = take(w, cnt, sizeof(*m->mispredicted));
	m->weight = take(w, cnt, sizeof(*m->weight));
	return !w->arena.failed;
}

static void leave_out_edge_columns(Pathprof__Edges *m, size_t cnt)
{
	m->n_workload = cnt;
	m->n_from_binary = unless_zero(m->from_binary, cnt, sizeof(*m->from_binary));
	m->n_from = unless_zero(m->from, cnt, sizeof(*m->from));
	m->n_to_binary = unless_zero(m->to_binary, cnt, sizeof(*m->to_binary));
	m->n_to = unless_zero(m->to, cnt, sizeof(*m->to));
	m->n_count = unless_zero(m->count, cnt, sizeof(*m->count));
	m->n_mispredicted = unless_zero(m->mispredicted, cnt, sizeof(*m->mispredicted));
	m->n_weight = unless_zero(m->weight, cnt, sizeof(*m->weight));
}

static void write_edges(struct writer *w, const struct pathprof_profile *p, Pathprof__Edges *m)
{
	size_t cnt = p->edge_cnt;
	const struct pathprof_edge_count *rows = sorted(w, p->edges, cnt, sizeof(*rows), by_edge);
	uint64_t from = 0;
	int64_t from_binary = 0;

	if (!take_edge_columns(w, cnt, m))
		return;
	for (size_t i = 0; i < cnt; i++) {
		m->from_binary[i] = rows[i].from_binary - from_binary;
		m->from[i] = (int64_t)(rows[i].from - from);
		m->to_binary[i] = rows[i].to_binary;
		m->to[i] = (int64_t)(rows[i].to - rows[i].from);
		m->workload[i] = rows[i].process;
		m->count[i] = rows[i].count;
		m->mispredicted[i] = rows[i].mispredicted;
		m->weight[i] = weight_of_edge(p, &rows[i], i);
		from_binary = rows[i].from_binary;
		from = rows[i].from;
	}
	leave_out_edge_columns(m, cnt);
}

static void write_clocks(struct writer *w, const struct pathprof_profile *p, Pathprof__Clocks *m)
{
	size_t cnt = p->clock_cnt;
	const struct pathprof_clock_count *rows =
		sorted(w, p->clocks, cnt, sizeof(*rows), by_clock);
	uint64_t place = 0;
	int64_t binary = 0;

	m->binary = take(w, cnt, sizeof(*m->binary));
	m->place = take(w, cnt, sizeof(*m->place));
	m->workload = take(w, cnt, sizeof(*m->workload));
	m->samples = take(w, cnt, sizeof(*m->samples));
	for (size_t i = 0; !w->arena.failed && i < cnt; i++) {
		uint32_t number = rows[i].binary + 1u; /* PATHPROF_NO_INDEX becomes 0 */

		m->binary[i] = number - binary;
		m->place[i] = (int64_t)(rows[i].place - place);
		m->workload[i] = rows[i].process;
		m->samples[i] = rows[i].samples;
		binary = number;
		place = rows[i].place;
	}
	if (w->arena.failed)
		return;
	m->n_workload = cnt;
	m->n_binary = unless_zero(m->binary, cnt, sizeof(*m->binary));
	m->n_place = unless_zero(m->place, cnt, sizeof(*m->place));
	m->n_samples = unless_zero(m->samples, cnt, sizeof(*m->samples));
}

/* ---------------------------------------------------------------- windows and names */

static void write_reasons(struct writer *w, const uint64_t *counts, size_t cnt, uint64_t **ret_at,
			  size_t *ret_cnt)
{
	*ret_at = take(w, cnt, sizeof(**ret_at));
	if (!*ret_at)
		return;
	memcpy(*ret_at, counts, cnt * sizeof(*counts));
	*ret_cnt = unless_zero(counts, cnt, sizeof(*counts));
}

static void write_window(struct writer *w, const struct pathprof_parcel_window *in,
			 Pathprof__Window *m)
{
	const struct pathprof_totals *t = &in->totals;

	pathprof__window__init(m);
	m->id = in->id;
	m->begin_ns = in->begin_ns;
	m->end_ns = in->end_ns;
	m->bursts = t->bursts;
	m->branches = t->branches;
	m->taken = t->taken;
	m->steps = t->steps;
	m->paths = t->paths;
	m->insns = t->insns;
	m->pathless = t->pathless;
	m->stopped_ns = t->stopped_ns;
	m->source_cpu_ns = t->source_cpu_ns;
	m->clock_samples = t->clock_samples;
	write_reasons(w, t->ends, PATHPROF_END_CNT, &m->ends, &m->n_ends);
	write_reasons(w, t->drops, PATHPROF_DROP_CNT, &m->drops, &m->n_drops);
}

static void write_windows(struct writer *w, const struct pathprof_parcel_part *part,
			  Pathprof__Part *m)
{
	Pathprof__Window *windows = take(w, part->window_cnt, sizeof(*windows));

	m->windows = take(w, part->window_cnt, sizeof(*m->windows));
	for (uint32_t i = 0; !w->arena.failed && i < part->window_cnt; i++) {
		write_window(w, &part->windows[i], &windows[i]);
		m->windows[i] = &windows[i];
	}
	m->n_windows = part->window_cnt;
}

static void write_binaries(struct writer *w, const struct pathprof_profile *p, Pathprof__Part *m)
{
	Pathprof__Binary *binaries = take(w, p->binary_cnt, sizeof(*binaries));

	m->binaries = take(w, p->binary_cnt, sizeof(*m->binaries));
	for (uint32_t i = 0; !w->arena.failed && i < p->binary_cnt; i++) {
		const struct pathprof_binary *in = &p->binaries[i];

		pathprof__binary__init(&binaries[i]);
		binaries[i].kind = in->id.kind;
		binaries[i].name = text(in->name);
		binaries[i].id.len = in->id.len_bytes;
		binaries[i].id.data = take(w, 1, sizeof(in->id.bytes));
		if (binaries[i].id.data)
			memcpy(binaries[i].id.data, in->id.bytes, sizeof(in->id.bytes));
		m->binaries[i] = &binaries[i];
	}
	m->n_binaries = p->binary_cnt;
}

static void write_workloads(struct writer *w, const struct pathprof_profile *p, Pathprof__Part *m)
{
	Pathprof__Workload *workloads = take(w, p->process_cnt, sizeof(*workloads));

	m->workloads = take(w, p->process_cnt, sizeof(*m->workloads));
	for (uint32_t i = 0; !w->arena.failed && i < p->process_cnt; i++) {
		const struct pathprof_process *in = &p->processes[i];

		pathprof__workload__init(&workloads[i]);
		workloads[i].comm = text(in->comm);
		workloads[i].container = text(in->container);
		workloads[i].binary = in->binary + 1u; /* PATHPROF_NO_INDEX becomes 0 */
		m->workloads[i] = &workloads[i];
	}
	m->n_workloads = p->process_cnt;
}

/* ---------------------------------------------------------------- all of it */

static void write_part(struct writer *w, const struct pathprof_parcel_part *part, Pathprof__Part *m)
{
	const struct pathprof_profile *p = &part->profile;

	pathprof__part__init(m);
	m->source = p->source;
	m->basis = p->basis;
	m->taken_wanted = p->taken_wanted;
	m->horizon = p->horizon;
	m->clock_hz = p->clock_hz;
	m->clock_kernel = p->clock_kernel;
	m->weighed = p->weighed;
	m->paths = take(w, 1, sizeof(*m->paths));
	m->edges = take(w, 1, sizeof(*m->edges));
	m->clocks = take(w, 1, sizeof(*m->clocks));
	if (w->arena.failed)
		return;
	pathprof__paths__init(m->paths);
	pathprof__edges__init(m->edges);
	pathprof__clocks__init(m->clocks);
	write_windows(w, part, m);
	write_binaries(w, p, m);
	write_workloads(w, p, m);
	write_paths(w, p, m->paths);
	write_edges(w, p, m->edges);
	write_clocks(w, p, m->clocks);
	if (!w->arena.failed && w->version >= PP_PARCEL_ROWS)
		pp_parcel_pack_rows(&w->arena, m);
}

static void write_parts(struct writer *w, const struct pathprof_parcel *parcel, Pathprof__Parcel *m)
{
	Pathprof__Part *parts = take(w, parcel->part_cnt, sizeof(*parts));

	m->parts = take(w, parcel->part_cnt, sizeof(*m->parts));
	for (uint32_t i = 0; !w->arena.failed && i < parcel->part_cnt; i++) {
		write_part(w, &parcel->parts[i], &parts[i]);
		m->parts[i] = &parts[i];
	}
	m->n_parts = parcel->part_cnt;
}

/* ---------------------------------------------------------------- names of functions */

static int by_function(const void *a, const void *b)
{
	const struct pathprof_parcel_function *x = a, *y = b;

	return order(x->start, y->start);
}

static int by_portable(const void *a, const void *b)
{
	const struct pathprof_parcel_portable *x = a, *y = b;
	int by = order(x->start, y->start);

	if (!by)
		by = order(x->length, y->length);
	return by ? by : order(x->outcomes, y->outcomes);
}

static void write_functions(struct writer *w, const struct pathprof_parcel_names *in,
			    Pathprof__Names *m)
{
	size_t cnt = in->function_cnt, len = 0;
	const struct pathprof_parcel_function *rows =
		sorted(w, in->functions, cnt, sizeof(*rows), by_function);
	uint64_t start = 0;

	for (size_t i = 0; rows && i < cnt; i++)
		len += strlen(rows[i].name) + 1;
	m->start = take(w, cnt, sizeof(*m->start));
	m->length = take(w, cnt, sizeof(*m->length));
	m->names.data = take(w, len, 1);
	for (size_t i = 0; !w->arena.failed && i < cnt; i++) {
		size_t bytes = strlen(rows[i].name) + 1;

		m->start[i] = (int64_t)(rows[i].start - start);
		m->length[i] = rows[i].len_bytes;
		memcpy(m->names.data + m->names.len, rows[i].name, bytes);
		m->names.len += bytes;
		start = rows[i].start;
	}
	m->n_start = m->n_length = cnt;
}

static void write_portables(struct writer *w, const struct pathprof_parcel_names *in,
			    Pathprof__Names *m)
{
	size_t cnt = in->portable_cnt;
	const struct pathprof_parcel_portable *rows =
		sorted(w, in->portables, cnt, sizeof(*rows), by_portable);
	uint64_t start = 0;

	m->path_start = take(w, cnt, sizeof(*m->path_start));
	m->path_length = take(w, cnt, sizeof(*m->path_length));
	m->path_outcomes = take(w, cnt, sizeof(*m->path_outcomes));
	m->function = take(w, cnt, sizeof(*m->function));
	m->place = take(w, cnt, sizeof(*m->place));
	for (size_t i = 0; !w->arena.failed && i < cnt; i++) {
		m->path_start[i] = (int64_t)(rows[i].start - start);
		m->path_length[i] = rows[i].length;
		m->path_outcomes[i] = rows[i].outcomes;
		m->function[i] = rows[i].function;
		m->place[i] = rows[i].place;
		start = rows[i].start;
	}
	m->n_path_start = m->n_path_length = m->n_path_outcomes = cnt;
	m->n_function = m->n_place = cnt;
}

static void write_names_of(struct writer *w, const struct pathprof_parcel_names *in,
			   Pathprof__Names *m)
{
	pathprof__names__init(m);
	m->kind = in->id.kind;
	m->id.len = in->id.len_bytes;
	m->id.data = take(w, 1, sizeof(in->id.bytes));
	m->keys = take(w, in->key_cnt, sizeof(*m->keys));
	if (w->arena.failed)
		return;
	memcpy(m->id.data, in->id.bytes, sizeof(in->id.bytes));
	if (in->key_cnt)
		memcpy(m->keys, in->keys, in->key_cnt * sizeof(*m->keys));
	m->n_keys = in->key_cnt;
	write_functions(w, in, m);
	write_portables(w, in, m);
}

static bool is_empty(const struct pathprof_parcel_names *in)
{
	return !in->function_cnt && !in->portable_cnt && !in->key_cnt;
}

/* A build of which nothing is said is left out. */
static void write_names(struct writer *w, const struct pathprof_parcel *parcel, Pathprof__Parcel *m)
{
	Pathprof__Names *names = take(w, parcel->name_cnt, sizeof(*names));

	m->names = take(w, parcel->name_cnt, sizeof(*m->names));
	for (uint32_t i = 0; !w->arena.failed && i < parcel->name_cnt; i++) {
		const struct pathprof_parcel_names *in = &parcel->names[i];

		if (is_empty(in))
			continue;
		write_names_of(w, in, &names[m->n_names]);
		m->names[m->n_names] = &names[m->n_names];
		m->n_names++;
	}
}

static void write_host(const struct pathprof_parcel_host *host, Pathprof__Host *m)
{
	m->name = text(host->name);
	m->model = text(host->model);
	m->kernel = text(host->kernel);
	m->os = text(host->os);
	m->labels = text(host->labels);
	m->cpus = host->cpus;
	m->sent_ns = host->sent_ns;
}

static int pack(const Pathprof__Parcel *m, uint8_t **ret_bytes, size_t *ret_len_bytes,
		struct pathprof_error *error)
{
	size_t len = pathprof__parcel__get_packed_size(m);
	uint8_t *message;
	int r;

	if (len > PATHPROF_PARCEL_UNPACKED_MAX)
		return pathprof_fail(error, -E2BIG, "the parcel has %zu bytes unpacked, above %u",
				     len, PATHPROF_PARCEL_UNPACKED_MAX);
	message = malloc(len + 1);
	if (!message)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	pathprof__parcel__pack(m, message);
	r = pp_parcel_pack(message, len, m->version, ret_bytes, ret_len_bytes, error);
	free(message);
	return r;
}

static int check(const struct pathprof_parcel *parcel, struct pathprof_error *error)
{
	struct pp_parcel_sizes sizes = {.parts = parcel->part_cnt,
					.windows = pathprof_parcel_window_cnt(parcel)};
	int r;

	if (parcel->version > PATHPROF_PARCEL_VERSION)
		return pathprof_fail(error, -EINVAL, "no parcels of version %u are written",
				     parcel->version);
	for (uint32_t i = 0; i < parcel->part_cnt; i++) {
		const struct pathprof_profile *p = &parcel->parts[i].profile;

		sizes.names += (size_t)p->binary_cnt + p->process_cnt;
		sizes.rows += (size_t)p->path_cnt + p->edge_cnt + p->clock_cnt;
	}
	for (uint32_t i = 0; i < parcel->name_cnt; i++) {
		sizes.names += !is_empty(&parcel->names[i]);
		sizes.functions += parcel->names[i].function_cnt;
		sizes.portables += parcel->names[i].portable_cnt;
		sizes.keys += parcel->names[i].key_cnt;
	}
	r = pp_parcel_check_sizes(&sizes, error);
	return r ? r : pp_parcel_check(parcel, -EINVAL, error);
}

int pathprof_parcel_write(const struct pathprof_parcel *parcel, uint8_t **ret_bytes,
			  size_t *ret_len_bytes, struct pathprof_error *error)
{
	struct writer w = {.arena.max_bytes = SIZE_MAX / 2,
			   .version = parcel->version ? parcel->version : 1};
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];
	Pathprof__Parcel m = PATHPROF__PARCEL__INIT;
	Pathprof__Host host = PATHPROF__HOST__INIT;
	int r = check(parcel, error);

	if (r < 0)
		return r;
	memcpy(store, parcel->store, sizeof(store));
	m.version = w.version;
	m.store.data = store;
	m.store.len = sizeof(store);
	m.slot = parcel->slot_s;
	m.host = &host;
	write_host(&parcel->host, &host);
	write_parts(&w, parcel, &m);
	write_names(&w, parcel, &m);
	r = w.arena.failed ? pathprof_fail(error, -ENOMEM, "out of memory")
			   : pack(&m, ret_bytes, ret_len_bytes, error);
	pp_arena_release(&w.arena);
	return r;
}
