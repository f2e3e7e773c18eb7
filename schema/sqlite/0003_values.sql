-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Values of parameters, recorded on request only: values can be secrets, so nothing else refers to
-- these tables, profile files leave them out, and one call empties them.
--
-- Expected load: up to 64 sites a window, 16 values each; sums over a range of windows.
--
-- start is an offset as in paths; value holds any 64 bits read as signed. Counts add up over
-- windows.

CREATE TABLE value_sites(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	binary INTEGER NOT NULL REFERENCES binaries(id),
	start INTEGER NOT NULL,
	argument INTEGER NOT NULL CHECK (argument BETWEEN 1 AND 6),
	function TEXT NOT NULL,
	UNIQUE (binary, start, argument)
) STRICT;

-- executed and same are exact; profiled is what the sampler's messages of the window stand for.
CREATE TABLE value_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	site INTEGER NOT NULL REFERENCES value_sites(id),
	executed INTEGER NOT NULL CHECK (executed >= 0),
	same INTEGER NOT NULL CHECK (same BETWEEN 0 AND executed),
	profiled INTEGER NOT NULL CHECK (profiled >= 0),
	entries INTEGER NOT NULL CHECK (entries BETWEEN 1 AND 255),
	sampler TEXT NOT NULL,
	PRIMARY KEY (window, site)
) STRICT, WITHOUT ROWID;

CREATE TABLE value_tops(
	window INTEGER NOT NULL REFERENCES windows(id),
	site INTEGER NOT NULL REFERENCES value_sites(id),
	value INTEGER NOT NULL,
	count INTEGER NOT NULL CHECK (count > 0),
	PRIMARY KEY (window, site, value)
) STRICT, WITHOUT ROWID;

-- Only the reasons that occurred have a row.
CREATE TABLE value_drops(
	window INTEGER NOT NULL REFERENCES windows(id),
	reason TEXT NOT NULL,
	count INTEGER NOT NULL CHECK (count > 0),
	PRIMARY KEY (window, reason)
) STRICT, WITHOUT ROWID;
