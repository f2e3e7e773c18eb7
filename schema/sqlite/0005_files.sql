-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Whose files stood behind a binary in a window: anybody can write a build-id into a file.
--
-- owner is a user id; 4294967295: not known. device and inode are 0 where they are not known.
-- Four rows at most a window and binary.
--
-- Windows written before, and those of files that no process here had mapped (what was imported),
-- have no rows.

CREATE TABLE window_files(
	window INTEGER NOT NULL REFERENCES windows(id),
	binary INTEGER NOT NULL REFERENCES binaries(id),
	owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
	device INTEGER NOT NULL,
	inode INTEGER NOT NULL,
	PRIMARY KEY (window, binary, owner, device, inode)
) STRICT, WITHOUT ROWID;
