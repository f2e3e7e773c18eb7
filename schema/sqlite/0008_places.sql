-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Clock samples at the instruction that was to run next, instead of the 16 bytes around it: short
-- functions lie side by side in so few. Places of windows written before stay as coarse as they are.

CREATE TABLE clock_places(
	window INTEGER NOT NULL REFERENCES windows(id),
	binary INTEGER NOT NULL CHECK (binary >= 0),
	place INTEGER NOT NULL,
	process INTEGER NOT NULL REFERENCES processes(id),
	samples INTEGER NOT NULL CHECK (samples >= 0),
	PRIMARY KEY (window, binary, place, process),
	CHECK (binary > 0 OR place IN (0, 16))
) STRICT, WITHOUT ROWID;
INSERT INTO clock_places SELECT window, binary, place, process, samples FROM clock_counts;
DROP TABLE clock_counts;
ALTER TABLE clock_places RENAME TO clock_counts;
