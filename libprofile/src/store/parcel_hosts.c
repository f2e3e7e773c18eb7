// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which parcels a store holds, and whose they are.
 *
 * Workload: a row a host, once a command; its sum reads the host's windows. Locking: none.
 */
#include <stdio.h>
#include <string.h>

#include "pp_parcel_pieces.h"
#include "pp_query.h"

/* The description of a host comes from its newest parcel. */
static const char query[] =
	"SELECT p.store, p.host, p.model, p.kernel, p.os, p.cpus, p.sent_ns, p.labels, s.parcels, "
	"s.windows,"
	" s.first, s.last, (SELECT total(w.clock_samples * 1.0 / w.clock_hz) FROM windows w"
	" WHERE w.clock_hz > 0 AND w.id IN (SELECT c.window FROM parcels q CROSS JOIN"
	" parcel_windows c ON c.parcel = q.id WHERE q.store = p.store AND q.host = p.host)) FROM "
	"(SELECT store, host,"
	" count(*) AS parcels, sum(windows) AS windows, min(slot) AS first, max(slot) AS last"
	" FROM parcels GROUP BY store, host) s CROSS JOIN parcels p ON p.store = s.store"
	" AND p.host = s.host AND p.slot = s.last WHERE (?1 IS NULL OR p.host = ?1)"
	" AND (?2 IS NULL OR " PP_HAS_LABELS("p.labels", "?2") ")"
							       " ORDER BY p.host, p.store";

static void take_text(struct pp_row *row, int column, char to[PATHPROF_PARCEL_HOST_BYTES])
{
	snprintf(to, PATHPROF_PARCEL_HOST_BYTES, "%s", pp_row_text(row, column));
}

static void take_store(struct pp_row *row, int column, uint8_t to[PATHPROF_PARCEL_STORE_BYTES])
{
	const void *bytes = sqlite3_column_blob(row->stmt, column);

	if (bytes && sqlite3_column_bytes(row->stmt, column) == PATHPROF_PARCEL_STORE_BYTES)
		memcpy(to, bytes, PATHPROF_PARCEL_STORE_BYTES);
	else if (row->bad_column < 0)
		row->bad_column = column;
}

static int take(struct pathprof_store *store, struct pp_row *row, pathprof_host_row_fn *fn,
		void *context, struct pathprof_error *error)
{
	struct pathprof_host_row out = {
		.host.cpus = pp_row_u32(row, 5),
		.host.sent_ns = pp_row_time(row, 6),
		.parcel_cnt = pp_row_count(row, 8),
		.window_cnt = pp_row_count(row, 9),
		.first_slot_s = pp_row_int(row, 10, 0, INT64_MAX / 1000000000),
		.last_slot_s = pp_row_int(row, 11, 0, INT64_MAX / 1000000000),
		.cpu_s = pp_row_weight(row, 12),
	};
	int r;

	take_store(row, 0, out.store);
	take_text(row, 1, out.host.name);
	take_text(row, 2, out.host.model);
	take_text(row, 3, out.host.kernel);
	take_text(row, 4, out.host.os);
	snprintf(out.host.labels, sizeof(out.host.labels), "%s", pp_row_text(row, 7));
	r = pp_row_end(row, store, error);
	return r < 0 ? r : fn(context, &out);
}

/* The parcel that is being read; each of its pieces is a row. */
struct reading {
	int64_t parcel; /* 0: none yet */
	struct pathprof_parcel_row row;
	char host[PATHPROF_PARCEL_HOST_BYTES];
	pathprof_parcel_row_fn *fn;
	void *context;
};

static int tell_parcel(struct reading *reading)
{
	reading->row.host = reading->host;
	return reading->parcel ? reading->fn(reading->context, &reading->row) : 0;
}

static int take_piece(struct pathprof_store *store, struct pp_row *row, struct reading *reading,
		      struct pathprof_error *error)
{
	int64_t parcel = pp_row_int(row, 0, 1, INT64_MAX);
	uint64_t digest = 0;
	bool is_known = pp_parcel_pieces_digest(row->stmt, 4, &digest);
	int r = parcel == reading->parcel ? 0 : tell_parcel(reading);

	if (parcel != reading->parcel) {
		reading->row = (struct pathprof_parcel_row){
			.slot_s = pp_row_int(row, 1, 0, INT64_MAX / 1000000000),
			.window_cnt = pp_row_u32(row, 2),
			.is_known = true,
		};
		take_text(row, 3, reading->host);
		reading->parcel = parcel;
	}
	reading->row.digest += digest;
	reading->row.is_known = reading->row.is_known && is_known;
	return r ? r : pp_row_end(row, store, error);
}

int pathprof_store_parcels_of(struct pathprof_store *store,
			      const uint8_t of[PATHPROF_PARCEL_STORE_BYTES],
			      pathprof_parcel_row_fn *fn, void *context,
			      struct pathprof_error *error)
{
	struct reading reading = {.fn = fn, .context = context};
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store,
			       "SELECT p.id, p.slot, p.windows, p.host, c.recorded FROM parcels"
			       " p CROSS JOIN parcel_windows c ON c.parcel = p.id"
			       " WHERE p.store = ?1 ORDER BY p.slot, p.id",
			       &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_blob(stmt, 1, of, PATHPROF_PARCEL_STORE_BYTES, SQLITE_STATIC);
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		struct pp_row row = PP_ROW(stmt);

		r = take_piece(store, &row, &reading, error);
		if (r)
			break;
	}
	sqlite3_finalize(stmt);
	return r ? r : tell_parcel(&reading);
}

int pathprof_store_hosts(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_host_row_fn *fn, void *context, struct pathprof_error *error)
{
	char labels[PP_LABELS_PATTERN_BYTES];
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, query, &stmt, error);

	if (r < 0)
		return r;
	if (filter && pp_query_given(filter->host))
		pp_sql_bind_text(stmt, 1, filter->host);
	if (filter && pp_query_given(filter->labels)) {
		pp_query_labels(filter->labels, labels);
		pp_sql_bind_text(stmt, 2, labels);
	}
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		struct pp_row row = PP_ROW(stmt);

		r = take(store, &row, fn, context, error);
		if (r)
			break;
	}
	sqlite3_finalize(stmt);
	return r;
}

static const char samples_query[] =
	"SELECT coalesce(sum(max(w.clock_samples, w.bursts)), 0), coalesce(sum(d.count), 0)"
	" FROM windows w LEFT JOIN window_drops d ON d.window = w.id AND d.reason = ?3"
	" WHERE w.id IN (SELECT c.window FROM parcels q CROSS JOIN parcel_windows c"
	" ON c.parcel = q.id WHERE q.store = ?1 AND q.host = ?2)";

int pathprof_store_host_samples(struct pathprof_store *store, const struct pathprof_host_row *host,
				struct pathprof_host_samples *ret_samples,
				struct pathprof_error *error)
{
	struct pathprof_host_samples samples = {0};
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, samples_query, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_blob(stmt, 1, host->store, PATHPROF_PARCEL_STORE_BYTES, SQLITE_STATIC);
	pp_sql_bind_text(stmt, 2, host->host.name);
	sqlite3_bind_int64(stmt, 3, PATHPROF_DROP_QUEUE_FULL);
	r = pp_sql_step(store, stmt, error);
	if (r > 0) {
		struct pp_row row = PP_ROW(stmt);

		samples.read_cnt = pp_row_count(&row, 0);
		samples.lost_cnt = pp_row_count(&row, 1);
		r = pp_row_end(&row, store, error);
	}
	sqlite3_finalize(stmt);
	if (r == 0)
		*ret_samples = samples;
	return r;
}

int pathprof_store_count_stores(struct pathprof_store *store, const char *host, uint64_t *ret_cnt,
				struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, "SELECT count(DISTINCT store) FROM parcels WHERE host = ?1",
			       &stmt, error);

	if (r < 0)
		return r;
	pp_sql_bind_text(stmt, 1, host);
	r = pp_sql_step(store, stmt, error);
	if (r > 0)
		*ret_cnt = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return r < 0 ? r : 0;
}
