// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Makes a parcel of a slot of the store, or of what a host's parcels brought into it.
 *
 * Workload: five minutes, some windows of some thousand counts each, once a slot; or a span of one
 * host, once a question. Windows are taken one after the other and their counts added up in memory
 * (bounded). Locking: none beyond a snapshot. Ownership: the parcel is the caller's.
 */
#include "pathprof/parcel_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pp_query.h"
#include "pp_store.h"

#define PART_MAX_BYTES ((size_t)512 << 20)
#define SLOT_NS        ((int64_t)PATHPROF_PARCEL_SLOT_S * 1000000000)
#define CONTAINER_MAX  256

/* Windows that came in parcels are left out: the hosts that recorded them send them. */
#define OWN_WINDOWS " AND NOT EXISTS (SELECT 1 FROM parcel_windows p WHERE p.window = w.id)"

/* schema/sqlite/0006_messages.sql gives a store its id. */
#define IDENTITY_SCHEMA 6

struct take {
	struct pathprof_store *store;
	struct pathprof_parcel *parcel;
	struct pathprof_parcel_part *part; /* of the window being taken */
	const uint64_t *left_out;          /* keys of windows, ascending */
	size_t left_out_cnt;
	struct pathprof_error *error;
};

/* ---------------------------------------------------------------- windows */

static bool is_alike(const struct pathprof_profile *p, const struct pathprof_window_row *row)
{
	return p->source == row->source && p->basis == row->basis &&
	       p->taken_wanted == row->taken_wanted && p->horizon == row->horizon &&
	       p->clock_hz == row->clock_hz && p->clock_kernel == row->clock_kernel &&
	       p->weighed == row->weighed;
}

static struct pathprof_parcel_part *part_of(struct take *t, const struct pathprof_window_row *row)
{
	struct pathprof_parcel_part *part;

	for (uint32_t i = 0; i < t->parcel->part_cnt; i++)
		if (is_alike(&t->parcel->parts[i].profile, row))
			return &t->parcel->parts[i];
	part = pathprof_parcel_add_part(t->parcel, PART_MAX_BYTES);
	if (!part)
		return NULL;
	part->profile.source = row->source;
	part->profile.basis = row->basis;
	part->profile.taken_wanted = row->taken_wanted;
	part->profile.horizon = row->horizon;
	part->profile.clock_hz = row->clock_hz;
	part->profile.clock_kernel = row->clock_kernel;
	part->profile.weighed = row->weighed;
	return part;
}

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct take *t = context;
	const struct pathprof_parcel_window window = {.id = row->id,
						      .begin_ns = row->begin_ns,
						      .end_ns = row->end_ns,
						      .totals = row->totals};

	t->part = part_of(t, row);
	if (!t->part || pathprof_parcel_add_window(t->part, &window) < 0)
		return pathprof_fail(t->error, -ENOMEM, "out of memory");
	return 0;
}

/* ---------------------------------------------------------------- names */

#define WORKLOAD_COLUMNS                                                                           \
	"o.comm, o.container, o.binary IS NOT NULL, coalesce(x.build_id, x''),"                    \
	" coalesce(x.kind, 0), coalesce(x.name, '')"
#define WORKLOAD_JOIN                                                                              \
	" CROSS JOIN processes o ON o.id = c.process LEFT JOIN binaries x ON x.id = o.binary"

static uint32_t take_binary(struct take *t, struct pp_row *row, int column,
			    struct pathprof_build_id *ret_id)
{
	pp_row_id(row, column, ret_id);
	return pathprof_profile_binary(&t->part->profile, ret_id, pp_row_text(row, column + 2));
}

static uint32_t take_binary_only(struct take *t, struct pp_row *row, int column)
{
	struct pathprof_build_id id;

	return take_binary(t, row, column, &id);
}

static uint32_t take_workload(struct take *t, struct pp_row *row, int column)
{
	struct pathprof_build_id id;
	char container[CONTAINER_MAX];
	union {
		const char *in;
		char *out;
	} comm = {.in = pp_row_text(row, column)};
	struct pathprof_process process = {
		.comm = comm.out,
		.container = pathprof_parcel_container(pp_row_text(row, column + 1), container,
						       sizeof(container)),
		.binary = PATHPROF_NO_INDEX,
	};
	bool named = pp_row_int(row, column + 2, 0, 1) != 0;

	if (named)
		process.binary = take_binary(t, row, column + 3, &id);
	process.start_time =
		pathprof_parcel_workload(process.comm, process.container, named ? &id : NULL);
	return pathprof_profile_process(&t->part->profile, &process);
}

/* ---------------------------------------------------------------- counts */

static const char path_query[] =
	"SELECT t.start, t.length, t.outcomes, c.samples, c.weight, coalesce(c.squares, 0),"
	" coalesce(c.insns, 0.0), coalesce(c.weight_squares, 0.0), b.build_id, b.kind, "
	"b.name, " WORKLOAD_COLUMNS " FROM path_counts c CROSS JOIN paths t ON t.id = c.path"
	" CROSS JOIN binaries b ON b.id = t.binary" WORKLOAD_JOIN " WHERE c.window = ?1";

static void take_path(struct take *t, struct pp_row *row)
{
	const struct pathprof_path_count path = {
		.process = take_workload(t, row, 11),
		.binary = take_binary_only(t, row, 8),
		.start = pp_row_bits(row, 0),
		.length = (uint32_t)pp_row_int(row, 1, 0, 32),
		.outcomes = pp_row_u32(row, 2),
		.samples = pp_row_count(row, 3),
		.weight = pp_row_weight(row, 4),
		.squares = pp_row_count(row, 5),
		.insns = pp_row_weight(row, 6),
		.weight_squares = pp_row_weight(row, 7),
	};

	pathprof_profile_add_path(&t->part->profile, &path);
}

static const char edge_query[] =
	"SELECT g.from_offset, g.to_offset, c.count, c.mispredicted, coalesce(c.weight, 0.0),"
	" f.build_id, f.kind, f.name, b.build_id, b.kind, b.name, " WORKLOAD_COLUMNS
	" FROM edge_counts c CROSS JOIN edges g ON g.id = c.edge"
	" CROSS JOIN binaries f ON f.id = g.from_binary"
	" CROSS JOIN binaries b ON b.id = g.to_binary" WORKLOAD_JOIN " WHERE c.window = ?1";

static void take_edge(struct take *t, struct pp_row *row)
{
	const struct pathprof_edge_count edge = {
		.process = take_workload(t, row, 11),
		.from_binary = take_binary_only(t, row, 5),
		.to_binary = take_binary_only(t, row, 8),
		.from = pp_row_bits(row, 0),
		.to = pp_row_bits(row, 1),
		.count = pp_row_count(row, 2),
		.mispredicted = pp_row_count(row, 3),
		.weight = pp_row_weight(row, 4),
	};

	pathprof_profile_add_edge(&t->part->profile, &edge);
}

/* The addresses of the kernel's functions change with each boot: a parcel has one place for all. */
#define IS_KERNEL "coalesce(b.kind = 3 AND b.name = '" PATHPROF_KERNEL_NAME "', 0)"

static const char clock_query[] =
	"SELECT CASE WHEN " IS_KERNEL " THEN 16 ELSE c.place END, c.samples,"
	" c.binary <> 0 AND NOT " IS_KERNEL ", coalesce(b.build_id, x''),"
	" coalesce(b.kind, 0), coalesce(b.name, ''), " WORKLOAD_COLUMNS
	" FROM clock_counts c LEFT JOIN binaries b ON b.id = c.binary" WORKLOAD_JOIN
	" WHERE c.window = ?1";

static void take_clock(struct take *t, struct pp_row *row)
{
	bool in_file = pp_row_int(row, 2, 0, 1) != 0;
	const struct pathprof_clock_count clock = {
		.process = take_workload(t, row, 6),
		.binary = in_file ? take_binary_only(t, row, 3) : PATHPROF_NO_INDEX,
		.place = pp_row_place(row, 0, in_file),
		.samples = pp_row_count(row, 1),
	};

	pathprof_profile_add_clock(&t->part->profile, &clock);
}

typedef void take_row_fn(struct take *t, struct pp_row *row);

static int take_rows(struct take *t, const char *sql, int64_t window, take_row_fn *fn)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(t->store, sql, &stmt, t->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	while ((r = pp_sql_step(t->store, stmt, t->error)) > 0) {
		struct pp_row row = PP_ROW(stmt);

		fn(t, &row);
		r = pp_row_end(&row, t->store, t->error);
		if (r < 0)
			break;
	}
	sqlite3_finalize(stmt);
	return r;
}

/* The profile counts as drops what did not fit, or cannot be. */
static int check_drops(struct take *t, const uint64_t *before)
{
	const uint64_t *now = t->part->profile.totals.drops;

	if (now[PATHPROF_DROP_TABLE_FULL] != before[PATHPROF_DROP_TABLE_FULL])
		return pathprof_fail(t->error, -E2BIG, "%s: slot %lld does not fit into memory",
				     t->store->file, (long long)t->parcel->slot_s);
	if (now[PATHPROF_DROP_MALFORMED] != before[PATHPROF_DROP_MALFORMED])
		return pathprof_fail(t->error, -EBADMSG,
				     "%s: an impossible count (the file is damaged)",
				     t->store->file);
	return 0;
}

static int take_counts(struct take *t, int64_t window)
{
	uint64_t before[PATHPROF_DROP_CNT];
	int r;

	memcpy(before, t->part->profile.totals.drops, sizeof(before));
	r = take_rows(t, path_query, window, take_path);
	if (r == 0)
		r = take_rows(t, edge_query, window, take_edge);
	if (r == 0)
		r = take_rows(t, clock_query, window, take_clock);
	return r ? r : check_drops(t, before);
}

/* ---------------------------------------------------------------- a slot */

static int compare_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_left_out(const struct take *t, struct pp_row *row)
{
	const struct pathprof_parcel_window window = {
		.id = pp_row_int(row, 0, 1, INT64_MAX),
		.begin_ns = pp_row_time(row, 1),
		.end_ns = pp_row_time(row, 2),
	};
	uint64_t key = pathprof_parcel_window_key(&window);

	return t->left_out_cnt &&
	       bsearch(&key, t->left_out, t->left_out_cnt, sizeof(key), compare_key);
}

static int take_one(struct take *t, int64_t window)
{
	const struct pathprof_filter filter = {.window = window};
	int r;

	t->part = NULL;
	r = pathprof_store_windows(t->store, &filter, take_window, t, t->error);
	if (r < 0)
		return r;
	if (!t->part)
		return pathprof_fail(t->error, -EBADMSG, "%s: there is no window %lld",
				     t->store->file, (long long)window);
	return take_counts(t, window);
}

int pp_store_take_window(struct pathprof_store *store, struct pathprof_parcel *parcel,
			 int64_t window, uint32_t *ret_part, struct pathprof_error *error)
{
	struct take t = {.store = store, .parcel = parcel, .error = error};
	int r = take_one(&t, window);

	if (r == 0)
		*ret_part = (uint32_t)(t.part - parcel->parts);
	return r;
}

/* stmt, whose rows are windows' ids, begins and ends, is finalised. */
static int take_all(struct take *t, sqlite3_stmt *stmt)
{
	int r;

	while ((r = pp_sql_step(t->store, stmt, t->error)) > 0) {
		struct pp_row row = PP_ROW(stmt);
		int64_t window = pp_row_int(&row, 0, 1, INT64_MAX);
		bool is_taken = !is_left_out(t, &row);

		r = pp_row_end(&row, t->store, t->error);
		if (r == 0 && is_taken)
			r = take_one(t, window);
		if (r < 0)
			break;
	}
	sqlite3_finalize(stmt);
	return r;
}

static int take_slot(struct take *t)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(
		t->store,
		"SELECT w.id, w.begin_ns, w.end_ns FROM windows w WHERE w.end_ns >= ?1"
		" AND w.end_ns < ?2" OWN_WINDOWS " ORDER BY w.id",
		&stmt, t->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, t->parcel->slot_s * 1000000000);
	sqlite3_bind_int64(stmt, 2, t->parcel->slot_s * 1000000000 + SLOT_NS);
	r = take_all(t, stmt);
	if (r == 0 && !t->parcel->part_cnt)
		r = pathprof_fail(t->error, -ENODATA, "%s: no window ended in slot %lld",
				  t->store->file, (long long)t->parcel->slot_s);
	return r;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* A file from before stores had an id would get another one each time it is read. */
static int check_schema(const struct pathprof_store *store, struct pathprof_error *error)
{
	unsigned int schema = store->schema;

	if (store->writable || schema >= IDENTITY_SCHEMA)
		return 0;
	return pathprof_fail(error, -EPROTO,
			     "%s: its schema is %u, and stores have an id from %u on: bring it up "
			     "to date, for instance by `pathprofctl vacuum --max-age 9999d`",
			     store->file, schema, IDENTITY_SCHEMA);
}

int pp_store_identity(struct pathprof_store *store, uint8_t ret_id[16],
		      struct pathprof_error *error)
{
	char text[PATHPROF_STORE_IDENTITY_LEN];
	int64_t message;
	int r = check_schema(store, error);

	if (r == 0)
		r = pathprof_store_newest_message(store, &message, text, error);
	for (int i = 0; r == 0 && i < PATHPROF_PARCEL_STORE_BYTES; i++) {
		int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return pathprof_fail(error, -EBADMSG, "%s: its identity is malformed",
					     store->file);
		ret_id[i] = (uint8_t)(high << 4 | low);
	}
	return r;
}

int pathprof_store_parcel_rest(struct pathprof_store *store, int64_t slot_s, const uint64_t *keys,
			       size_t key_cnt, struct pathprof_parcel *ret_parcel,
			       struct pathprof_error *error)
{
	struct pathprof_parcel parcel = {.slot_s = slot_s};
	struct take t = {.store = store,
			 .parcel = &parcel,
			 .left_out = keys,
			 .left_out_cnt = key_cnt,
			 .error = error};
	int r;

	if (slot_s < 0 || slot_s % PATHPROF_PARCEL_SLOT_S ||
	    slot_s > INT64_MAX / 1000000000 - PATHPROF_PARCEL_SLOT_S)
		return pathprof_fail(error, -EINVAL,
				     "%lld: a slot begins at a multiple of %d s since 1970",
				     (long long)slot_s, PATHPROF_PARCEL_SLOT_S);
	r = pp_sql_exec(store, "BEGIN", error);
	if (r < 0)
		return r;
	r = pp_store_identity(store, parcel.store, error);
	if (r == 0)
		r = take_slot(&t);
	if (r == 0)
		r = pp_store_take_names(store, &parcel, error);
	pp_sql_exec(store, "ROLLBACK", NULL);
	if (r < 0)
		pathprof_parcel_release(&parcel);
	else
		*ret_parcel = parcel;
	return r;
}

int pathprof_store_parcel(struct pathprof_store *store, int64_t slot_s,
			  struct pathprof_parcel *ret_parcel, struct pathprof_error *error)
{
	return pathprof_store_parcel_rest(store, slot_s, NULL, 0, ret_parcel, error);
}

/* ---------------------------------------------------------------- what a host sent */

static int take_host(struct take *t, int64_t since_ns, int64_t until_ns)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(t->store,
			       "SELECT w.id, w.begin_ns, w.end_ns FROM windows w WHERE w.id IN"
			       " (SELECT c.window FROM parcels p CROSS JOIN parcel_windows c"
			       " ON c.parcel = p.id WHERE p.store = ?1 AND p.host = ?4)"
			       " AND w.end_ns > ?2 AND w.begin_ns < ?3 ORDER BY w.end_ns, w.id",
			       &stmt, t->error);

	if (r < 0)
		return r;
	sqlite3_bind_blob(stmt, 1, t->parcel->store, sizeof(t->parcel->store), SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, since_ns);
	sqlite3_bind_int64(stmt, 3, until_ns);
	pp_sql_bind_text(stmt, 4, t->parcel->host.name);
	r = take_all(t, stmt);
	if (r == 0 && !t->parcel->part_cnt)
		r = pathprof_fail(t->error, -ENODATA, "%s: the host sent nothing of that time",
				  t->store->file);
	return r;
}

/* One window a part stands for all that were taken; they end together, since a parcel is of one
 * slot. */
static void fold_windows(struct pathprof_parcel *parcel)
{
	int64_t end_ns = 0;

	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		if (parcel->parts[i].profile.end_ns > end_ns)
			end_ns = parcel->parts[i].profile.end_ns;
	for (uint32_t i = 0; i < parcel->part_cnt; i++) {
		struct pathprof_parcel_part *part = &parcel->parts[i];

		part->profile.end_ns = end_ns;
		part->window_cnt = 1;
		part->windows[0] = (struct pathprof_parcel_window){
			.id = i + 1,
			.begin_ns = part->profile.begin_ns,
			.end_ns = end_ns,
			.totals = part->profile.totals,
		};
	}
	parcel->slot_s = pathprof_parcel_slot(end_ns);
}

int pathprof_store_host_parcel(struct pathprof_store *store, const struct pathprof_host_row *host,
			       int64_t since_ns, int64_t until_ns,
			       struct pathprof_parcel *ret_parcel, struct pathprof_error *error)
{
	struct pathprof_parcel parcel = {.host = host->host};
	struct take t = {.store = store, .parcel = &parcel, .error = error};
	int r;

	memcpy(parcel.store, host->store, sizeof(parcel.store));
	r = pp_sql_exec(store, "BEGIN", error);
	if (r < 0)
		return r;
	r = take_host(&t, since_ns, until_ns ? until_ns : INT64_MAX);
	if (r == 0)
		r = pp_store_take_names(store, &parcel, error);
	pp_sql_exec(store, "ROLLBACK", NULL);
	if (r < 0) {
		pathprof_parcel_release(&parcel);
		return r;
	}
	fold_windows(&parcel);
	*ret_parcel = parcel;
	return 0;
}

/* ---------------------------------------------------------------- which slots */

struct slots {
	struct pathprof_slot_row row; /* the one that is being summed up; no windows: none yet */
	pathprof_slot_row_fn *fn;
	void *context;
};

static int tell_slot(struct slots *slots)
{
	int r = slots->row.window_cnt ? slots->fn(slots->context, &slots->row) : 0;

	slots->row = (struct pathprof_slot_row){.window_cnt = 0};
	return r;
}

static int take_slot_window(struct pp_query *q, struct pp_row *row, void *take_context,
			    struct pathprof_error *error)
{
	struct slots *slots = take_context;
	const struct pathprof_parcel_window window = {
		.id = pp_row_int(row, 0, 1, INT64_MAX),
		.begin_ns = pp_row_time(row, 1),
		.end_ns = pp_row_time(row, 2),
	};
	int64_t slot_s = pathprof_parcel_slot(window.end_ns);
	int r = pp_row_end(row, q->store, error);

	if (r == 0 && slot_s != slots->row.slot_s)
		r = tell_slot(slots);
	slots->row.slot_s = slot_s;
	slots->row.window_cnt++;
	slots->row.digest += pathprof_parcel_window_key(&window);
	return r;
}

int pathprof_store_slots(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_slot_row_fn *fn, void *context, struct pathprof_error *error)
{
	const struct pathprof_filter times = {.since_ns = filter ? filter->since_ns : 0,
					      .until_ns = filter ? filter->until_ns : 0};
	struct slots slots = {.fn = fn, .context = context};
	struct pp_query q;
	int r;

	pp_query_begin(&q, store, &times);
	pp_query_add(&q, "SELECT w.id, w.begin_ns, w.end_ns FROM windows w"
			 " WHERE w.end_ns >= 0" OWN_WINDOWS);
	pp_query_add_window_terms(&q);
	pp_query_add(&q, " ORDER BY w.end_ns");
	r = pp_query_run(&q, 0, take_slot_window, &slots, error);
	return r ? r : tell_slot(&slots);
}

int pathprof_store_is_of_this_boot(struct pathprof_store *store, bool *ret_is,
				   struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	char boot[64];
	int r = pp_sql_get(store, PP_STMT_BOOT_FIND, &stmt, error);

	if (r < 0)
		return r;
	pp_store_read_boot_id(boot, sizeof(boot));
	pp_sql_bind_text(stmt, 1, boot);
	r = pp_sql_step(store, stmt, error);
	sqlite3_reset(stmt);
	if (r < 0)
		return r;
	*ret_is = r > 0;
	return 0;
}
