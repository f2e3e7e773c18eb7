-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- What is to be told of alerts: a row a change, written with the state that it comes of. Those who
-- tell remember the last id that was told, so ids grow without a gap and are never used twice.
--
-- Expected load: a few rows an hour, hundreds at once when a fleet rolls out; the newest 1024 are
-- kept, and those of the alerts that fire.

CREATE TABLE messages(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	time_ns INTEGER NOT NULL,
	fired INTEGER NOT NULL CHECK (fired BETWEEN 0 AND 1),
	rule TEXT NOT NULL,
	binary TEXT NOT NULL,
	container TEXT NOT NULL,
	baseline TEXT NOT NULL,
	metric TEXT NOT NULL,
	value REAL NOT NULL,
	threshold REAL NOT NULL,
	begin_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	summary TEXT NOT NULL,
	json TEXT NOT NULL
) STRICT;

-- The last message of each alert that fires is looked for at every addition.
CREATE INDEX messages_by_alert ON messages(rule, binary, container);

-- Alerts that fire already were told by the daemon of before.
INSERT INTO messages SELECT NULL, since_ns, 1, rule, binary, container, baseline,
	CASE WHEN json_valid(json) THEN coalesce(json_extract(json, '$.metric') || '', '') ELSE '' END,
	value,
	CASE WHEN json_valid(json) AND json_type(json, '$.threshold') IN ('integer', 'real')
		THEN CAST(json_extract(json, '$.threshold') AS REAL) ELSE 0.0 END,
	fired_ns, 0, binary || ': runs otherwise than baseline ' || baseline || ' (' || rule || ')',
	json FROM alerts WHERE phase = 2 AND json <> '' ORDER BY since_ns;

-- Which store ids belong to: another file may count the same ones.
INSERT INTO meta(name, value) VALUES ('identity', lower(hex(randomblob(16))));
