-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Code that branch stacks show to have run straight on, from where an edge led up to the branch at
-- `last` of the same binary: what an import knows beside its paths, and exports for BOLT and
-- llvm-profgen want exactly.
--
-- Expected load: windows of live sources have no rows. An imported one has about as many ranges as
-- edges, and a row in ranged_windows, also when it has no range.

CREATE TABLE ranged_windows(
	window INTEGER PRIMARY KEY REFERENCES windows(id)
) STRICT;

CREATE TABLE range_counts(
	window INTEGER NOT NULL REFERENCES ranged_windows(window),
	edge INTEGER NOT NULL REFERENCES edges(id),
	last INTEGER NOT NULL,
	count INTEGER NOT NULL CHECK (count > 0),
	PRIMARY KEY (window, edge, last)
) STRICT, WITHOUT ROWID;
