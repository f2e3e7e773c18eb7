-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Labels that hosts say of themselves: "dc=ams role=web", ordered by key (pathprof/labels.h). Those
-- of the newest parcel of a store and host count.

ALTER TABLE parcels ADD COLUMN labels TEXT NOT NULL DEFAULT '';
