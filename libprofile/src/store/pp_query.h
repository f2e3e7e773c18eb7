/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * One query, put together from fixed fragments; what the user typed is only ever bound as a
 * parameter. Counts are always called c, windows w.
 *
 * Workload: a few a command. Locking: none, one connection. Ownership: the filter's strings and the
 * store are borrowed while the query lives.
 */
#ifndef PP_QUERY_H
#define PP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/labels.h"
#include "pp_store.h"

#define PP_QUERY_SQL_MAX_BYTES 8192

/* The sum over a group of path_counts or segment_samples c: 0 unless it is known of all. */
#define PP_SUM_SQUARES "CASE WHEN count(c.squares) = count(*) THEN total(c.squares) ELSE 0.0 END"

#define PP_SUM_WEIGHT_SQUARES                                                                      \
	"CASE WHEN count(c.weight_squares) = count(*) THEN total(c.weight_squares) ELSE 0.0 END"

/* The weight of grouped rows of edge_counts c. */
#define PP_SUM_EDGE_WEIGHT "total(coalesce(c.weight, c.count))"

#define PP_SUM_INSNS "CASE WHEN count(c.insns) = count(*) THEN total(c.insns) ELSE 0.0 END"

/*
 * Whether a column of labels has all that are wanted, of which pp_query_labels() makes `pattern`.
 * Both are ordered by key, and no label has a character that GLOB takes for more than itself.
 */
#define PP_HAS_LABELS(column, pattern) "' ' || replace(" column ", ' ', '  ') || ' ' GLOB " pattern
#define PP_LABELS_PATTERN_BYTES        (PATHPROF_LABELS_BYTES + 3 * PATHPROF_LABELS_MAX)
void pp_query_labels(const char *labels, char ret_pattern[static PP_LABELS_PATTERN_BYTES]);

struct pp_query {
	struct pathprof_store *store;
	struct pathprof_filter filter;
	char hex[2 * PATHPROF_BUILD_ID_MAX + 1]; /* filter.binary as a build-id prefix, or "" */
	char labels[PP_LABELS_PATTERN_BYTES];    /* filter.labels as a pattern */
	int64_t now_ns;                          /* when it began */
	char sql[PP_QUERY_SQL_MAX_BYTES];
	size_t len;
};

/* Rows: parameter ?9. A site's id: ?10. Owners: ?11 to ?14. Host: ?15. Labels: ?16. Workload: ?17.
 * The time now: ?18. */
void pp_query_begin(struct pp_query *q, struct pathprof_store *store,
		    const struct pathprof_filter *filter);
void pp_query_add(struct pp_query *q, const char *fragment);

bool pp_query_given(const char *text);

/* " AND ..." of windows called w. */
void pp_query_add_window_terms(struct pp_query *q);
/* " AND ..." of counts called c: by window, process, and binary of a path or an edge. */
void pp_query_add_window_set(struct pp_query *q);
void pp_query_add_process_set(struct pp_query *q);
void pp_query_add_path_set(struct pp_query *q);
void pp_query_add_edge_set(struct pp_query *q);
/* The same for segment_samples, whose binary is that of the first piece. */
void pp_query_add_segment_set(struct pp_query *q);
void pp_query_add_clock_set(struct pp_query *q);
/* " AND ..." of windows called w: by window, and those that saw what the filter names. */
void pp_query_add_window_matches(struct pp_query *q);
/* " AND column IN ...": the binaries that the filter names. */
void pp_query_add_binary(struct pp_query *q, const char *column);

/* Takes one row and hands it to the caller: 0 to go on. */
typedef int pp_query_row_fn(struct pp_query *q, struct pp_row *row, void *take_context,
			    struct pathprof_error *error);
/* The place of clock samples, in a file or in none. */
uint64_t pp_row_place(struct pp_row *row, int column, bool in_file);

/* Six columns: build-id, kind, name, start, length, outcomes. */
struct pathprof_piece pp_row_piece(struct pp_row *row, int column);

/* site 0: none. */
int pp_query_run(struct pp_query *q, int64_t site, pp_query_row_fn *take, void *take_context,
		 struct pathprof_error *error);

#endif
