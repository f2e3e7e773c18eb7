-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- What TIME and RUNS are worked out from: windows that reach a number of instructions, and every
-- sample of the clock beside them.
--
-- Expected load: some hundred to some thousand places a window.
--
-- Windows written before have no horizon and no clock samples: 0 says so.

ALTER TABLE windows ADD COLUMN horizon INTEGER NOT NULL DEFAULT 0
	CHECK (horizon BETWEEN 0 AND 4294967295);
ALTER TABLE windows ADD COLUMN clock_hz INTEGER NOT NULL DEFAULT 0
	CHECK (clock_hz BETWEEN 0 AND 4294967295);
ALTER TABLE windows ADD COLUMN clock_kernel INTEGER NOT NULL DEFAULT 0
	CHECK (clock_kernel BETWEEN 0 AND 1);
ALTER TABLE windows ADD COLUMN insns INTEGER NOT NULL DEFAULT 0 CHECK (insns >= 0);
ALTER TABLE windows ADD COLUMN pathless INTEGER NOT NULL DEFAULT 0 CHECK (pathless >= 0);
ALTER TABLE windows ADD COLUMN clock_samples INTEGER NOT NULL DEFAULT 0
	CHECK (clock_samples >= 0);

-- Sum of weight times the path's own instructions; NULL: not known.
ALTER TABLE path_counts ADD COLUMN insns REAL CHECK (insns BETWEEN 0 AND 1e300);

-- place is an offset as start of paths, a multiple of 16. binary 0: in no file; place is 0 where
-- that is all that is known, 16 in the kernel. A part of a key cannot be NULL, so binary refers to
-- no other table; the binaries it names carry last_window as paths do.
CREATE TABLE clock_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	binary INTEGER NOT NULL CHECK (binary >= 0),
	place INTEGER NOT NULL CHECK (place % 16 = 0),
	process INTEGER NOT NULL REFERENCES processes(id),
	samples INTEGER NOT NULL CHECK (samples >= 0),
	PRIMARY KEY (window, binary, place, process),
	CHECK (binary > 0 OR place IN (0, 16))
) STRICT, WITHOUT ROWID;
