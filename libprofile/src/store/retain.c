// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Retention: cutting off the oldest windows by age and by size, and with them the paths, edges,
 * processes, boots and binaries that nothing refers to any more.
 *
 * Workload: once a window, with nothing to do or one window to remove; rarely (a lowered bound)
 * thousands. Work goes in batches of one transaction each, so a kill loses nothing but work.
 *
 * There is no index from a path to its windows (schema/sqlite/0001_init.sql says why). Candidates
 * are the paths of the removed windows, and a candidate's last window has an id of at most
 * last_window + 63, so a few look-ups by key, newest first, decide each. SQLite's own check of
 * foreign keys would read all counts for each path removed; it is off meanwhile, and the order
 * of the deletions keeps every reference whole.
 *
 * Locking: the writer's.
 */
#include "pp_store.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

#define BATCH_WINDOWS_MAX 16
#define SHM_BYTES         32768
#define TRUNCATE_BUSY_MS  50

/*
 * Removes everything of the windows in temp.gone_windows, then the rows that only they referred to.
 * A row survives if a remaining window refers to it. Only windows below last_window + 64 can; they
 * are searched from the newest, because rows in use were mostly seen lately.
 */
static const char remove_batch[] =
	"INSERT OR IGNORE INTO temp.gone_paths"
	" SELECT path FROM path_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"INSERT OR IGNORE INTO temp.gone_paths"
	" SELECT path FROM piece_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"INSERT OR IGNORE INTO temp.gone_edges"
	" SELECT edge FROM edge_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"INSERT OR IGNORE INTO temp.gone_edges"
	" SELECT edge FROM range_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"INSERT OR IGNORE INTO temp.gone_processes"
	" SELECT process FROM window_processes WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM path_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM context_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM segment_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM segment_samples WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM segmented_windows WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM piece_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM window_notes WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM range_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM ranged_windows WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM edge_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM clock_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM window_processes WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM window_ends WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM window_drops WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM window_files WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM drift WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM value_tops WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM value_counts WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM value_drops WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM parcel_windows WHERE window IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM windows WHERE id IN (SELECT id FROM temp.gone_windows);"
	"DELETE FROM paths WHERE id IN (SELECT id FROM temp.gone_paths) AND"
	" (SELECT 1 FROM windows w CROSS JOIN path_counts c ON c.window = w.id"
	" AND c.path = paths.id WHERE w.id < paths.last_window + 64"
	" ORDER BY w.id DESC LIMIT 1) IS NULL AND"
	" (SELECT 1 FROM windows w CROSS JOIN piece_counts c ON c.window = w.id"
	" AND c.path = paths.id WHERE w.id < paths.last_window + 64"
	" ORDER BY w.id DESC LIMIT 1) IS NULL;"
	"DELETE FROM portable_paths WHERE path IN (SELECT id FROM temp.gone_paths) AND"
	" NOT EXISTS (SELECT 1 FROM paths t WHERE t.id = portable_paths.path);"
	"DELETE FROM edges WHERE id IN (SELECT id FROM temp.gone_edges) AND"
	" (SELECT 1 FROM windows w CROSS JOIN edge_counts c ON c.window = w.id"
	" AND c.edge = edges.id WHERE w.id < edges.last_window + 64"
	" ORDER BY w.id DESC LIMIT 1) IS NULL AND"
	" (SELECT 1 FROM windows w CROSS JOIN range_counts c ON c.window = w.id"
	" AND c.edge = edges.id WHERE w.id < edges.last_window + 64"
	" ORDER BY w.id DESC LIMIT 1) IS NULL;"
	"DELETE FROM processes WHERE id IN (SELECT id FROM temp.gone_processes) AND"
	" (SELECT 1 FROM windows w CROSS JOIN window_processes c ON c.window = w.id"
	" AND c.process = processes.id WHERE w.id < processes.last_window + 64"
	" ORDER BY w.id DESC LIMIT 1) IS NULL;"
	"DELETE FROM temp.gone_windows;"
	"DELETE FROM temp.gone_paths;"
	"DELETE FROM temp.gone_edges;"
	"DELETE FROM temp.gone_processes";

/*
 * A binary that only names of generated code refer to stays until all windows up to its last_window
 * are gone: those that were there when the names came. Clock samples of the binary are then looked
 * for in the windows below last_window + 64, of which there are at most 64.
 */
static const char remove_unnamed[] =
	"DELETE FROM boots WHERE NOT EXISTS (SELECT 1 FROM processes p WHERE p.boot = boots.id);"
	"DELETE FROM parcels WHERE NOT EXISTS"
	" (SELECT 1 FROM parcel_windows p WHERE p.parcel = parcels.id);"
	"DELETE FROM value_sites WHERE id NOT IN (SELECT site FROM value_counts);"
	"DELETE FROM contexts WHERE last_window + 63 < (SELECT coalesce(min(w.id), 1 +"
	" (SELECT seq FROM main.sqlite_sequence WHERE name = 'windows') + 63)"
	" FROM main.windows w);"
	"DELETE FROM pieces WHERE last_window < (SELECT coalesce(min(w.id) - 63, 1 +"
	" (SELECT seq FROM main.sqlite_sequence WHERE name = 'windows'))"
	" FROM main.windows w);"
	"CREATE TEMP TABLE gone_binaries AS SELECT b.id AS id FROM main.binaries b WHERE"
	" NOT EXISTS (SELECT 1 FROM main.paths t WHERE t.binary = b.id)"
	" AND b.last_window < (SELECT coalesce(min(w.id), 1 + (SELECT seq FROM main.sqlite_sequence"
	" WHERE name = 'windows')) FROM main.windows w)"
	" AND b.id NOT IN (SELECT from_binary FROM main.edges UNION SELECT to_binary FROM "
	"main.edges"
	" UNION SELECT binary FROM main.processes WHERE binary IS NOT NULL)"
	" AND b.id NOT IN (SELECT binary FROM main.value_sites)"
	" AND b.id NOT IN (SELECT binary FROM main.contexts)"
	" AND NOT EXISTS (SELECT 1 FROM main.pieces p WHERE p.binary = b.id)"
	" AND NOT EXISTS (SELECT 1 FROM main.windows w CROSS JOIN main.clock_counts c"
	" ON c.window = w.id AND c.binary = b.id WHERE w.id < b.last_window + 64)"
	" AND NOT EXISTS (SELECT 1 FROM main.windows w CROSS JOIN main.window_files f"
	" ON f.window = w.id AND f.binary = b.id)"
	" AND NOT EXISTS (SELECT 1 FROM main.windows w CROSS JOIN main.drift d"
	" ON d.window = w.id AND d.binary = b.id);"
	"DELETE FROM jit_symbols WHERE binary IN (SELECT id FROM temp.gone_binaries);"
	"DELETE FROM binary_functions WHERE binary IN (SELECT id FROM temp.gone_binaries);"
	"DELETE FROM binaries WHERE id IN (SELECT id FROM temp.gone_binaries);"
	"DROP TABLE temp.gone_binaries";

static const char temp_tables[] =
	"CREATE TEMP TABLE IF NOT EXISTS gone_windows(id INTEGER PRIMARY KEY);"
	"CREATE TEMP TABLE IF NOT EXISTS gone_paths(id INTEGER PRIMARY KEY);"
	"CREATE TEMP TABLE IF NOT EXISTS gone_edges(id INTEGER PRIMARY KEY);"
	"CREATE TEMP TABLE IF NOT EXISTS gone_processes(id INTEGER PRIMARY KEY)";

static int one_transaction(struct pathprof_store *store, const char *first, const char *second,
			   struct pathprof_error *error)
{
	int r = pp_sql_begin(store, error);

	if (r < 0)
		return r;
	r = pp_sql_exec(store, first, error);
	if (r == 0)
		r = pp_sql_exec(store, second, error);
	return pp_sql_end(store, r, error);
}

static int count_windows(struct pathprof_store *store, int64_t *ret_cnt,
			 struct pathprof_error *error)
{
	return pp_sql_number(store, "SELECT count(*) FROM windows", ret_cnt, error);
}

/* ---------------------------------------------------------------- size */

void pp_store_checkpoint(struct pathprof_store *store)
{
	/* Truncating waits for readers; a long one must not hold up the daemon. */
	sqlite3_busy_timeout(store->db, TRUNCATE_BUSY_MS);
	sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(store->db, PP_BUSY_MS);
}

/* The size of the files once the WAL is empty; now a reader may keep it from being emptied. */
static int settled_bytes(struct pathprof_store *store, uint64_t *ret_bytes,
			 struct pathprof_error *error)
{
	int64_t pages = 0, free_pages = 0, page_bytes = 0;
	uint64_t shm_bytes = pp_store_file_bytes(store, "-shm");
	int r = pp_sql_number(store, "PRAGMA page_count", &pages, error);

	if (r == 0)
		r = pp_sql_number(store, "PRAGMA freelist_count", &free_pages, error);
	if (r == 0)
		r = pp_sql_number(store, "PRAGMA page_size", &page_bytes, error);
	if (r < 0)
		return r;
	/* A damaged header may say anything. */
	if (free_pages < 0 || free_pages > pages)
		free_pages = 0;
	*ret_bytes = (uint64_t)(pages - free_pages) * (uint64_t)page_bytes +
		     (shm_bytes ? shm_bytes : SHM_BYTES);
	return 0;
}

static int vacuum(struct pathprof_store *store, struct pathprof_error *error)
{
	int64_t before = 0, after = 0;
	int r = pp_sql_number(store, "PRAGMA freelist_count", &after, error);

	while (r == 0 && after > 0 && after != before) {
		before = after;
		r = pp_sql_exec(store, "PRAGMA incremental_vacuum(4096)", error);
		if (r == 0)
			r = pp_sql_number(store, "PRAGMA freelist_count", &after, error);
	}
	return r;
}

/* ---------------------------------------------------------------- removing */

/* which: the statement that fills temp.gone_windows with at most one batch. */
static int remove_some(struct pathprof_store *store, const char *which,
		       struct pathprof_error *error)
{
	return one_transaction(store, which, remove_batch, error);
}

int pp_store_remove_windows(struct pathprof_store *store, const char *which,
			    struct pathprof_error *error)
{
	int r = pp_sql_exec(store, temp_tables, error);

	if (r == 0)
		r = pp_sql_exec(store, which, error);
	if (r == 0)
		r = pp_sql_exec(store, remove_batch, error);
	pp_store_forget_ids(store);
	return r;
}

static int remove_old(struct pathprof_store *store, int64_t max_age_ns,
		      struct pathprof_error *error)
{
	char which[160], messages[320];
	int64_t before = 0, after = -1;
	int r = count_windows(store, &before, error);

	int64_t now_ns = pp_realtime_ns();
	snprintf(which, sizeof(which),
		 "INSERT INTO temp.gone_windows SELECT id FROM windows WHERE end_ns < %lld"
		 " ORDER BY end_ns LIMIT %d",
		 (long long)(now_ns - max_age_ns), BATCH_WINDOWS_MAX);
	while (r == 0 && before != after) {
		after = before;
		r = remove_some(store, which, error);
		if (r == 0)
			r = count_windows(store, &before, error);
	}
	snprintf(messages, sizeof(messages),
		 "DELETE FROM messages WHERE time_ns < %lld AND id NOT IN " PP_MESSAGES_OF_FIRING,
		 (long long)(now_ns - max_age_ns));
	return r ? r : pp_sql_exec(store, messages, error);
}

/* Half of what would suffice if all windows had the same size, so that not one too many goes. */
static int64_t windows_at_once(uint64_t bytes, uint64_t max_bytes, int64_t window_cnt)
{
	double excess = (double)(bytes - max_bytes) / (double)bytes;
	int64_t cnt = (int64_t)(excess * (double)window_cnt / 2);

	if (cnt < 1)
		return 1;
	return cnt < BATCH_WINDOWS_MAX ? cnt : BATCH_WINDOWS_MAX;
}

/* Removes rows that no remaining window refers to, and frees the room of everything removed. */
static int free_room(struct pathprof_store *store, struct pathprof_error *error)
{
	int r = one_transaction(store, remove_unnamed, "", error);

	return r ? r : vacuum(store, error);
}

static int remove_large(struct pathprof_store *store, uint64_t max_bytes,
			struct pathprof_error *error)
{
	uint64_t bytes = 0;
	int64_t window_cnt = 0, window_cnt_before = INT64_MAX;
	char which[128];

	for (;; window_cnt_before = window_cnt) {
		int r = free_room(store, error);

		if (r == 0)
			r = settled_bytes(store, &bytes, error);
		if (r == 0)
			r = count_windows(store, &window_cnt, error);
		if (r < 0 || bytes <= max_bytes)
			return r;
		if (!window_cnt)
			return pathprof_fail(error, -ENOSPC,
					     "%s: the bound of %llu bytes is below what an empty "
					     "store takes: raise it",
					     store->file, (unsigned long long)max_bytes);
		if (window_cnt >= window_cnt_before)
			return pathprof_fail(error, -EBADMSG,
					     "%s: windows cannot be removed (the file is damaged)",
					     store->file);
		snprintf(which, sizeof(which),
			 "INSERT INTO temp.gone_windows SELECT id FROM windows ORDER BY id LIMIT"
			 " %lld",
			 (long long)windows_at_once(bytes, max_bytes, window_cnt));
		r = remove_some(store, which, error);
		if (r < 0)
			return r;
	}
}

static int retain(struct pathprof_store *store, const struct pathprof_retention *retention,
		  struct pathprof_error *error)
{
	int r = pp_sql_exec(store, temp_tables, error);

	if (r == 0 && retention->max_age_ns > 0)
		r = remove_old(store, retention->max_age_ns, error);
	if (r < 0)
		return r;
	return retention->max_bytes ? remove_large(store, retention->max_bytes, error)
				    : free_room(store, error);
}

/* ---------------------------------------------------------------- public */

static int anything_to_do(struct pathprof_store *store, const struct pathprof_retention *retention,
			  bool *ret_todo, struct pathprof_error *error)
{
	int64_t oldest_ns = INT64_MAX;
	uint64_t bytes = 0;
	int r = pp_sql_number(store,
			      "SELECT coalesce(min(end_ns), 9223372036854775807) FROM windows",
			      &oldest_ns, error);

	if (r < 0)
		return r;
	int64_t now_ns = pp_realtime_ns();
	pathprof_store_size(store, &bytes);
	*ret_todo = (retention->max_age_ns > 0 && oldest_ns < now_ns - retention->max_age_ns) ||
		    (retention->max_bytes && bytes > retention->max_bytes);
	return 0;
}

int pathprof_store_retain(struct pathprof_store *store, const struct pathprof_retention *retention,
			  uint64_t *ret_windows_removed, struct pathprof_error *error)
{
	int64_t before = 0, after = 0;
	bool todo = false;
	int r = pp_sql_writable(store, error);

	if (r == 0)
		r = anything_to_do(store, retention, &todo, error);
	if (r == 0)
		r = count_windows(store, &before, error);
	if (r == 0 && todo) {
		r = pp_sql_exec(store, "PRAGMA foreign_keys=OFF", error);
		if (r == 0)
			r = retain(store, retention, error);
		int on = pp_sql_exec(store, "PRAGMA foreign_keys=ON", r ? NULL : error);
		r = r ? r : on;
		pp_store_forget_ids(store);
		pp_store_checkpoint(store);
	}
	if (r == 0)
		r = count_windows(store, &after, error);
	if (r == 0 && ret_windows_removed)
		*ret_windows_removed = (uint64_t)(before - after);
	return r;
}
