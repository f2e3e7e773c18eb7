-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Which windows a parcel stands for: docs/fleet.md. A machine that was cloned or put back from a
-- snapshot goes on under its old store's id, so a slot of a store may come in several parcels, of
-- one host or of two, that have no window in common.
--
-- recorded: the windows that one of ours sums up, 8 bytes each (pathprof_parcel_window_key(), the
-- lowest byte first). NULL: it came before this was kept.
--
-- Expected load: that of 0009_parcels.sql; five recorded windows a slot.

CREATE TABLE parcels_by_host(
	id INTEGER PRIMARY KEY,
	store BLOB NOT NULL CHECK (length(store) = 16),
	slot INTEGER NOT NULL CHECK (slot >= 0 AND slot % 300 = 0),
	windows INTEGER NOT NULL CHECK (windows > 0),
	host TEXT NOT NULL,
	model TEXT NOT NULL,
	kernel TEXT NOT NULL,
	os TEXT NOT NULL,
	cpus INTEGER NOT NULL CHECK (cpus BETWEEN 0 AND 4294967295),
	sent_ns INTEGER NOT NULL,
	UNIQUE (store, slot, host)
) STRICT;
INSERT INTO parcels_by_host SELECT * FROM parcels;
DROP TABLE parcels;
ALTER TABLE parcels_by_host RENAME TO parcels;

ALTER TABLE parcel_windows ADD COLUMN recorded BLOB CHECK (length(recorded) % 8 = 0);
