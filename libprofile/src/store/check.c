// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Is this store sound? SQLite's own integrity check, references, and the ranges and invariants
 * that the rest of the store relies on. Ranges are CHECK constraints of the schema as well, but a
 * damaged file may have lost those.
 *
 * Workload: on demand; reads the whole file. Locking: none, works on a reader.
 */
#include "pp_store.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *trouble;
	const char *sql; /* gives a row when there is trouble */
} checks[] = {
	{"a path's length or outcomes are out of range",
	 "SELECT 1 FROM paths WHERE typeof(start) <> 'integer' OR typeof(length) <> 'integer'"
	 " OR length NOT BETWEEN 0 AND 32 OR typeof(outcomes) <> 'integer'"
	 " OR outcomes NOT BETWEEN 0 AND 4294967295"},
	{"a path's count is out of range",
	 "SELECT 1 FROM path_counts WHERE typeof(samples) <> 'integer' OR samples < 0"
	 " OR typeof(weight) NOT IN ('real', 'integer') OR weight NOT BETWEEN 0 AND 1e300"
	 " OR typeof(insns) NOT IN ('real', 'integer', 'null') OR insns NOT BETWEEN 0 AND 1e300"
	 " OR typeof(weight_squares) NOT IN ('real', 'integer', 'null')"
	 " OR weight_squares NOT BETWEEN 0 AND 1e300"},
	{"what a run holds beside its paths is out of range",
	 "SELECT 1 FROM piece_counts WHERE typeof(count) <> 'integer' OR count < 0"
	 " UNION ALL SELECT 1 FROM segment_counts WHERE typeof(count) <> 'integer' OR count < 0"
	 " UNION ALL SELECT 1 FROM window_notes WHERE typeof(note) <> 'text'"},
	{"a piece was seen later than its last_window allows",
	 "SELECT 1 FROM piece_counts c CROSS JOIN paths t ON t.id = c.path"
	 " WHERE c.window > t.last_window + 63"},
	{"a segment joins what is no piece of its window",
	 "SELECT 1 FROM segment_counts c WHERE NOT EXISTS (SELECT 1 FROM piece_counts p WHERE"
	 " p.window = c.window AND p.path = c.first) OR NOT EXISTS (SELECT 1 FROM piece_counts p"
	 " WHERE p.window = c.window AND p.path = c.second)"},
	{"a segment's sample is out of range",
	 "SELECT 1 FROM segment_samples WHERE typeof(samples) <> 'integer' OR samples < 0"
	 " OR typeof(weight) NOT IN ('real', 'integer') OR weight NOT BETWEEN 0 AND 1e300"
	 " OR typeof(squares) NOT IN ('integer', 'null') OR squares <= 0"
	 " OR typeof(weight_squares) NOT IN ('real', 'integer', 'null')"
	 " OR weight_squares NOT BETWEEN 0 AND 1e300 UNION ALL SELECT 1 FROM segmented_windows"
	 " WHERE typeof(lost) <> 'integer' OR lost < 0"},
	{"a piece's length or outcomes are out of range",
	 "SELECT 1 FROM pieces WHERE typeof(start) <> 'integer' OR typeof(length) <> 'integer'"
	 " OR length NOT BETWEEN 0 AND 32 OR typeof(outcomes) <> 'integer'"
	 " OR outcomes NOT BETWEEN 0 AND 4294967295"},
	{"a sampled piece was seen later than its last_window allows",
	 "SELECT 1 FROM segment_samples c CROSS JOIN pieces t ON t.id IN (c.first, c.second)"
	 " WHERE c.window > t.last_window + 63"},
	{"a segment belongs to a process that its window does not know",
	 "SELECT 1 FROM segment_samples c WHERE NOT EXISTS (SELECT 1 FROM window_processes p"
	 " WHERE p.window = c.window AND p.process = c.process)"},
	{"a range's count is out of range",
	 "SELECT 1 FROM range_counts WHERE typeof(count) <> 'integer' OR count <= 0"
	 " OR typeof(last) <> 'integer'"},
	{"a range is behind an edge that its window has not",
	 "SELECT 1 FROM range_counts c WHERE NOT EXISTS (SELECT 1 FROM edge_counts e"
	 " WHERE e.window = c.window AND e.edge = c.edge) AND EXISTS (SELECT 1 FROM windows w"
	 " WHERE w.id = c.window AND w.bursts > 0)"},
	{"an edge's count is out of range",
	 "SELECT 1 FROM edge_counts WHERE typeof(count) <> 'integer' OR count < 0"
	 " OR typeof(mispredicted) <> 'integer' OR mispredicted < 0"
	 " OR typeof(weight) NOT IN ('real', 'integer', 'null') OR weight NOT BETWEEN 0 AND 1e300"},
	{"a binary's identity is malformed",
	 "SELECT 1 FROM binaries WHERE typeof(build_id) <> 'blob' OR length(build_id) > 20"
	 " OR typeof(kind) <> 'integer' OR kind NOT BETWEEN 0 AND 3 OR typeof(name) <> 'text'"},
	{"a process is malformed",
	 "SELECT 1 FROM processes WHERE typeof(pid) <> 'integer' OR pid NOT BETWEEN 0 AND"
	 " 4294967295 OR typeof(start_time) <> 'integer' OR start_time < 0"
	 " OR typeof(exec_cnt) <> 'integer' OR exec_cnt NOT BETWEEN 0 AND 4294967295"
	 " OR typeof(comm) <> 'text' OR typeof(container) <> 'text'"},
	{"a window begins before 1970 or ends before it begins, or has no basis",
	 "SELECT 1 FROM windows WHERE typeof(begin_ns) <> 'integer' OR typeof(end_ns) <> 'integer'"
	 " OR begin_ns < 0 OR end_ns < begin_ns OR basis NOT IN (1, 2)"},
	{"a window's totals are out of range",
	 "SELECT 1 FROM windows WHERE min(source, taken_wanted, bursts, branches, taken, steps,"
	 " paths, stopped_ns, source_cpu_ns, horizon, clock_hz, insns, pathless,"
	 " clock_samples) < 0 OR clock_kernel NOT IN (0, 1) OR weighed NOT IN (0, 1)"
	 " OR typeof(bursts + branches + taken + steps + paths) = 'text'"},
	{"a window counts a reason that cannot be",
	 "SELECT 1 FROM (SELECT * FROM window_ends UNION ALL SELECT * FROM window_drops)"
	 " WHERE reason < 0 OR count <= 0"},
	{"a path was seen later than its last_window allows",
	 "SELECT 1 FROM path_counts c CROSS JOIN paths t ON t.id = c.path"
	 " WHERE c.window > t.last_window + 63"},
	{"an edge was seen later than its last_window allows",
	 "SELECT 1 FROM edge_counts c CROSS JOIN edges e ON e.id = c.edge"
	 " WHERE c.window > e.last_window + 63"},
	{"a process was seen later than its last_window allows",
	 "SELECT 1 FROM window_processes c CROSS JOIN processes p ON p.id = c.process"
	 " WHERE c.window > p.last_window + 63"},
	{"a count belongs to a process that its window does not know",
	 "SELECT 1 FROM path_counts c WHERE NOT EXISTS (SELECT 1 FROM window_processes p"
	 " WHERE p.window = c.window AND p.process = c.process)"},
	{"a place of clock samples is malformed",
	 "SELECT 1 FROM clock_counts WHERE typeof(binary) <> 'integer' OR typeof(place) <>"
	 " 'integer' OR typeof(samples) <> 'integer' OR samples < 0"
	 " OR (binary = 0 AND place NOT IN (0, 16))"},
	{"clock samples belong to a process that their window does not know",
	 "SELECT 1 FROM clock_counts c WHERE NOT EXISTS (SELECT 1 FROM window_processes p"
	 " WHERE p.window = c.window AND p.process = c.process)"},
	{"clock samples lie in a binary that is not there, or was seen later than its last_window"
	 " allows",
	 "SELECT 1 FROM clock_counts c LEFT JOIN binaries b ON b.id = c.binary"
	 " WHERE c.binary <> 0 AND (b.id IS NULL OR c.window > b.last_window + 63)"},
	{"a file behind a binary is malformed",
	 "SELECT 1 FROM window_files WHERE typeof(owner) <> 'integer' OR owner NOT BETWEEN 0 AND"
	 " 4294967295 OR typeof(device) <> 'integer' OR typeof(inode) <> 'integer'"},
	{"a figure of drift is out of range",
	 "SELECT 1 FROM drift WHERE typeof(container) <> 'text' OR typeof(baseline) <> 'text'"
	 " OR typeof(kl + kl_corrected + kl_low + kl_high + angle) NOT IN ('real', 'integer')"
	 " OR abs(kl + kl_corrected + kl_low + kl_high + angle) > 1e300"
	 " OR min(window_samples, baseline_samples) < 0"
	 " OR min(overlap, coverage_static, coverage_dynamic, matched) < 0"
	 " OR max(overlap, coverage_static, coverage_dynamic, matched) > 1"},
	{"an alert's state is out of range",
	 "SELECT 1 FROM alerts WHERE typeof(phase) <> 'integer' OR phase NOT BETWEEN 0 AND 2"
	 " OR typeof(streak) <> 'integer' OR streak < 0"
	 " OR typeof(since_ns) <> 'integer' OR typeof(fired_ns) <> 'integer'"
	 " OR typeof(resolved_ns) <> 'integer' OR typeof(seen_ns) <> 'integer'"
	 " OR min(since_ns, fired_ns, resolved_ns, seen_ns) < 0"
	 " OR typeof(value) NOT IN ('real', 'integer') OR typeof(json) <> 'text'"},
	{"a message is malformed",
	 "SELECT 1 FROM messages WHERE typeof(time_ns) <> 'integer' OR typeof(fired) <> 'integer'"
	 " OR fired NOT IN (0, 1) OR typeof(begin_ns) <> 'integer' OR typeof(end_ns) <> 'integer'"
	 " OR min(time_ns, begin_ns, end_ns) < 0 OR typeof(value) <> 'real' OR typeof(threshold) "
	 "<> 'real'"
	 " OR typeof(rule || binary || container || baseline || metric || summary || json) <>"
	 " 'text'"},
	{"a path's portable name is malformed",
	 "SELECT 1 FROM portable_paths WHERE typeof(function) <> 'integer'"
	 " OR typeof(place) <> 'integer' OR typeof(name) <> 'text'"},
	{"a build's list of functions is malformed",
	 "SELECT 1 FROM binary_functions WHERE typeof(keys) <> 'blob' OR length(keys) % 8 <> 0"},
	{"a parameter whose values were recorded is malformed",
	 "SELECT 1 FROM value_sites WHERE typeof(start) <> 'integer' OR typeof(argument) <> "
	 "'integer'"
	 " OR argument NOT BETWEEN 1 AND 6 OR typeof(function) <> 'text'"},
	{"counts of values are out of range",
	 "SELECT 1 FROM value_counts WHERE typeof(executed) <> 'integer' OR typeof(same) <>"
	 " 'integer' OR same NOT BETWEEN 0 AND executed OR typeof(profiled) <> 'integer' OR"
	 " profiled < 0 OR typeof(entries) <> 'integer' OR entries NOT BETWEEN 1 AND 255 OR"
	 " typeof(sampler) <> 'text' UNION ALL SELECT 1 FROM value_tops WHERE typeof(value) <>"
	 " 'integer' OR typeof(count) <> 'integer' OR count <= 0 UNION ALL SELECT 1 FROM"
	 " value_drops WHERE typeof(reason) <> 'text' OR typeof(count) <> 'integer' OR count <= 0"},
	{"a parcel is malformed",
	 "SELECT 1 FROM parcels WHERE typeof(store) <> 'blob' OR length(store) <> 16"
	 " OR typeof(slot) <> 'integer' OR slot < 0 OR slot % 300 <> 0"
	 " OR typeof(windows) <> 'integer' OR windows <= 0 OR typeof(cpus) <> 'integer'"
	 " OR cpus NOT BETWEEN 0 AND 4294967295 OR typeof(sent_ns) <> 'integer'"
	 " OR sent_ns < 0"
	 " OR typeof(host || model || kernel || os || labels) <> 'text'"},
	{"a parcel's recorded windows are malformed",
	 "SELECT 1 FROM parcel_windows WHERE recorded IS NOT NULL AND"
	 " (typeof(recorded) <> 'blob' OR length(recorded) % 8 <> 0)"},
	{"a window of a parcel ended in another slot",
	 "SELECT 1 FROM parcel_windows c CROSS JOIN parcels p ON p.id = c.parcel"
	 " CROSS JOIN windows w ON w.id = c.window"
	 " WHERE w.end_ns / 1000000000 < p.slot OR w.end_ns / 1000000000 >= iif("
	 "(SELECT count(*) FROM parcel_windows o WHERE o.window = c.window) > 1,"
	 " p.slot / 3600 * 3600 + 3600, p.slot + 300)"},
	{"a symbol of generated code is malformed",
	 "SELECT 1 FROM jit_symbols WHERE typeof(start) <> 'integer' OR typeof(len_bytes) <>"
	 " 'integer' OR len_bytes < 0 OR typeof(name) <> 'text'"},
};

static int check_integrity(struct pathprof_store *store, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, "PRAGMA integrity_check(1)", &stmt, error);

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	const char *said = r > 0 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	if (r >= 0 && (!said || strcmp(said, "ok") != 0)) {
		r = pathprof_fail(error, -EBADMSG, "%s: damaged: %.300s", store->file,
				  said ? said : "no answer");
		for (char *c = error ? error->text : NULL; c && *c; c++)
			if (*c == '\n')
				*c = ' ';
	}
	sqlite3_finalize(stmt);
	return r < 0 ? r : 0;
}

/* Trouble when sql gives a row. */
static int check_none(struct pathprof_store *store, const char *sql, const char *trouble,
		      struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, sql, &stmt, error);

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	sqlite3_finalize(stmt);
	if (r > 0)
		return pathprof_fail(error, -EBADMSG, "%s: damaged: %s", store->file, trouble);
	return r;
}

int pathprof_store_check(struct pathprof_store *store, struct pathprof_error *error)
{
	int r = check_integrity(store, error);

	if (r == 0)
		r = check_none(store, "PRAGMA foreign_key_check",
			       "a row refers to one that is not there", error);
	for (size_t i = 0; r == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		r = check_none(store, checks[i].sql, checks[i].trouble, error);
	return r;
}
