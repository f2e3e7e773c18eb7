-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Windows whose weights the clock has set: see docs/shares.md.
--
-- Windows written before keep the weights they have: 0 says so.

ALTER TABLE windows ADD COLUMN weighed INTEGER NOT NULL DEFAULT 0 CHECK (weighed BETWEEN 0 AND 1);

-- What the count stands for, as the weight of a path; NULL: each counts once.
ALTER TABLE edge_counts ADD COLUMN weight REAL CHECK (weight BETWEEN 0 AND 1e300);

-- Sum over bursts of the square of the weight that the path has in each; NULL: not known.
ALTER TABLE path_counts ADD COLUMN weight_squares REAL CHECK (weight_squares BETWEEN 0 AND 1e300);
