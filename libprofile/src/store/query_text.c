// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The fragments that queries are made of: see pp_query.h. The unary + keeps SQLite from trying each
 * combination of set members as a key.
 */
#include "pp_query.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"

#define HEX_MIN_DIGITS 4

/* The same parameter numbers in every query. */
enum parameter {
	P_SINCE = 1,
	P_UNTIL,
	P_PID,
	P_COMM,
	P_CONTAINER,
	P_WINDOW,
	P_NAME,
	P_HEX,
	P_LIMIT,
	P_SITE,
	P_OWNER,
	P_HOST = P_OWNER + PATHPROF_OWNERS_MAX,
	P_LABELS,
	P_WORKLOAD,
	P_NOW,
};

/* ---------------------------------------------------------------- text of the query */

void pp_query_add(struct pp_query *q, const char *fragment)
{
	size_t len = strlen(fragment);

	/* All fragments are fixed and few; one that did not fit would fail to parse. */
	if (len < PP_QUERY_SQL_MAX_BYTES - q->len) {
		memcpy(q->sql + q->len, fragment, len + 1);
		q->len += len;
	}
}

static void take_hex(struct pp_query *q)
{
	const char *from = q->filter.binary;
	size_t len = from ? strlen(from) : 0;

	if (len < HEX_MIN_DIGITS || len >= sizeof(q->hex))
		return;
	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)from[i]))
			return;
	for (size_t i = 0; i < len; i++)
		q->hex[i] = (char)tolower((unsigned char)from[i]);
}

/* "* dc=ams * role=web *" of "dc=ams role=web". */
void pp_query_labels(const char *labels, char ret_pattern[static PP_LABELS_PATTERN_BYTES])
{
	const char *end = ret_pattern + PP_LABELS_PATTERN_BYTES - 2 * sizeof(" *");
	char *at = stpcpy(ret_pattern, "* ");

	for (; *labels && at < end; labels++) {
		if (*labels == ' ')
			at = stpcpy(at, " *");
		*at++ = *labels;
	}
	stpcpy(at, " *");
}

bool pp_query_given(const char *text)
{
	return text && text[0];
}

void pp_query_begin(struct pp_query *q, struct pathprof_store *store,
		    const struct pathprof_filter *filter)
{
	*q = (struct pp_query){.store = store, .now_ns = pp_realtime_ns()};
	if (filter)
		q->filter = *filter;
	take_hex(q);
	if (pp_query_given(q->filter.labels))
		pp_query_labels(q->filter.labels, q->labels);
}

static bool by_window(const struct pp_query *q)
{
	return q->filter.since_ns || q->filter.until_ns || q->filter.window ||
	       pp_query_given(q->filter.host) || pp_query_given(q->filter.labels) ||
	       q->filter.kind != PATHPROF_KIND_ANY;
}

static bool by_process(const struct pp_query *q)
{
	return q->filter.pid || pp_query_given(q->filter.comm) ||
	       pp_query_given(q->filter.container) || pp_query_given(q->filter.workload);
}

static void add_kind(struct pp_query *q)
{
	switch (q->filter.kind) {
	case PATHPROF_KIND_ANY:
		return;
	case PATHPROF_KIND_BRANCHES:
		pp_query_add(q, " AND w.basis = 2");
		return;
	case PATHPROF_KIND_HORIZON:
		pp_query_add(q, " AND w.basis = 1 AND w.horizon > 0 AND NOT w.weighed");
		return;
	case PATHPROF_KIND_WEIGHED:
		pp_query_add(q, " AND w.basis = 1 AND w.horizon > 0 AND w.weighed");
		return;
	case PATHPROF_KIND_TAKEN:
		pp_query_add(q, " AND w.basis = 1 AND w.horizon = 0");
		return;
	}
	pp_query_add(q, " AND 0");
}

void pp_query_add_window_terms(struct pp_query *q)
{
	if (q->filter.since_ns)
		pp_query_add(q, " AND w.end_ns > ?1");
	if (q->filter.until_ns)
		pp_query_add(q, " AND w.begin_ns < ?2");
	if (q->filter.window)
		pp_query_add(q, " AND w.id = ?6");
	if (pp_query_given(q->filter.host))
		pp_query_add(q, " AND w.id IN (SELECT h.window FROM parcel_windows h"
				" JOIN parcels g ON g.id = h.parcel WHERE g.host = ?15)");
	if (pp_query_given(q->filter.labels))
		pp_query_add(q, " AND w.id IN (SELECT h.window FROM (SELECT store, host, labels,"
				" max(slot) FROM parcels GROUP BY store, host) n JOIN parcels g"
				" ON g.store = n.store AND g.host = n.host JOIN parcel_windows h"
				" ON h.parcel = g.id WHERE " PP_HAS_LABELS("n.labels", "?16") ")");
	add_kind(q);
}

/* For counts that are not joined with their windows. */
void pp_query_add_window_set(struct pp_query *q)
{
	if (!by_window(q))
		return;
	pp_query_add(q, " AND c.window IN (SELECT w.id FROM windows w WHERE 1");
	pp_query_add_window_terms(q);
	pp_query_add(q, ")");
}

void pp_query_add_process_set(struct pp_query *q)
{
	if (!by_process(q))
		return;
	pp_query_add(q, " AND +c.process IN (SELECT p.id FROM processes p WHERE 1");
	if (q->filter.pid)
		pp_query_add(q, " AND p.pid = ?3");
	if (pp_query_given(q->filter.comm))
		pp_query_add(q, " AND p.comm = ?4");
	if (pp_query_given(q->filter.container))
		pp_query_add(q, " AND substr(p.container, 1, length(?5)) = ?5");
	if (pp_query_given(q->filter.workload))
		pp_query_add(q, " AND iif(p.container <> '', p.container, p.comm) = ?17");
	pp_query_add(q, ")");
}

/* A path must match whole; a bare name also the last part of a path; hex also a build-id. */
static void add_binary_set(struct pp_query *q)
{
	pp_query_add(q, "(SELECT b.id FROM binaries b WHERE b.name = ?7");
	if (!strchr(q->filter.binary, '/'))
		pp_query_add(q, " OR substr(b.name, -1 - length(?7)) = '/' || ?7");
	if (q->hex[0])
		pp_query_add(q, " OR substr(lower(hex(b.build_id)), 1, length(?8)) = ?8");
	pp_query_add(q, ")");
}

/* Files of somebody else, in the window of the count, behind these binaries. */
static void add_foreign_file(struct pp_query *q, const char *binaries)
{
	pp_query_add(q, " JOIN window_files f ON f.window = c.window AND f.binary ");
	pp_query_add(q, binaries);
	pp_query_add(q, " AND f.owner NOT IN (?11, ?12, ?13, ?14))");
}

void pp_query_add_path_set(struct pp_query *q)
{
	if (q->filter.owner_cnt) {
		pp_query_add(q, " AND NOT EXISTS (SELECT 1 FROM paths o");
		add_foreign_file(q, "= o.binary WHERE o.id = c.path");
	}
	if (!pp_query_given(q->filter.binary))
		return;
	pp_query_add(q, " AND +c.path IN (SELECT t.id FROM paths t WHERE t.binary IN ");
	add_binary_set(q);
	pp_query_add(q, ")");
}

void pp_query_add_edge_set(struct pp_query *q)
{
	if (q->filter.owner_cnt) {
		pp_query_add(q, " AND NOT EXISTS (SELECT 1 FROM edges o");
		add_foreign_file(q, "IN (o.from_binary, o.to_binary) WHERE o.id = c.edge");
	}
	if (!pp_query_given(q->filter.binary))
		return;
	pp_query_add(q, " AND +c.edge IN (SELECT e.id FROM edges e WHERE e.from_binary IN ");
	add_binary_set(q);
	pp_query_add(q, " OR e.to_binary IN ");
	add_binary_set(q);
	pp_query_add(q, ")");
}

void pp_query_add_segment_set(struct pp_query *q)
{
	if (q->filter.owner_cnt) {
		pp_query_add(q, " AND NOT EXISTS (SELECT 1 FROM pieces o");
		add_foreign_file(q, "= o.binary WHERE o.id IN (c.first, c.second)");
	}
	if (!pp_query_given(q->filter.binary))
		return;
	pp_query_add(q, " AND +c.first IN (SELECT t.id FROM pieces t WHERE t.binary IN ");
	add_binary_set(q);
	pp_query_add(q, ")");
}

void pp_query_add_binary(struct pp_query *q, const char *column)
{
	if (!pp_query_given(q->filter.binary))
		return;
	pp_query_add(q, " AND ");
	pp_query_add(q, column);
	pp_query_add(q, " IN ");
	add_binary_set(q);
}

/* Windows in which a selected process was seen, or a selected binary ran. */
void pp_query_add_window_matches(struct pp_query *q)
{
	pp_query_add_window_terms(q);
	if (pp_query_given(q->filter.binary)) {
		pp_query_add(q, " AND (w.id IN (SELECT c.window FROM path_counts c WHERE 1");
		pp_query_add_window_set(q);
		pp_query_add_process_set(q);
		pp_query_add_path_set(q);
		pp_query_add(q, ") OR w.id IN (SELECT c.window FROM clock_counts c WHERE 1");
		pp_query_add_clock_set(q);
		pp_query_add(q, "))");
	} else if (by_process(q)) {
		pp_query_add(q, " AND w.id IN (SELECT c.window FROM window_processes c WHERE 1");
		pp_query_add_window_set(q);
		pp_query_add_process_set(q);
		pp_query_add(q, ")");
	}
}

static void bind(struct pp_query *q, sqlite3_stmt *stmt)
{
	const struct pathprof_filter *f = &q->filter;

	/* A parameter beyond the last one the query has is refused by SQLite, as it should. */
	sqlite3_bind_int64(stmt, P_SINCE, f->since_ns);
	sqlite3_bind_int64(stmt, P_UNTIL, f->until_ns);
	sqlite3_bind_int64(stmt, P_PID, f->pid);
	pp_sql_bind_text(stmt, P_COMM, f->comm);
	pp_sql_bind_text(stmt, P_CONTAINER, f->container);
	sqlite3_bind_int64(stmt, P_WINDOW, f->window);
	pp_sql_bind_text(stmt, P_NAME, f->binary);
	pp_sql_bind_text(stmt, P_HEX, q->hex);
	for (uint32_t i = 0; f->owner_cnt && i < PATHPROF_OWNERS_MAX; i++)
		sqlite3_bind_int64(stmt, P_OWNER + (int)i,
				   f->owners[i < f->owner_cnt ? i : f->owner_cnt - 1]);
	pp_sql_bind_text(stmt, P_HOST, f->host);
	pp_sql_bind_text(stmt, P_LABELS, q->labels);
	pp_sql_bind_text(stmt, P_WORKLOAD, f->workload);
	sqlite3_bind_int64(stmt, P_NOW, q->now_ns);
	sqlite3_bind_int64(stmt, P_LIMIT, f->limit ? (int64_t)f->limit : -1);
}

/* ---------------------------------------------------------------- running it */

int pp_query_run(struct pp_query *q, int64_t site, pp_query_row_fn *take, void *take_context,
		 struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(q->store, q->sql, &stmt, error);

	if (r < 0)
		return r;
	bind(q, stmt);
	if (site)
		sqlite3_bind_int64(stmt, P_SITE, site);
	while ((r = pp_sql_step(q->store, stmt, error)) > 0) {
		struct pp_row row = PP_ROW(stmt);

		r = take(q, &row, take_context, error);
		if (r)
			break;
	}
	sqlite3_finalize(stmt);
	return r;
}
