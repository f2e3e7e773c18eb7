-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Who called the functions that paths run in: docs/store.md.
--
-- A context is a function that was called in another context, its parent (0: nobody is known to
-- have called it). Binary 0: callers that could not be found out. A path that ran in a context was
-- called by its function. function is an offset in the file, the same 64 bits read as signed.
--
-- Expected load: some thousand contexts in all, a few new ones a window; counts for each path and
-- context that a burst showed. last_window as in 0001_init.sql: contexts that no window can refer
-- to any more go by it. A parent may go before a context that is itself due to go.

CREATE TABLE contexts(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	parent INTEGER NOT NULL CHECK (parent >= 0),
	binary INTEGER NOT NULL CHECK (binary >= 0),
	function INTEGER NOT NULL,
	last_window INTEGER NOT NULL CHECK (last_window >= 0),
	UNIQUE (parent, binary, function)
) STRICT;

CREATE TABLE context_counts(
	window INTEGER NOT NULL REFERENCES windows(id),
	context INTEGER NOT NULL REFERENCES contexts(id),
	path INTEGER NOT NULL REFERENCES paths(id),
	process INTEGER NOT NULL REFERENCES processes(id),
	samples INTEGER NOT NULL CHECK (samples >= 0),
	weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1e300),
	PRIMARY KEY (window, context, path, process)
) STRICT, WITHOUT ROWID;
