-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Segments of windows whose branches came in their order: a piece (what one procedure runs between
-- its calls) and the one that followed it over a call or a return. See docs/untested.md. Runs of
-- which everything was counted keep theirs in segment_counts.
--
-- segmented_windows: those of which segments were counted, and how many found no room. Of a window
-- without a row nobody knows which piece followed which: it is older than this, its source counts
-- in the kernel, or it came in a parcel or a profile file.
--
-- squares and weight_squares as in path_counts, NULL where they are not known.
--
-- Expected load: about as many segments a window as paths, and as many new pieces. A piece goes by
-- last_window (0001_init.sql) alone, once no window can refer to it any more; the index finds
-- those. It is written when last_window is, once in 64 windows.

CREATE TABLE pieces(
	id INTEGER PRIMARY KEY,
	binary INTEGER NOT NULL REFERENCES binaries(id),
	start INTEGER NOT NULL,
	length INTEGER NOT NULL CHECK (length BETWEEN 0 AND 32),
	outcomes INTEGER NOT NULL CHECK (outcomes BETWEEN 0 AND 4294967295),
	last_window INTEGER NOT NULL CHECK (last_window >= 0),
	UNIQUE (binary, start, length, outcomes)
) STRICT;
CREATE INDEX pieces_by_last_window ON pieces(last_window);

CREATE TABLE segmented_windows(
	window INTEGER PRIMARY KEY REFERENCES windows(id),
	lost INTEGER NOT NULL CHECK (lost >= 0)
) STRICT;

CREATE TABLE segment_samples(
	window INTEGER NOT NULL REFERENCES segmented_windows(window),
	first INTEGER NOT NULL REFERENCES pieces(id),
	second INTEGER NOT NULL REFERENCES pieces(id),
	process INTEGER NOT NULL REFERENCES processes(id),
	samples INTEGER NOT NULL CHECK (samples >= 0),
	squares INTEGER CHECK (squares > 0),
	weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1e300),
	weight_squares REAL CHECK (weight_squares BETWEEN 0 AND 1e300),
	PRIMARY KEY (window, first, second, process)
) STRICT, WITHOUT ROWID;
