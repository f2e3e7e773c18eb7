-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Drift by window, and the alerts that came of it.
--
-- Expected load: up to 200 rows of drift a window; alerts are few and rewritten in place.

-- Sum over bursts of the square of how often each saw the path; NULL: not known.
ALTER TABLE path_counts ADD COLUMN squares INTEGER CHECK (squares >= samples);

CREATE TABLE drift(
	window INTEGER NOT NULL REFERENCES windows(id),
	binary INTEGER NOT NULL REFERENCES binaries(id),
	container TEXT NOT NULL,
	baseline TEXT NOT NULL,
	window_samples REAL NOT NULL CHECK (window_samples >= 0),
	baseline_samples REAL NOT NULL CHECK (baseline_samples >= 0),
	kl REAL NOT NULL,
	kl_corrected REAL NOT NULL,
	kl_low REAL NOT NULL,
	kl_high REAL NOT NULL,
	overlap REAL NOT NULL CHECK (overlap BETWEEN 0 AND 1),
	angle REAL NOT NULL,
	coverage_static REAL NOT NULL CHECK (coverage_static BETWEEN 0 AND 1),
	coverage_dynamic REAL NOT NULL CHECK (coverage_dynamic BETWEEN 0 AND 1),
	matched REAL NOT NULL CHECK (matched BETWEEN 0 AND 1),
	PRIMARY KEY (window, binary, container, baseline)
) STRICT, WITHOUT ROWID;

-- binary is a path name: an alert goes on over a new build.
CREATE TABLE alerts(
	rule TEXT NOT NULL,
	binary TEXT NOT NULL,
	container TEXT NOT NULL,
	baseline TEXT NOT NULL,
	phase INTEGER NOT NULL CHECK (phase BETWEEN 0 AND 2),
	streak INTEGER NOT NULL CHECK (streak >= 0),
	since_ns INTEGER NOT NULL,
	fired_ns INTEGER NOT NULL,
	resolved_ns INTEGER NOT NULL,
	seen_ns INTEGER NOT NULL,
	value REAL NOT NULL,
	json TEXT NOT NULL,
	PRIMARY KEY (rule, binary, container)
) STRICT, WITHOUT ROWID;

-- What of a path outlives its build: a hash of its function's name and shape, and its place in
-- it, each 64 bits read as signed. function 0: the path was looked at and has no such name.
CREATE TABLE portable_paths(
	path INTEGER PRIMARY KEY REFERENCES paths(id),
	function INTEGER NOT NULL,
	place INTEGER NOT NULL,
	name TEXT NOT NULL
) STRICT;

-- The functions of a build, whether they ran or not: their hashes, 8 bytes each, the lowest byte
-- first, ascending as unsigned numbers.
CREATE TABLE binary_functions(
	binary INTEGER PRIMARY KEY REFERENCES binaries(id),
	keys BLOB NOT NULL CHECK (length(keys) % 8 = 0)
) STRICT;
