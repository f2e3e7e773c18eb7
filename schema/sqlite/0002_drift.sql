-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Drift by window, and the alerts that came of it.
--
-- Expected load: up to 200 rows of drift a window; alerts are few and rewritten in place.

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
