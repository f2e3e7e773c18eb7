-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Rolling: windows that one host sent of one store in an hour are summed up in one of each kind, so
-- several parcels have a part in a window. What each parcel recorded stays known, parcel by parcel,
-- and so does what a host would have to send again.
--
-- rolled: its windows were summed up with those of its hour, or there was nothing to sum up; 0
-- again when another part of it came.
--
-- Expected load: 12 rows a host, hour and kind of window, of 8 bytes a recorded window each.

CREATE TABLE parcel_parts(
	parcel INTEGER NOT NULL REFERENCES parcels(id),
	window INTEGER NOT NULL REFERENCES windows(id),
	recorded BLOB CHECK (length(recorded) % 8 = 0),
	PRIMARY KEY (parcel, window)
) STRICT, WITHOUT ROWID;
INSERT INTO parcel_parts SELECT parcel, window, recorded FROM parcel_windows;
DROP TABLE parcel_windows;
ALTER TABLE parcel_parts RENAME TO parcel_windows;
CREATE INDEX parcel_windows_by_window ON parcel_windows(window);

ALTER TABLE parcels ADD COLUMN rolled INTEGER NOT NULL DEFAULT 0 CHECK (rolled IN (0, 1));
CREATE INDEX parcels_to_roll ON parcels(slot) WHERE NOT rolled;
