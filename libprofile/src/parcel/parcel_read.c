// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A parcel of bytes that anybody may have made. protobuf-c takes the message apart within an arena;
 * then every column's length and every index is checked, and what came of it once more as a whole.
 *
 * Workload: some thousand rows a parcel; rows that occur twice add up.
 */
#include "pp_parcel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parcel.pb-c.h"
#include "pp_parcel_rows.h"

/* The memory limit of a part's tables: a million paths take 200 MB. */
#define PART_BYTES ((size_t)512 << 20)

/* A part that is being read. */
struct reader {
	const Pathprof__Part *m;
	struct pathprof_parcel_part *part;
	uint32_t *binaries, *workloads; /* number in the message -> entry of the profile */
	struct pathprof_error *error;
};

static int malformed(struct pathprof_error *error, const char *what)
{
	return pathprof_fail(error, -EBADMSG, "the parcel is malformed: %s", what);
}

/* A sum of steps in which each may be any 64 bits. */
static uint64_t step(uint64_t from, int64_t by)
{
	return from + (uint64_t)by;
}

/* ---------------------------------------------------------------- sizes */

static size_t row_cnt(const Pathprof__Part *part)
{
	return (part->paths ? part->paths->n_workload : 0) +
	       (part->edges ? part->edges->n_workload : 0) +
	       (part->clocks ? part->clocks->n_workload : 0) + part->path_cnt + part->edge_cnt +
	       part->clock_cnt;
}

static int check_sizes(const Pathprof__Parcel *m, struct pathprof_error *error)
{
	struct pp_parcel_sizes sizes = {.parts = m->n_parts};

	for (size_t i = 0; i < m->n_parts; i++) {
		sizes.windows += m->parts[i]->n_windows;
		sizes.names += m->parts[i]->n_binaries + m->parts[i]->n_workloads;
		sizes.rows += row_cnt(m->parts[i]);
	}
	for (size_t i = 0; i < m->n_names; i++) {
		sizes.names++;
		sizes.functions += m->names[i]->n_start;
		sizes.portables += m->names[i]->n_function;
		sizes.keys += m->names[i]->n_keys;
	}
	return pp_parcel_check_sizes(&sizes, error);
}

/* Whether a column has as many numbers as there are rows, or none. */
static bool is_column(size_t cnt, size_t rows)
{
	return cnt == rows || cnt == 0;
}

/* ---------------------------------------------------------------- names */

static int check_name(const char *name, struct pathprof_error *error)
{
	size_t len = strlen(name);

	if (len <= PATHPROF_PARCEL_NAME_BYTES)
		return 0;
	return pathprof_fail(error, -E2BIG, "the parcel has a name of %zu bytes, above %u", len,
			     PATHPROF_PARCEL_NAME_BYTES);
}

static int read_binary(struct reader *r, size_t i)
{
	const Pathprof__Binary *m = r->m->binaries[i];
	struct pathprof_build_id id = {.kind = (uint8_t)m->kind};
	int code = check_name(m->name, r->error);

	if (code < 0)
		return code;
	if (m->id.len > PATHPROF_BUILD_ID_MAX || m->kind > PATHPROF_ID_JIT)
		return malformed(r->error, "a binary's identity");
	id.len_bytes = (uint8_t)m->id.len;
	if (m->id.len)
		memcpy(id.bytes, m->id.data, m->id.len);
	r->binaries[i] = pathprof_profile_binary(&r->part->profile, &id, m->name);
	return 0;
}

static int read_workload(struct reader *r, size_t i)
{
	const Pathprof__Workload *m = r->m->workloads[i];
	struct pathprof_profile *p = &r->part->profile;
	struct pathprof_process process = {.comm = m->comm, .container = m->container};
	int code = check_name(m->comm, r->error);

	if (code == 0)
		code = check_name(m->container, r->error);
	if (code < 0)
		return code;
	if (m->binary > r->m->n_binaries)
		return malformed(r->error, "a workload's binary is not in it");
	process.binary = m->binary ? r->binaries[m->binary - 1] : PATHPROF_NO_INDEX;
	process.start_time = pathprof_parcel_workload(
		m->comm, m->container,
		process.binary < p->binary_cnt ? &p->binaries[process.binary].id : NULL);
	r->workloads[i] = pathprof_profile_process(p, &process);
	return 0;
}

static int read_names(struct reader *r)
{
	int code = 0;

	r->binaries = calloc(r->m->n_binaries + 1, sizeof(*r->binaries));
	r->workloads = calloc(r->m->n_workloads + 1, sizeof(*r->workloads));
	if (!r->binaries || !r->workloads)
		return pathprof_fail(r->error, -ENOMEM, "out of memory");
	for (size_t i = 0; code == 0 && i < r->m->n_binaries; i++)
		code = read_binary(r, i);
	for (size_t i = 0; code == 0 && i < r->m->n_workloads; i++)
		code = read_workload(r, i);
	return code;
}

/* ---------------------------------------------------------------- counts */

static bool are_path_columns(const Pathprof__Paths *m)
{
	size_t cnt = m->n_workload;

	return is_column(m->n_binary, cnt) && is_column(m->n_start, cnt) &&
	       is_column(m->n_length, cnt) && is_column(m->n_outcomes, cnt) &&
	       is_column(m->n_samples, cnt) && is_column(m->n_squares, cnt) &&
	       is_column(m->n_weight, cnt) && is_column(m->n_insns, cnt) &&
	       is_column(m->n_looks, cnt);
}

/* A row's members other than its place. */
static struct pathprof_path_count path_row(const Pathprof__Paths *m, size_t i)
{
	struct pathprof_path_count path = {
		.length = m->n_length ? m->length[i] : 0,
		.outcomes = m->n_outcomes ? m->outcomes[i] : 0,
		.samples = m->n_samples ? m->samples[i] : 0,
		.squares = m->n_squares ? m->squares[i] : 0,
		.weight = m->n_weight ? (double)m->weight[i] : 0,
		.insns = m->n_insns ? (double)m->insns[i] : 0,
		.weight_squares = m->n_looks && m->looks[i] ? 256.0 / m->looks[i] : 0,
	};

	path.insns *= path.weight;
	path.weight_squares *= path.weight * path.weight;
	return path;
}

static int read_paths(struct reader *r, const Pathprof__Paths *m)
{
	uint64_t binary = 0, start = 0;

	if (!are_path_columns(m))
		return malformed(r->error, "columns of paths have different lengths");
	for (size_t i = 0; i < m->n_workload; i++) {
		struct pathprof_path_count path = path_row(m, i);

		binary = step(binary, m->n_binary ? m->binary[i] : 0);
		start = step(start, m->n_start ? m->start[i] : 0);
		if (binary >= r->m->n_binaries || m->workload[i] >= r->m->n_workloads)
			return malformed(r->error, "a path's binary or workload is not in it");
		path.binary = r->binaries[binary];
		path.process = r->workloads[m->workload[i]];
		path.start = start;
		pathprof_profile_add_path(&r->part->profile, &path);
	}
	return 0;
}

static bool are_edge_columns(const Pathprof__Edges *m)
{
	size_t cnt = m->n_workload;

	return is_column(m->n_from_binary, cnt) && is_column(m->n_from, cnt) &&
	       is_column(m->n_to_binary, cnt) && is_column(m->n_to, cnt) &&
	       is_column(m->n_count, cnt) && is_column(m->n_mispredicted, cnt) &&
	       is_column(m->n_weight, cnt);
}

static struct pathprof_edge_count edge_row(const Pathprof__Edges *m, size_t i)
{
	return (struct pathprof_edge_count){
		.count = m->n_count ? m->count[i] : 0,
		.mispredicted = m->n_mispredicted ? m->mispredicted[i] : 0,
		.weight = m->n_weight ? (double)m->weight[i] : 0,
	};
}

static int read_edges(struct reader *r, const Pathprof__Edges *m)
{
	uint64_t binary = 0, from = 0;

	if (!are_edge_columns(m))
		return malformed(r->error, "columns of edges have different lengths");
	for (size_t i = 0; i < m->n_workload; i++) {
		struct pathprof_edge_count edge = edge_row(m, i);
		uint32_t to_binary = m->n_to_binary ? m->to_binary[i] : 0;

		binary = step(binary, m->n_from_binary ? m->from_binary[i] : 0);
		from = step(from, m->n_from ? m->from[i] : 0);
		if (binary >= r->m->n_binaries || to_binary >= r->m->n_binaries ||
		    m->workload[i] >= r->m->n_workloads)
			return malformed(r->error, "an edge's binary or workload is not in it");
		edge.from_binary = r->binaries[binary];
		edge.to_binary = r->binaries[to_binary];
		edge.process = r->workloads[m->workload[i]];
		edge.from = from;
		edge.to = step(from, m->n_to ? m->to[i] : 0);
		pathprof_profile_add_edge(&r->part->profile, &edge);
	}
	return 0;
}

static int read_clocks(struct reader *r, const Pathprof__Clocks *m)
{
	size_t cnt = m->n_workload;
	uint64_t binary = 0, place = 0;

	if (!is_column(m->n_binary, cnt) || !is_column(m->n_place, cnt) ||
	    !is_column(m->n_samples, cnt))
		return malformed(r->error, "columns of clock places have different lengths");
	for (size_t i = 0; i < cnt; i++) {
		struct pathprof_clock_count clock = {.samples = m->n_samples ? m->samples[i] : 0};

		binary = step(binary, m->n_binary ? m->binary[i] : 0);
		place = step(place, m->n_place ? m->place[i] : 0);
		if (binary > r->m->n_binaries || m->workload[i] >= r->m->n_workloads)
			return malformed(r->error, "a place's binary or workload is not in it");
		clock.binary = binary ? r->binaries[binary - 1] : PATHPROF_NO_INDEX;
		clock.process = r->workloads[m->workload[i]];
		clock.place = place;
		pathprof_profile_add_clock(&r->part->profile, &clock);
	}
	return 0;
}

/* Fails if a count did not fit or was impossible: the profile counted those as drops, and has no
 * other drops yet. */
static int check_drops(const struct reader *r)
{
	const uint64_t *drops = r->part->profile.totals.drops;

	if (drops[PATHPROF_DROP_TABLE_FULL])
		return pathprof_fail(r->error, -E2BIG,
				     "the parcel takes more than %zu MiB of memory",
				     PART_BYTES >> 20);
	if (drops[PATHPROF_DROP_MALFORMED])
		return malformed(r->error, "an impossible count");
	return 0;
}

static int read_counts(struct reader *r)
{
	int code = 0;

	if (r->m->paths)
		code = read_paths(r, r->m->paths);
	if (code == 0 && r->m->edges)
		code = read_edges(r, r->m->edges);
	if (code == 0 && r->m->clocks)
		code = read_clocks(r, r->m->clocks);
	return code ? code : check_drops(r);
}

/* ---------------------------------------------------------------- windows */

/* Reasons that a newer version counts, and this one has no name for, are left out. */
static void read_reasons(uint64_t *counts, size_t max, const uint64_t *from, size_t cnt)
{
	for (size_t i = 0; i < cnt && i < max; i++)
		counts[i] = from[i];
}

static int read_window(struct reader *r, const Pathprof__Window *m)
{
	struct pathprof_parcel_window window = {
		.id = m->id,
		.begin_ns = m->begin_ns,
		.end_ns = m->end_ns,
		.totals =
			{
				.bursts = m->bursts,
				.branches = m->branches,
				.taken = m->taken,
				.steps = m->steps,
				.paths = m->paths,
				.insns = m->insns,
				.pathless = m->pathless,
				.stopped_ns = m->stopped_ns,
				.source_cpu_ns = m->source_cpu_ns,
				.clock_samples = m->clock_samples,
			},
	};

	read_reasons(window.totals.ends, PATHPROF_END_CNT, m->ends, m->n_ends);
	read_reasons(window.totals.drops, PATHPROF_DROP_CNT, m->drops, m->n_drops);
	if (pathprof_parcel_add_window(r->part, &window) < 0)
		return pathprof_fail(r->error, -ENOMEM, "out of memory");
	return 0;
}

/* ---------------------------------------------------------------- all of it */

static void read_settings(struct reader *r)
{
	struct pathprof_profile *p = &r->part->profile;

	p->source = r->m->source;
	/* Another number is refused with all of the rest. */
	p->basis = r->m->basis == PATHPROF_BASIS_BRANCHES ? PATHPROF_BASIS_BRANCHES
							  : PATHPROF_BASIS_TIME;
	p->taken_wanted = r->m->taken_wanted;
	p->horizon = r->m->horizon;
	p->clock_hz = r->m->clock_hz;
	p->clock_kernel = r->m->clock_kernel;
	p->weighed = r->m->weighed;
}

/* Windows come last: they have drops of their own. */
static int read_into(struct reader *r)
{
	int code;

	if (r->m->basis != PATHPROF_BASIS_TIME && r->m->basis != PATHPROF_BASIS_BRANCHES)
		return malformed(r->error, "a part without a basis");
	read_settings(r);
	code = read_names(r);
	if (code == 0)
		code = read_counts(r);
	for (size_t i = 0; code == 0 && i < r->m->n_windows; i++)
		code = read_window(r, r->m->windows[i]);
	return code;
}

static int read_part(struct pathprof_parcel *parcel, const Pathprof__Part *m,
		     struct pathprof_error *error)
{
	struct reader r = {
		.m = m, .part = pathprof_parcel_add_part(parcel, PART_BYTES), .error = error};
	int code;

	if (!r.part)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	code = read_into(&r);
	free(r.binaries);
	free(r.workloads);
	return code;
}

static int read_text(char to[PATHPROF_PARCEL_HOST_BYTES], const char *from,
		     struct pathprof_error *error)
{
	size_t len = strlen(from);

	if (len >= PATHPROF_PARCEL_HOST_BYTES)
		return malformed(error, "a text about its host is longer than 255 bytes");
	memcpy(to, from, len + 1);
	return 0;
}

static int read_host(struct pathprof_parcel_host *host, const Pathprof__Host *m,
		     struct pathprof_error *error)
{
	int r = read_text(host->name, m->name, error);

	if (r == 0)
		r = read_text(host->model, m->model, error);
	if (r == 0)
		r = read_text(host->kernel, m->kernel, error);
	if (r == 0)
		r = read_text(host->os, m->os, error);
	if (r == 0 && strlen(m->labels) >= sizeof(host->labels))
		return malformed(error, "the labels of its host are longer than 1023 bytes");
	if (r == 0)
		memcpy(host->labels, m->labels, strlen(m->labels) + 1);
	host->cpus = m->cpus;
	host->sent_ns = m->sent_ns;
	return r;
}

static int check_head(const Pathprof__Parcel *m, struct pathprof_error *error)
{
	if (m->version > PATHPROF_PARCEL_VERSION)
		return pathprof_fail(error, -EPROTO,
				     "the parcel is of version %u and this program knows %u: "
				     "install a newer one",
				     m->version, PATHPROF_PARCEL_VERSION);
	if (!m->version)
		return malformed(error, "it has no version");
	if (m->store.len != PATHPROF_PARCEL_STORE_BYTES)
		return malformed(error, "its store's id does not have 16 bytes");
	return check_sizes(m, error);
}

static int read_message(struct pathprof_parcel *parcel, struct pp_arena *arena,
			const Pathprof__Parcel *m, struct pathprof_error *error)
{
	int r = check_head(m, error);

	if (r < 0)
		return r;
	parcel->version = m->version;
	memcpy(parcel->store, m->store.data, sizeof(parcel->store));
	parcel->slot_s = m->slot;
	if (m->host)
		r = read_host(&parcel->host, m->host, error);
	for (size_t i = 0; r == 0 && i < m->n_parts && m->version >= PP_PARCEL_ROWS; i++)
		r = pp_parcel_unpack_rows(arena, m->parts[i], error);
	for (size_t i = 0; r == 0 && i < m->n_parts; i++)
		r = read_part(parcel, m->parts[i], error);
	if (r == 0)
		r = pp_parcel_read_names(parcel, m, error);
	return r ? r : pp_parcel_check(parcel, -EBADMSG, error);
}

static int parse(struct pathprof_parcel *parcel, const uint8_t *message, size_t len_bytes,
		 struct pathprof_error *error)
{
	struct pp_arena arena = {.max_bytes = PP_PARCEL_MESSAGE_BYTES};
	ProtobufCAllocator allocator = pp_arena_allocator(&arena);
	const Pathprof__Parcel *m = pathprof__parcel__unpack(&allocator, len_bytes, message);
	int r;

	if (m)
		r = read_message(parcel, &arena, m, error);
	else if (arena.failed)
		r = pathprof_fail(error, -E2BIG, "the parcel takes more than %zu MiB of memory",
				  PP_PARCEL_MESSAGE_BYTES >> 20);
	else
		r = malformed(error, "its message does not follow schema/wire/parcel.proto");
	pp_arena_release(&arena);
	return r;
}

int pathprof_parcel_read(struct pathprof_parcel *ret_parcel, const void *bytes, size_t len_bytes,
			 struct pathprof_error *error)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	size_t message_bytes = 0;
	uint8_t *message = NULL;
	int r = pp_parcel_unpack(bytes, len_bytes, &message, &message_bytes, error);

	if (r < 0)
		return r;
	r = parse(&parcel, message, message_bytes, error);
	free(message);
	if (r < 0)
		pathprof_parcel_release(&parcel);
	else
		*ret_parcel = parcel;
	return r;
}
