-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- What an exact profile of a run (pathprof-trace --paths) holds beside its paths: docs/untested.md.
--
-- A piece is what one procedure runs between its calls; it has the same key as a path, so it lies
-- in paths. A segment is a piece and the one that followed it over a call or a return; both are
-- pieces of the same window.
--
-- Expected load: windows of sampled profiles have no rows. A run has about twice as many pieces as
-- paths, and as many segments as pieces.

CREATE TABLE window_notes(
	window INTEGER PRIMARY KEY REFERENCES windows(id),
	note TEXT NOT NULL
) STRICT;

CREATE TABLE piece_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	path INTEGER NOT NULL REFERENCES paths(id),
	count INTEGER NOT NULL CHECK (count >= 0),
	PRIMARY KEY (window, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE segment_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	first INTEGER NOT NULL REFERENCES paths(id),
	second INTEGER NOT NULL REFERENCES paths(id),
	count INTEGER NOT NULL CHECK (count >= 0),
	PRIMARY KEY (window, first, second)
) STRICT, WITHOUT ROWID;
