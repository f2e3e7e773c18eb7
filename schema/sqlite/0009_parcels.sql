-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Parcels of other stores that were added to this one: docs/fleet.md. Each part of a parcel is a
-- window here.
--
-- Expected load: 288 rows a host and day, each with one window or two; a row is replaced when a
-- fuller parcel of the same store and slot comes.

CREATE TABLE parcels(
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
	UNIQUE (store, slot)
) STRICT;

CREATE TABLE parcel_windows(
	parcel INTEGER NOT NULL REFERENCES parcels(id),
	window INTEGER NOT NULL UNIQUE REFERENCES windows(id),
	PRIMARY KEY (parcel, window)
) STRICT, WITHOUT ROWID;
