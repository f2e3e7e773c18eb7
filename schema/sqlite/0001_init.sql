-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- One host's closed profile windows.
--
-- Expected load: a window every few seconds with up to 10,000 (path, process) counts, most of
-- them for paths that were seen before; readers that sum over a range of windows.
--
-- Offsets are unsigned 64-bit numbers and SQLite knows signed ones: columns named start,
-- from_offset and to_offset hold the same 64 bits read as signed. Counts stay below 2^63.
--
-- The count tables are clustered by window, so a new window is appended and an old one is cut
-- off as whole pages. There is no index by path or process: it would be rewritten nearly whole
-- by every window. Instead paths, edges and processes carry last_window: the last window that
-- refers to the row has an id of at most last_window + 63. That bounds the search when windows
-- are removed, and a hot row is rewritten once in 64 windows only.

CREATE TABLE meta(
	name TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE boots(
	id INTEGER PRIMARY KEY,
	boot_id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE binaries(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	build_id BLOB NOT NULL CHECK (length(build_id) <= 20),
	kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
	name TEXT NOT NULL,
	last_window INTEGER NOT NULL CHECK (last_window >= 0),
	UNIQUE (build_id, kind)
) STRICT;

-- start_time is in clock ticks since boot, so it identifies a process only together with a boot.
CREATE TABLE processes(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	boot INTEGER NOT NULL REFERENCES boots(id),
	pid INTEGER NOT NULL CHECK (pid BETWEEN 0 AND 4294967295),
	start_time INTEGER NOT NULL CHECK (start_time >= 0),
	exec_cnt INTEGER NOT NULL CHECK (exec_cnt BETWEEN 0 AND 4294967295),
	comm TEXT NOT NULL,
	container TEXT NOT NULL,
	binary INTEGER REFERENCES binaries(id),
	last_window INTEGER NOT NULL CHECK (last_window >= 0),
	UNIQUE (boot, pid, start_time, exec_cnt)
) STRICT;

CREATE TABLE windows(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	begin_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	source INTEGER NOT NULL CHECK (source BETWEEN 0 AND 4294967295),
	basis INTEGER NOT NULL CHECK (basis BETWEEN 1 AND 2),
	taken_wanted INTEGER NOT NULL CHECK (taken_wanted BETWEEN 0 AND 4294967295),
	bursts INTEGER NOT NULL CHECK (bursts >= 0),
	branches INTEGER NOT NULL CHECK (branches >= 0),
	taken INTEGER NOT NULL CHECK (taken >= 0),
	steps INTEGER NOT NULL CHECK (steps >= 0),
	paths INTEGER NOT NULL CHECK (paths >= 0),
	stopped_ns INTEGER NOT NULL CHECK (stopped_ns >= 0),
	source_cpu_ns INTEGER NOT NULL CHECK (source_cpu_ns >= 0),
	CHECK (end_ns >= begin_ns)
) STRICT;
CREATE INDEX windows_end_ns ON windows(end_ns);

-- Only the reasons that occurred have a row.
CREATE TABLE window_ends(
	window INTEGER NOT NULL REFERENCES windows(id),
	reason INTEGER NOT NULL CHECK (reason >= 0),
	count INTEGER NOT NULL CHECK (count > 0),
	PRIMARY KEY (window, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE window_drops(
	window INTEGER NOT NULL REFERENCES windows(id),
	reason INTEGER NOT NULL CHECK (reason >= 0),
	count INTEGER NOT NULL CHECK (count > 0),
	PRIMARY KEY (window, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE window_processes(
	window INTEGER NOT NULL REFERENCES windows(id),
	process INTEGER NOT NULL REFERENCES processes(id),
	PRIMARY KEY (window, process)
) STRICT, WITHOUT ROWID;

CREATE TABLE paths(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	binary INTEGER NOT NULL REFERENCES binaries(id),
	start INTEGER NOT NULL,
	length INTEGER NOT NULL CHECK (length BETWEEN 0 AND 32),
	outcomes INTEGER NOT NULL CHECK (outcomes BETWEEN 0 AND 4294967295),
	last_window INTEGER NOT NULL CHECK (last_window >= 0),
	UNIQUE (binary, start, length, outcomes)
) STRICT;

CREATE TABLE path_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	path INTEGER NOT NULL REFERENCES paths(id),
	process INTEGER NOT NULL REFERENCES processes(id),
	samples INTEGER NOT NULL CHECK (samples >= 0),
	weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1e300),
	PRIMARY KEY (window, path, process)
) STRICT, WITHOUT ROWID;

CREATE TABLE edges(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	from_binary INTEGER NOT NULL REFERENCES binaries(id),
	from_offset INTEGER NOT NULL,
	to_binary INTEGER NOT NULL REFERENCES binaries(id),
	to_offset INTEGER NOT NULL,
	last_window INTEGER NOT NULL CHECK (last_window >= 0),
	UNIQUE (from_binary, from_offset, to_binary, to_offset)
) STRICT;

CREATE TABLE edge_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	edge INTEGER NOT NULL REFERENCES edges(id),
	process INTEGER NOT NULL REFERENCES processes(id),
	count INTEGER NOT NULL CHECK (count >= 0),
	mispredicted INTEGER NOT NULL CHECK (mispredicted >= 0),
	PRIMARY KEY (window, edge, process)
) STRICT, WITHOUT ROWID;

CREATE TABLE jit_symbols(
	binary INTEGER NOT NULL REFERENCES binaries(id),
	start INTEGER NOT NULL,
	len_bytes INTEGER NOT NULL CHECK (len_bytes >= 0),
	name TEXT NOT NULL,
	PRIMARY KEY (binary, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE daemon_status(
	id INTEGER PRIMARY KEY CHECK (id = 1),
	time_ns INTEGER NOT NULL,
	json TEXT NOT NULL
) STRICT;

INSERT INTO meta(name, value) VALUES ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
